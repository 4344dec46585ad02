"""Rows of operators that read and write elements at positions."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.scattering import rows_of


@ROWS.add("gather.default")
def _gather(c: Call, self: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    if not np.ndim(self):
        return np.broadcast_to(self, index.shape)
    if (rows := rows_of(self, dim, index)) is not None:
        return np.take(self, rows, dim)
    # axes of the index may be shorter than those of the tensor
    cut = tuple(slice(None) if axis == dim % np.ndim(self) else slice(0, n) for axis, n in enumerate(index.shape))
    return np.take_along_axis(self[cut], index, dim)


@ROWS.add("index_select.default")
def _index_select(c: Call, self: Any, dim: int, index: Any) -> Any:
    return np.take(self, index.reshape(-1), dim) if np.ndim(self) else self


@ROWS.add("index.Tensor")
def _index(c: Call, self: Any, indices: Sequence[Any]) -> Any:
    return self[tuple(slice(None) if one is None else one for one in indices)]
