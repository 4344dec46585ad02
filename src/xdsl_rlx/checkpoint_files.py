"""Trees on disk: `save` and `load` as safetensors, atomically, and tensors of GGUF files.

A file holds every leaf under its path in the tree, as one would write it, and in its metadata what is no array.
`atomic_file.py` puts it in its place: a process that is killed leaves the old file or the new one, whole.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from xdsl_rlx.atomic_file import replace_file
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import CheckpointError, GraphTypeError
from xdsl_rlx.distributed.first_process import of_first
from xdsl_rlx.distributed.shards import parts_like, whole_on_first, whole_types
from xdsl_rlx.gguf_file import GGUFTensor, read_header
from xdsl_rlx.torch_files import ENDINGS, is_torch_file, read_torch
from xdsl_rlx.tree import Spec, Tree, flatten, paths, unflatten

__all__ = ["CheckpointError", "load", "load_gguf", "metadata", "save"]

Array: TypeAlias = "np.ndarray[Any, Any]"

_ROOT = "tree"
"""What a tree that is one array is called."""
_RESERVED = "__metadata__"
"""The one name that safetensors has another use for."""
_MOST_HEADER = 100_000_000
"""Bytes; a longer header cannot be read."""

_DTYPES = {
    **{f"{kind}{bits}": f"{name}{bits}" for kind, name in (("I", "int"), ("U", "uint")) for bits in (8, 16, 32, 64)},
    **{f"F{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "BOOL": "bool",
    "C64": "complex64",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2": "float8_e5m2",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E8M0": "float8_e8m0fnu",
}
"""NumPy's names of what safetensors has."""

_OF_BYTES = (
    *("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz"),
    *("int1", "int2", "int4", "uint1", "uint2", "uint4"),
)
_STORED = {"complex128": "float64", **dict.fromkeys(_OF_BYTES, "uint8")}
"""Element types that safetensors has not, and the one that each is stored as: complex numbers as pairs, in one more
axis. The metadata say which arrays these are, under `_DTYPES_KEY`."""
_TIME = re.compile(r"(datetime64|timedelta64)(\[[0-9]*[A-Za-z]+\])?")
"""Dates and durations are stored as int64."""
_DTYPES_KEY = "xdsl_rlx.dtypes"


def save(path: str | os.PathLike[str], tree: Tree, metadata: Mapping[str, str] | None = None) -> None:
    """
    Write a tree of arrays and numbers to a safetensors file; `metadata` is a dict of strings to store with it.

    The file is complete and synced to disk before it replaces an existing one. Symbolic links and file modes are
    preserved. Raises CheckpointError for a leaf that is not an array or that a file cannot store. Raises GraphTypeError
    for other arguments of a wrong type, and OSError if the folder cannot be written.

    In a program of several processes, all of them call it with one path: the first one writes its tree, and the others
    wait until the file is there. An error of the first one is raised in all.
    """
    place, texts = checked_path("save", path), _checked_texts(metadata)
    whole = whole_on_first(tree)
    of_first(lambda: _write(place, whole, texts), "save", place)


def _write(place: str, tree: Tree, texts: dict[str, str]) -> None:
    # most programs read and write no files
    from safetensors import SafetensorError, TensorSpec, serialize

    leaves, spec = flatten(tree)
    # `TensorSpec` holds an address: the arrays live until the end
    arrays: list[np.ndarray[Any, Any]] = []
    parts: dict[str, TensorSpec] = {}
    others: dict[str, str] = {}
    for name, leaf in zip(_names(spec), leaves, strict=True):
        array = _array_of(name, leaf)
        shape, kind = list(array.shape), _stored_as(name, array.dtype)
        if kind is not None:
            others[name] = array.dtype.name
            array = array.reshape(-1).view(kind)
            shape += [2] if others[name] == "complex128" else []
        arrays.append(array)
        parts[name] = TensorSpec(dtype=array.dtype.name, shape=shape, data_ptr=array.ctypes.data, data_len=array.nbytes)
    if others:
        texts[_DTYPES_KEY] = json.dumps(others)
    try:
        # an empty dict instead of None makes a file that cannot be read
        content = serialize(parts, texts or None)
    except SafetensorError as error:
        raise CheckpointError(f"save: {error}") from None
    if (header := int.from_bytes(content[:8], "little")) > _MOST_HEADER:
        raise CheckpointError(f"save: names and metadata take {header} bytes; the limit is {_MOST_HEADER}")
    replace_file(place, content)


Rename: TypeAlias = "Mapping[str, str | None] | Callable[[str], str | None]"
"""From names of a file to other names, or to None for arrays to leave out."""


