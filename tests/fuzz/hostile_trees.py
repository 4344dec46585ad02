"""Random trees of arrays with the keys, element types and layouts that files go wrong on."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

KEYS = (
    *("w", "b", "a.b", "a", "b.c", "0", "1", "", ".", "..", "tree", "__metadata__", "layers.0.w", "a/b", "a\\b", "a'b"),
    *(
        'a"b',
        "]['",
        "['w']",
        "ключ",
        "\u0000",
        "\ud800",
        "\U0001f600",
        "name with spaces",
        "\n",
        "x" * 300,
        "__class__",
    ),
    *(0, 1, -1, 2**70, True, None, 1.5, (1, 2), b"raw"),
)
NATIVE = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32"),
    *("float64", "complex64", "complex128", "datetime64[ns]", "timedelta64[3s]", "datetime64"),
)
ML = (
    *("bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
    *("int1", "int2", "int4", "uint1", "uint2", "uint4"),
)
SHAPES = ((), (0,), (1,), (5,), (2, 3), (3, 0, 2), (1, 1, 1), (2, 2, 2, 2), (0, 2**50))


class Pair(NamedTuple):
    left: Any
    right: Any


def dtype_named(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


def array(rng: np.random.Generator) -> Any:
    """An array of any type and layout, of random bytes where the type has them all."""
    dtype = dtype_named(str(rng.choice((*NATIVE, *ML))))
    shape = SHAPES[rng.integers(len(SHAPES))]
    size = int(np.prod([float(n) for n in shape]))
    if dtype.name in NATIVE and dtype.name != "bool":
        made = np.frombuffer(rng.bytes(max(size, 1) * dtype.itemsize), dtype)[:size].reshape(shape)
    else:
        made = rng.integers(0, 2, shape).astype(dtype)
    layout = rng.integers(5)
    if layout == 0 and dtype.name in NATIVE:
        made = made.astype(dtype.newbyteorder(">"))
    elif layout == 1 and made.ndim and size:
        made = np.repeat(made, 2, axis=-1)[..., ::2]
    elif layout == 2:
        made = np.asfortranarray(made)[...]
    elif layout == 3 and made.ndim and size:
        made = made[::-1]
    elif layout == 4:
        made = made.view()
        made.flags.writeable = False
    return made


def tree(rng: np.random.Generator, depth: int = 3) -> Any:
    kind = rng.integers(9)
    if kind == 0 or depth == 0:
        return (array(rng), array(rng), array(rng), None, 3, 2.5, True, 1j, np.float32(1))[rng.integers(9)]
    children = [tree(rng, depth - 1) for _ in range(rng.integers(0, 4))]
    if kind <= 5:
        keys = rng.choice(len(KEYS), len(children), replace=False)
        return {KEYS[key]: child for key, child in zip(keys, children, strict=True)}
    if kind == 6:
        return Pair(tree(rng, depth - 1), tree(rng, depth - 1))
    return tuple(children) if kind == 7 else children
