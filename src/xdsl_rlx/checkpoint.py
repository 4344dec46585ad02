"""Trees on disk: `save` and `load` as safetensors, atomically, and tensors of GGUF files.

A file holds every leaf under its path in the tree, as one would write it, and in its metadata what is no array. Written
is a new file beside the old one, which then takes its place: a process that is killed leaves one or the other, whole.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from xdsl_rlx.dialects.errors import RlxError
from xdsl_rlx.tree import Tree, flatten, paths, unflatten

_ROOT = "tree"
"""What a tree that is one array is called."""


class CheckpointError(RlxError, ValueError):
    """A file cannot be read, or does not hold the tree that was asked for."""


def save(path: str | os.PathLike[str], tree: Tree, metadata: Mapping[str, str] | None = None) -> None:
    """
    Write a tree of arrays and numbers; `metadata` are texts to go with it.

    The file is complete and on the disk before it takes the place of one that is there. CheckpointError for a leaf that
    is no array.
    """
    from safetensors.numpy import save as to_bytes

    leaves, spec = flatten(tree)
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, leaf in zip(_names(paths(spec)), leaves, strict=True):
        array = np.asarray(leaf)
        if array.dtype == object or array.dtype.kind in "USO":
            raise CheckpointError(f"{name} is {type(leaf).__name__}, not an array")
        arrays[name] = np.asarray(array, order="C")
    _replace(Path(path), to_bytes(arrays, dict(metadata or {})))


def load(path: str | os.PathLike[str], like: Tree = None) -> Tree:
    """
    The arrays of a safetensors file: a dict by name, or the tree that `like` is.

    Leaves of `like` say the shapes and element types to expect. CheckpointError for a file that is none, and for one
    whose arrays are missing, left over, or of other types.
    """
    from safetensors import SafetensorError, deserialize

    try:
        parts = deserialize(Path(path).read_bytes())
    except SafetensorError as error:
        raise CheckpointError(f"{os.fspath(path)} is no file of tensors: {error}") from None
    found = {name: _array(name, one) for name, one in parts}
    if like is None:
        return found
    leaves, spec = flatten(like)
    names = _names(paths(spec))
    if missing := [name for name in names if name not in found]:
        raise CheckpointError(f"{os.fspath(path)} has no {missing[0]}; it has {', '.join(sorted(found)) or 'nothing'}")
    if extra := sorted(set(found) - set(names)):
        raise CheckpointError(f"{os.fspath(path)} has {extra[0]}, which the tree has not")
    for name, leaf in zip(names, leaves, strict=True):
        wanted, array = np.asarray(leaf), found[name]
        if (wanted.shape, wanted.dtype) != (array.shape, array.dtype):
            raise CheckpointError(
                f"{name} of {os.fspath(path)} is {array.dtype}{list(array.shape)}, the tree has "
                f"{wanted.dtype}{list(wanted.shape)}"
            )
    return unflatten(spec, [found[name] for name in names])


def metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """The texts that were saved with a tree."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(path), "np") as file:
            return dict(file.metadata() or {})
    except SafetensorError as error:
        raise CheckpointError(f"{os.fspath(path)} is no file of tensors: {error}") from None


def load_gguf(path: str | os.PathLike[str], dequantize: bool = True) -> dict[str, np.ndarray[Any, Any]]:
    """
    The tensors of a GGUF file by name, in NumPy's order of dimensions; needs the package `gguf`.

    Quantised ones become f32, or stay the bytes of their blocks without `dequantize`.
    """
    from gguf import GGMLQuantizationType, GGUFReader
    from gguf.quants import dequantize as as_floats

    try:
        reader = GGUFReader(os.fspath(path))
    except (ValueError, OSError, IndexError) as error:
        raise CheckpointError(f"{os.fspath(path)} is no GGUF file: {error}") from None
    plain = {GGMLQuantizationType.F32, GGMLQuantizationType.F16, GGMLQuantizationType.F64}
    found: dict[str, np.ndarray[Any, Any]] = {}
    for tensor in reader.tensors:
        data = np.array(tensor.data)
        if dequantize and tensor.tensor_type not in plain and data.dtype.kind == "u":
            data = as_floats(data, tensor.tensor_type)
        found[tensor.name] = data
    return found


_DTYPES: dict[str, str] = {
    **{f"{kind}{bits}": f"{name}{bits}" for kind, name in (("I", "int"), ("U", "uint")) for bits in (8, 16, 32, 64)},
    **{f"F{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "BOOL": "bool",
    "C64": "complex64",
}


def _array(name: str, one: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    """An array of its own memory; the library's reader for NumPy has no bfloat16."""
    import ml_dtypes

    kind = one["dtype"]
    if kind != "BF16" and kind not in _DTYPES:
        raise CheckpointError(f"{name} is of {kind}, which NumPy has not")
    dtype = np.dtype(ml_dtypes.bfloat16 if kind == "BF16" else _DTYPES[kind])
    return np.frombuffer(bytearray(one["data"]), dtype).reshape(one["shape"])


def _names(places: list[str]) -> list[str]:
    """Paths as names: `["w"][0]` is `w.0`, the tree itself `tree`."""
    made = [place.replace("'", "").replace('"', "").replace("][", ".").strip(".[]") for place in places]
    made = [name.replace("].", ".").replace("[", ".").replace("]", "") or _ROOT for name in made]
    return made if len(set(made)) == len(made) else places


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    finally:
        # it has the other name now, unless something went wrong
        Path(name).unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
