"""Tensors of PyTorch and arrays that are the same memory."""

# Objects of torch, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingImports=false

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch

BF16 = np.dtype(ml_dtypes.bfloat16)


def array_of(x: Any) -> np.ndarray[Any, Any]:
    """The memory of a tensor as an array."""
    if x.requires_grad:
        x = x.detach()
    if x.dtype is torch.bfloat16:
        return x.view(torch.int16).numpy().view(BF16)
    return x.numpy() if not (x.is_conj() or x.is_neg()) else x.resolve_conj().resolve_neg().numpy()


def tensor_of(array: np.ndarray[Any, Any]) -> Any:
    """The memory of an array as a tensor."""
    if array.dtype == BF16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