def load(path: str | os.PathLike[str], like: Tree = None, rename: Rename | None = None) -> Tree:
    """
    Return the arrays of a file: a dict by name, or a tree of the structure of `like`.

    The file is a safetensors file, or one that `torch.save` wrote, whose tensors are read if PyTorch is installed; no
    code of it runs. A file `*.safetensors.index.json` or `*.bin.index.json` stands for the files that it lists, as
    Hugging Face stores large models. A folder stands for its one index, or else its one file of tensors; safetensors
    files come first.

    `rename` is a dict or a function from names of the file to others; None leaves an array out. Names that a dict does
    not have are kept.

    The leaves of `like` give the expected shapes and element types. Arrays have the byte order of the machine. Raises
    CheckpointError for a file of another format and for arrays that are missing, left over, or of other types;
    FrontendError if PyTorch is needed; OSError if the file cannot be opened.
    """
    place = checked_path("load", path)
    found = _of_shards(place)
    if rename is not None:
        found = _renamed(place, found, rename)
    return found if like is None else in_tree(place, found, like)


def _renamed(place: str, found: Mapping[str, Array], rename: Rename) -> dict[str, Array]:
    if not callable(rename) and not isinstance(rename, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphTypeError(f"load: rename: expected a dict or a function of names, got {shown(rename)}")
    if isinstance(rename, Mapping) and (unknown := [name for name in rename if name not in found]):
        raise CheckpointError(f"load: rename: {place} has no {unknown[0]}; it has {', '.join(sorted(found))}")
    sources: dict[str, str] = {}
    for name in found:
        new = rename.get(name, name) if isinstance(rename, Mapping) else rename(name)
        if new is None:
            continue
        if not isinstance(new, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphTypeError(f"load: rename: expected a name or None for {name!r}, got {shown(new)}")
        if new in sources:
            raise CheckpointError(f"load: rename: {sources[new]} and {name} would both be {new}")
        sources[new] = name
    return {new: found[name] for new, name in sources.items()}


_SAFETENSORS = ".safetensors"
_INDEX = ".index.json"


def _of_shards(place: str) -> dict[str, Array]:
    """The arrays of a file, of the files that an index lists, or of a folder."""
    if os.path.isdir(place):
        place = os.path.join(place, _of_folder(place))
    if not place.endswith(_INDEX):
        return _arrays(place)
    with open(place, "rb") as file:
        raw = file.read()
    try:
        files = json.loads(raw)["weight_map"]
        wrong = [name for pair in files.items() for name in pair if not isinstance(name, str)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{place} is not an index of files with tensors: {error!r}") from None
    if wrong or any(os.path.basename(name) != name for name in files.values()):
        raise CheckpointError(f"{place} is not an index of files with tensors: expected names of files in its folder")
    shards = {name: _arrays(os.path.join(os.path.dirname(place), name)) for name in sorted(set(files.values()))}
    if missing := [name for name, shard in files.items() if name not in shards[shard]]:
        raise CheckpointError(f"{files[missing[0]]} has no {missing[0]}, which {place} says it has")
    return {name: shards[shard][name] for name, shard in files.items()}


def _of_folder(place: str) -> str:
    """The one index of a folder, or its one file."""
    names = sorted(os.listdir(place))
    kinds = ((f"{_SAFETENSORS}{_INDEX}",), (_SAFETENSORS,), tuple(f"{end}{_INDEX}" for end in ENDINGS), ENDINGS)
    found = next((some for kind in kinds if (some := [name for name in names if name.endswith(kind)])), [])
    if len(found) != 1:
        listed = f"; it has {', '.join(found)}, pass one of them" if found else ""
        raise CheckpointError(f"{place}: expected a folder with one file of tensors, or one index{listed}")
    return found[0]


def _arrays(place: str) -> dict[str, Array]:
    """The arrays of a file."""
    with open(place, "rb") as file:
        start = file.read(16)
    return read_torch(place) if is_torch_file(start) else read(place)[0]


def read(place: str) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, str]]:
    """The arrays of a file by name, and its texts; both of one file, should another process replace it meanwhile."""
    with open(place, "rb") as file:
        return _parsed(place, file.read())


def read_on_all(place: str) -> tuple[dict[str, Array], dict[str, str]] | None:
    """As `read`, the file that the first process sees, on all processes; None if it does not exist."""

    def content() -> bytes | None:
        try:
            with open(place, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    raw = of_first(content, "fit: resume", place)
    return None if raw is None else _parsed(place, raw)


def _parsed(place: str, raw: bytes) -> tuple[dict[str, Array], dict[str, str]]:
    """The arrays and texts of a file with this content."""
    # most programs read and write no files
    from safetensors import SafetensorError, deserialize

    try:
        parts = deserialize(raw)
        texts = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")]).get(_RESERVED) or {}
        others = json.loads(texts.pop(_DTYPES_KEY, "{}"))
        if not isinstance(others, dict):
            raise ValueError(f"{_DTYPES_KEY} is not a dict")
        return {name: _array(name, one, others.get(name)) for name, one in parts}, texts
    except (SafetensorError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{place} is not a safetensors file: {error}") from None


def in_tree(place: str, found: Mapping[str, np.ndarray[Any, Any]], like: Tree) -> Tree:
    """The arrays of the file `place` as the tree that `like` is; CheckpointError if they are others."""
    leaves, spec = flatten(whole_types(like))
    names = _names(spec)
    if missing := [name for name in names if name not in found]:
        raise CheckpointError(f"{place} has no {missing[0]}; it has {', '.join(sorted(found)) or 'nothing'}")
    if extra := sorted(set(found) - set(names)):
        raise CheckpointError(f"{place} has {extra[0]}, which is not in the tree")
    for name, leaf in zip(names, leaves, strict=True):
        wanted, array = _array_of(name, leaf), found[name]
        if is_plain_number(leaf) and not array.shape:
            # a number of Python's has no element type of its own: what has replaced it has one
            continue
        if (wanted.shape, wanted.dtype) != (array.shape, array.dtype):
            raise CheckpointError(
                f"{name} of {place}: expected {wanted.dtype}{list(wanted.shape)}, as in the tree, "
                f"got {array.dtype}{list(array.shape)}"
            )
    return parts_like(like, unflatten(spec, [found[name] for name in names]))


def is_plain_number(leaf: object) -> bool:
    """Whether a leaf is one of Python's own numbers."""
    return type(leaf) in (bool, int, float, complex)


def metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the strings that were saved with a tree."""
    # most programs read and write no files
    from safetensors import SafetensorError, safe_open

    place = checked_path("metadata", path)
    try:
        with safe_open(place, "np") as file:
            texts = dict(file.metadata() or {})
    except SafetensorError as error:
        raise CheckpointError(f"{place} is not a safetensors file: {error}") from None
    texts.pop(_DTYPES_KEY, None)
    return texts


def load_gguf(path: str | os.PathLike[str], dequantize: bool = True) -> dict[str, np.ndarray[Any, Any]]:
    """
    Return the tensors of a GGUF file by name, in NumPy's order of dimensions; needs the package `gguf`.

    Quantised tensors are converted to f32; with `dequantize=False` they are the bytes of their blocks. Raises
    CheckpointError for a file of another format, OSError if it cannot be opened.
    """
    # not installed everywhere
    from gguf import GGML_QUANT_SIZES

    place = checked_path("load_gguf", path)
    with open(place, "rb") as file:
        # a map of no bytes is an error
        empty = not file.read(1)
        data = np.zeros(0, np.uint8) if empty else np.memmap(file, np.uint8, "r")
    try:
        header = read_header(data, {int(kind): sizes for kind, sizes in GGML_QUANT_SIZES.items()})
        return {
            one.name: _gguf_array(one, data[one.start : one.start + one.nbytes], header.swapped, dequantize)
            for one in header.tensors
        }
    except CheckpointError as error:
        raise CheckpointError(f"{place} is not a GGUF file: {error}") from None


def _gguf_array(one: GGUFTensor, data: np.ndarray[Any, Any], swapped: bool, dequantize: bool) -> np.ndarray[Any, Any]:
    """A tensor in memory of its own."""
    # not installed everywhere
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
    from gguf.quants import dequantize as as_floats

    kind = GGMLQuantizationType(one.kind)
    plain = {"F": "float", "I": "int"}.get(kind.name[0])
    if plain and (bits := kind.name[1:]).isdecimal():
        dtype = np.dtype(f"{plain}{bits}")
        stored = dtype.newbyteorder() if swapped else dtype
        return np.frombuffer(data, stored).reshape(one.shape).astype(dtype)
    elements, size = GGML_QUANT_SIZES[kind]
    shape = (*one.shape[:-1], one.shape[-1] // elements * size) if one.shape else (size,)
    blocks = np.array(data).reshape(shape)
    if not dequantize:
        return blocks
    if not blocks.size:
        return np.zeros(one.shape, np.float32)
    if swapped:
        raise CheckpointError(f"{one.name!r} is quantised and big-endian; dequantize=False gives its bytes")
    try:
        with np.errstate(all="ignore"):
            return as_floats(blocks, kind).reshape(one.shape)
    except RuntimeError as error:
        # gguf knows types of blocks by name for which it has no code
        raise CheckpointError(
            f"gguf cannot dequantise the {kind.name} of {one.name!r} ({error}); dequantize=False loads its bytes"
        ) from None


def _array_of(name: str, leaf: Any) -> np.ndarray[Any, Any]:
    """A leaf as an array, C-contiguous and in the byte order of the machine."""
    if isinstance(leaf, np.ma.MaskedArray):
        raise CheckpointError(f"{name} is a masked array; save leaf.filled(number), or its data and mask as two leaves")
    try:
        array = np.asarray(leaf)
    except (TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{name} is {type(leaf).__name__}, not an array ({error})") from None
    if array.dtype.kind in "OUST":
        what = f"an array of {array.dtype}" if isinstance(leaf, np.ndarray) else f"{type(leaf).__name__}, not an array"
        raise CheckpointError(f"{name} is {what}: expected numbers; pass strings in metadata=")
    return np.asarray(array, array.dtype if array.dtype.isnative else array.dtype.newbyteorder("="), order="C")


def _stored_as(name: str, dtype: np.dtype[Any]) -> str | None:
    """The element type that one is stored as which safetensors has not, None for one that it has."""
    if dtype.name in _DTYPES.values():
        return None
    if kind := "int64" if dtype.kind in "mM" else _STORED.get(dtype.name):
        return kind
    cure = "save leaf.astype('float64')" if dtype.kind in "fc" else "save its fields as leaves"
    raise CheckpointError(f"{name} has dtype {dtype}, which a file cannot store; {cure}")


def _array(name: str, one: Mapping[str, Any], other: object) -> np.ndarray[Any, Any]:
    """An array of its own memory, of the element type `other` if the file names one; ValueError for a damaged one."""
    stored, shape = _DTYPES.get(one["dtype"]), list(one["shape"])
    if stored is None:
        raise ValueError(f"{name} is of {one['dtype']}, which NumPy does not have")
    dtype = _dtype(stored)
    if other is not None:
        if not isinstance(other, str) or (_STORED.get(other), bool(_TIME.fullmatch(other))) == (None, False):
            raise ValueError(f"{name} is of {shown(other)}, which is not a dtype of the file format")
        if stored != _STORED.get(other, "int64") or (other == "complex128" and shape[-1:] != [2]):
            raise ValueError(f"{name} is of {stored}{shape}, which cannot be read as {other}")
        dtype, shape = _dtype(other), shape[:-1] if other == "complex128" else shape
    data = one["data"]
    if stored == "bool" and np.frombuffer(data, np.uint8).max(initial=0) > 1:
        raise ValueError(f"{name} has booleans other than 0 and 1")
    return np.frombuffer(data, dtype).reshape(shape)


def _dtype(name: str) -> np.dtype[Any]:
    # most programs read and write no files
    import ml_dtypes

    try:
        return np.dtype(getattr(ml_dtypes, name, name))
    except TypeError as error:
        raise ValueError(f"{name} is not an element type ({error})") from None


def _names(spec: Spec) -> list[str]:
    """
    A name for each leaf: `layers.0.w` for `["layers"][0]["w"]`, `tree` for the tree itself.

    Where two would be the same, or safetensors could not hold one, they are all as one would write them, in brackets.
    """
    plain = [".".join(map(_part, accessor)) if accessor else _ROOT for accessor in spec.accessors()]
    if _can_be_told_apart(plain):
        return plain
    places = paths(spec)
    if not _can_be_told_apart(places):
        raise CheckpointError("two keys of the tree are equal as strings, such as 1 and '1'; use strings as keys")
    return places


def _part(entry: Any) -> str:
    """A step of a path: the name of a field, a key or a position."""
    written = entry.codify("")
    return written[1:] if written.startswith(".") else str(entry.entry)


def _can_be_told_apart(names: Sequence[str]) -> bool:
    # lone halves of surrogate pairs are no UTF-8
    written = {name for name in names if name and name != _RESERVED and not re.search("[\ud800-\udfff]", name)}
    return len(written) == len(names)


def checked_path(function: str, path: object) -> str:
    """A path as a text; GraphTypeError or CheckpointError for what can be none, with the name of the function."""
    try:
        place = os.fsdecode(path)  # pyright: ignore[reportArgumentType]
    except TypeError:
        raise GraphTypeError(
            f"{function}: path: expected a string or an os.PathLike, got {shown(path)}; str(path) is one"
        ) from None
    if "\0" in place:
        raise CheckpointError(f"{function}: path: expected a path without null characters, got {place[:60]!r}")
    return place


def _checked_texts(metadata: object) -> dict[str, str]:
    texts = dict(metadata) if isinstance(metadata, Mapping) else {} if metadata is None else None
    if texts is None or not all(isinstance(text, str) for pair in texts.items() for text in pair):
        raise GraphTypeError(
            f"save: metadata: expected a dict of strings by string, got {shown(metadata)}; str(x) makes a string"
        )
    if _DTYPES_KEY in texts:
        raise CheckpointError(f"save: metadata: the key {_DTYPES_KEY!r} is reserved; use another one")
    if wrong := [text for pair in texts.items() for text in pair if re.search("[\ud800-\udfff]", text)]:
        raise CheckpointError(f"save: metadata: {wrong[0][:60]!a} is not Unicode that can be written as UTF-8")
    return texts
