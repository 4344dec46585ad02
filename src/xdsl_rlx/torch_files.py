"""Files that `torch.save` wrote: their tensors as arrays by name. PyTorch is imported when there is one to read."""

# Objects of torch, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingImports=false

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pickle import UnpicklingError
from typing import Any

import numpy as np

from xdsl_rlx.dialects.errors import CheckpointError

ENDINGS = (".bin", ".pt", ".pth")
"""How names of such files end."""

_ZIP = b"PK\x03\x04"
_MAGIC = b"l\xfc\x9cF\xf9 j\xa8P\x19"
"""The number at the start of files of `torch.save` before 1.6, pickled."""

Arrays = dict[str, np.ndarray[Any, Any]]


def is_torch_file(start: bytes) -> bool:
    """Whether a file that starts with these bytes, at least 16, can be one of `torch.save`."""
    # a safetensors file has the length of its header in 8 bytes, and then the header
    return (start.startswith(_ZIP) and start[8:9] != b"{") or _MAGIC in start[:16]


def read_torch(place: str) -> Arrays:
    """
    Return the tensors of a file of `torch.save` as arrays by name, in dicts and lists as `layers.0.weight`.

    Only tensors, containers and numbers are unpickled, no code runs. Numbers are arrays without axes; what is neither
    is omitted. Raises FrontendError if PyTorch is not installed.
    """
    # a front end is imported when it is used
    from xdsl_rlx.frontends.shared.needed import torch_module

    torch = torch_module(f"load: {place} was saved by torch.save, and reading it")
    if zipfile.is_zipfile(place):
        with zipfile.ZipFile(place) as archive:
            names = {name.rpartition("/")[2] for name in archive.namelist()}
        if "data.pkl" not in names:
            raise CheckpointError(f"{place} is an archive without tensors of PyTorch; np.load reads .npz files")
        if "constants.pkl" in names:
            raise CheckpointError(f"{place} is a program of TorchScript; save torch.jit.load(path).state_dict()")
    try:
        tree = torch.load(place, map_location="cpu", weights_only=True)
    except UnpicklingError as error:
        raise CheckpointError(
            f"{place} has other objects than tensors, which are not loaded ({_reason(error)}); save the tensors alone: "
            "torch.save(model.state_dict(), path)"
        ) from None
    except (RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        raise CheckpointError(f"{place} is not a file of torch.save: {_reason(error)}") from None
    memory = set[int]()
    found: Arrays = {}
    for name, x in _leaves(tree, ""):
        if name in found:
            raise CheckpointError(f"{place} has two tensors that are called {name}")
        found[name] = np.asarray(x) if isinstance(x, bool | int | float | complex) else _array(place, name, x, memory)
    return found


def _reason(error: Exception) -> str:
    """The part of an error of `torch.load` that says what is wrong, without its advice to run code of the file."""
    lines = [line.strip() for line in str(error).splitlines()]
    return next((line for line in lines if "Unsupported" in line or "GLOBAL" in line), lines[0] if lines else "")[:200]


def _leaves(tree: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The tensors and numbers of a tree, by name."""
    if isinstance(tree, Mapping):
        items: Any = tree.items()
    elif isinstance(tree, list | tuple):
        items = enumerate(tree)
    else:
        if hasattr(tree, "untyped_storage") or isinstance(tree, bool | int | float | complex):
            yield path or "tree", tree
        return
    for key, one in items:
        yield from _leaves(one, f"{path}.{key}" if path else str(key))


def _array(place: str, name: str, x: Any, memory: set[int]) -> np.ndarray[Any, Any]:
    """A tensor as an array of its own memory: tensors that share it, and parts of larger ones, are copied."""
    # not installed everywhere
    import ml_dtypes
    import torch

    if x.layout is not torch.strided or x.is_quantized:
        raise CheckpointError(f"{name} of {place} is a tensor of {x.dtype} with layout {x.layout}; save x.to_dense()")
    x = x.detach().resolve_conj().resolve_neg().contiguous()
    if x.untyped_storage().nbytes() != x.nbytes or x.data_ptr() in memory:
        x = x.clone()
    memory.add(x.data_ptr())
    other = str(x.dtype).removeprefix("torch.")
    if x.dtype.is_floating_point and (other == "bfloat16" or other.startswith("float8")):
        if (dtype := getattr(ml_dtypes, other, None)) is None:
            raise CheckpointError(f"{name} of {place} is of {x.dtype}, which NumPy does not have")
        return x.view(torch.int16 if other == "bfloat16" else torch.uint8).numpy().view(dtype)
    return x.numpy()
