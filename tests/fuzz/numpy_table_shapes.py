"""Calls of functions that join, part, move, take, sort and search elements, and that make arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from fuzz.numpy_draws import Arguments, Draw, Entry, Near, Plain

TABLE: dict[str, Entry] = {}


def _of(*ranks: int, **options: Callable[[Draw, np.ndarray], Any]) -> Callable[[Draw], Arguments]:
    """Calls with one array and some keyword arguments, each a function of the array."""

    def draw(d: Draw) -> Arguments:
        x = d.any("biufc", *ranks)
        kwargs = {name: option(d, x) for name, option in options.items() if name[0] == "_" or d.chance(0.6)}
        return (x,), {name.removeprefix("_"): one for name, one in kwargs.items()}

    return draw


def _axis(d: Draw, x: np.ndarray) -> int:
    return d.axis(x.ndim)


def _axes(d: Draw, x: np.ndarray) -> Any:
    return d.axes(x.ndim)


def _divided(d: Draw, count: int) -> tuple[int, ...]:
    """A shape of so many elements, with -1 for one of the extents at times."""
    if not count:
        return d.of(((0,), (3, 0), (0, 2)))
    left, shape = count, []
    while left > 1 and len(shape) < 3 and d.chance(0.7):
        part = d.of([n for n in range(1, left + 1) if left % n == 0])
        shape.append(part)
        left //= part
    shape.append(-1 if d.chance(0.4) else left)
    return tuple(shape if d.chance(0.95) else [*shape, 2])


def _reshape(d: Draw) -> Arguments:
    x = d.any()
    return (x, _divided(d, x.size)), d.some(order=lambda: d.of("CF"))


def _transpose(d: Draw) -> Arguments:
    x = d.any()
    order = [int(one) - x.ndim * d.chance(0.3) for one in d.rng.permutation(x.ndim)]
    return (x,), d.some(axes=lambda: d.of((None, tuple(order))))


def _moveaxis(d: Draw) -> Arguments:
    x = d.any("biufc", 1, 2, 3)
    if d.chance(0.5):
        return (x, d.axis(x.ndim), d.axis(x.ndim)), {}
    count = d.int(0, x.ndim)
    return (x, *([int(one) for one in d.rng.permutation(x.ndim)[:count]] for _ in range(2))), {}


def _two_axes(d: Draw) -> Arguments:
    x = d.any("biufc", 1, 2, 3)
    return (x, d.axis(x.ndim), d.axis(x.ndim)), {}


def _rollaxis(d: Draw) -> Arguments:
    x = d.any("biufc", 1, 2, 3)
    return (x, d.axis(x.ndim)), d.some(start=lambda: d.int(-x.ndim, x.ndim))


def _expand(d: Draw) -> Arguments:
    x = d.any()
    return (x, d.of((0, -1, d.int(-x.ndim - 1, x.ndim + 1), (0, -1), (0, 2)))), {}


def _squeeze(d: Draw) -> Arguments:
    x = d.any("biufc", 1, 2, 3)
    ones = tuple(axis for axis, n in enumerate(x.shape) if n == 1)
    return (x,), d.some(axis=lambda: d.of((None, ones, d.axis(x.ndim))))


def _roll(d: Draw) -> Arguments:
    x = d.any()
    if x.ndim > 1 and d.chance(0.4):
        return (x, tuple(d.int(-4, 4) for _ in range(x.ndim)), tuple(range(x.ndim))), {}
    return (x, d.int(-9, 9)), d.some(axis=lambda: d.axes(x.ndim))


def _rot90(d: Draw) -> Arguments:
    x = d.any("biufc", 2, 3)
    return (x,), d.some(k=lambda: d.int(-2, 5), axes=lambda: d.of(((0, 1), (1, 0), (-1, 0))))


def _broadcast_to(d: Draw) -> Arguments:
    x = d.any()
    shape = tuple(d.int(1, 3) if n == 1 else n for n in x.shape)
    return (x, d.of((shape, (2, *shape), (*shape, 2)))), {}


def _several(d: Draw) -> Arguments:
    shape = d.shape(1, 2, 3)
    shapes = [d.of((shape, shape[1:], (1,) * len(shape), ())) for _ in range(d.int(1, 3))]
    return tuple(d.array(d.dtype(), one) for one in shapes), {}


def _joined(axis: bool, *ranks: int) -> Callable[[Draw], Arguments]:
    def draw(d: Draw) -> Arguments:
        shape, dtype = d.shape(*ranks), d.dtype()
        at = d.axis(len(shape)) if shape else 0
        along = d.of((None, at)) if d.chance(0.8) else 0
        place = along if axis and along is not None and -len(shape) <= along < len(shape) else 0
        shapes = [list(shape) for _ in range(d.int(1, 3))]
        for one in shapes[1:]:
            if one and d.chance(0.6):
                one[place] = d.int(0, 3)
        parts = [d.array(d.dtype() if d.chance(0.2) else dtype, one) for one in shapes]
        kwargs: dict[str, Any] = {"axis": along} if axis and d.chance(0.8) else {}
        return (d.of((list, tuple))(parts),), kwargs

    return draw


def _concatenate(d: Draw) -> Arguments:
    args, kwargs = _joined(True, 1, 2, 3)(d)
    if d.chance(0.2):
        kinds = ("complex64", "complex128") if any(one.dtype.kind == "c" for one in args[0]) else ("float32", "float64")
        kwargs |= {"dtype": d.of(kinds), "casting": d.of(("same_kind", "unsafe"))}
    return args, kwargs


def _stack(d: Draw) -> Arguments:
    shape, dtype = d.shape(), d.dtype()
    parts = [d.array(d.dtype() if d.chance(0.2) else dtype, shape) for _ in range(d.int(1, 3))]
    return (parts,), d.some(axis=lambda: d.int(-len(shape) - 1, len(shape)))


def _append(d: Draw) -> Arguments:
    x = d.any()
    y = d.array(x.dtype.name, x.shape) if d.chance(0.7) else d.array(x.dtype.name, d.of(((), (2,))))
    return (x, y), d.some(axis=lambda: d.axis(x.ndim) if x.ndim else None)


def _block(d: Draw) -> Arguments:
    rows, columns, dtype = [d.int(1, 3) for _ in range(2)], [d.int(1, 3) for _ in range(2)], d.dtype()
    parts = [[d.array(dtype, (n, m)) for m in columns] for n in rows]
    return (d.of((parts, parts[0], [d.array(dtype, (3,)), d.array(dtype, ())], parts[0][0])),), {}


def _split(name: str) -> Callable[[Draw], Arguments]:
    def draw(d: Draw) -> Arguments:
        ranks = {"vsplit": (2, 3), "hsplit": (1, 2, 3), "dsplit": (3,)}.get(name, (1, 2, 3))
        x = d.any("biufc", *ranks)
        kwargs = d.some(axis=lambda: d.axis(x.ndim)) if name in ("split", "array_split") else {}
        return (x, d.of((1, 2, 3, [1], [1, 2], [0, 3], [2, 9], [-1], []))), kwargs

    return draw


def _delete(d: Draw) -> Arguments:
    x = d.any()
    axis = None if d.chance(0.3) or not x.ndim else d.axis(x.ndim)
    return (x, d.of((0, -1, 1, [0, 1], [], slice(0, None, 2), [-1, 0], 9))), {"axis": axis} if d.chance(0.8) else {}


def _insert(d: Draw) -> Arguments:
    x = d.any("biufc", 1, 2, 3)
    axis = None if d.chance(0.3) else d.int(0, x.ndim - 1)
    return (x, d.of((0, 1, -1, 2)), d.of((1, d.array(x.dtype.name, ())))), {"axis": axis} if d.chance(0.8) else {}


def _pad(d: Draw) -> Arguments:
    x = d.any("biufc", 1, 2, 3)
    widths = d.of((1, (1, 2), ((2, 0),), [(d.int(0, 2), d.int(0, 2)) for _ in range(x.ndim)], {0: (1, 2)}, {-1: 2}))
    mode = d.of(("constant", "constant", "edge", "wrap", "reflect", "symmetric"))
    kwargs = d.some(constant_values=lambda: d.of((0, 1, (1, 2)))) if mode == "constant" else {}
    return (x, widths), {**kwargs, "mode": mode}


def _tile(d: Draw) -> Arguments:
    return (d.any(), d.of((0, 1, 2, (2,), (1, 3), (2, 1, 2), ()))), {}


def _repeat(d: Draw) -> Arguments:
    x = d.any()
    axis = None if d.chance(0.4) or not x.ndim else d.int(-x.ndim, x.ndim - 1)
    count = x.size if axis is None else x.shape[axis]
    return (x, d.of((0, 1, 3, [d.int(0, 2) for _ in range(count)]))), {"axis": axis} if d.chance(0.8) else {}


def _resize(d: Draw) -> Arguments:
    return (d.any(), d.of((0, 3, (2, 3), (4, 5), (0, 2), ()))), {}


def _take(d: Draw) -> Arguments:
    x = d.any("biufc", 1, 2, 3, empty=False)
    axis = None if d.chance(0.3) else d.axis(x.ndim)
    extent = x.size if axis is None or not -x.ndim <= axis < x.ndim else x.shape[axis]
    mode = d.of(("raise", "wrap", "clip"))
    reach = extent if mode == "raise" else 3 * extent
    places = d.rng.integers(-reach, reach, d.shape(0, 1, 2))
    return (x, d.of((places, Plain(np.asarray(places))))), {"axis": axis, "mode": mode}


def _along(d: Draw) -> Arguments:
    x = d.any("biufc", 1, 2, 3, empty=False)
    axis = d.int(-x.ndim, x.ndim - 1)
    shape = list(x.shape)
    shape[axis] = d.int(1, 4)
    return (x, d.rng.integers(-x.shape[axis], x.shape[axis], shape)), {"axis": axis}


def _compress(d: Draw) -> Arguments:
    x = d.any("biufc", 1, 2, 3)
    axis = None if d.chance(0.3) else d.int(-x.ndim, x.ndim - 1)
    count = x.size if axis is None else x.shape[axis]
    return (Plain(d.array("bool", (d.int(0, count),))), x), {"axis": axis} if d.chance(0.8) else {}


def _meshgrid(d: Draw) -> Arguments:
    lines = tuple(d.array(d.dtype(), d.shape(0, 1, 1)) for _ in range(d.int(1, 3)))
    return lines, d.some(sparse=lambda: d.chance(0.5), indexing=lambda: d.of(("xy", "ij")))


def _ix(d: Draw) -> Arguments:
    return tuple(d.array("int64", d.shape(1)) for _ in range(d.int(1, 3))), {}


def _sort(d: Draw) -> Arguments:
    x = d.any("biufffc", 1, 2, 3, odd=0.4)
    kwargs: dict[str, Any] = {"axis": d.of((None, d.axis(x.ndim)))} if d.chance(0.7) else {}
    return (x,), kwargs | ({"kind": "stable"} if d.chance(0.5) else {"stable": True})


def _search(d: Draw) -> Arguments:
    dtype = d.dtype("biufff")
    line = np.sort(d.array(dtype, d.shape(1), 0.3))
    return (line, d.array(dtype, d.shape(), 0.3)), d.some(side=lambda: d.of(("left", "right")))


def _digitize(d: Draw) -> Arguments:
    dtype = d.dtype("iufff")
    line = np.sort(d.array(dtype, d.shape(1, empty=False), 0))
    return (
        d.array(dtype, d.shape(), 0.3),
        d.of((line, line[::-1].copy(), Plain(line), Plain(line[::-1].copy()))),
    ), d.some(right=True)


def _bins(weights: bool) -> Callable[[Draw], Arguments]:
    """Quarters and edges that are exact, so that all counts are."""

    def draw(d: Draw) -> Arguments:
        dtype = d.of(("int32", "float32", "float64"))
        a = (np.round(np.nan_to_num(d.array("float64", d.shape(), 0), posinf=9, neginf=-9) * 4) / 4).astype(dtype)
        edges = Plain([-1.0, -0.25, 0.5, 0.5, 3.0])
        given = (a, edges) if d.some(edges=1) else (a, d.of((1, 2, 4, 8)), (-2.0, 2.0))
        return given, d.some(weights=lambda: d.array("float64", a.shape, 0), density=True) if weights else {}

    return draw


def _like(*values: Any) -> Callable[[Draw], Arguments]:
    def draw(d: Draw) -> Arguments:
        kwargs = d.some(shape=lambda: d.of((3, (2, 3), None)), dtype=lambda: d.of(("float32", "int64", None, bool)))
        return (d.any(), *((d.of(values),) if values else ())), kwargs

    return draw


def _astype(d: Draw) -> Arguments:
    x = d.any()
    return (x, d.dtype("c" if x.dtype.kind == "c" else "biufc")), d.some(copy=lambda: d.chance(0.5))


def _astype_safe(d: Draw) -> Arguments:
    """Conversions whose values C defines: no infinity, NaN or number out of range to integers."""
    (x, dtype), kwargs = _astype(d)
    if np.dtype(dtype).kind in "iu" and x.dtype.kind == "f":
        x = np.abs(np.nan_to_num(x, posinf=3, neginf=1))
    return (x, dtype), kwargs


def _windows(d: Draw) -> Arguments:
    x = d.any("biufc", 1, 2)
    if x.ndim == 1 or d.chance(0.5):
        return (x, d.int(0, 4)), {"axis": d.int(-x.ndim, x.ndim - 1)}
    return (x, (d.int(1, 3), d.int(1, 3))), d.some(axis=lambda: (0, 1))


def _result_type(d: Draw) -> Arguments:
    return (d.any(), d.of((d.any(), "float32", 1, 2.0))), {}


def _rows() -> None:
    offset = {"k": lambda d, x: d.int(-4, 4)}
    diagonal = {"offset": lambda d, x: d.int(-4, 4), "axis1": _axis, "axis2": _axis}
    TABLE.update(
        {
            "diagonal": Entry(_of(2, 3, **diagonal)),
            "flip": Entry(_of(0, 1, 2, 3, axis=_axes)),
            "ravel": Entry(_of(order=lambda d, x: d.of("CF"))),
            "fliplr": Entry(_of(1, 2, 3)),
            "flipud": Entry(_of(1, 2, 3)),
            "tril": Entry(_of(1, 2, 3, **offset)),
            "triu": Entry(_of(1, 2, 3, **offset)),
            "diag": Entry(_of(0, 1, 2, 2, 1, 3, **offset)),
            "diagflat": Entry(_of(0, 1, 2, **offset)),
            "matrix_transpose": Entry(_of(1, 2, 3)),
            "linalg.matrix_transpose": Entry(_of(1, 2, 3)),
            "linalg.diagonal": Entry(_of(1, 2, 3, offset=lambda d, x: d.int(-3, 3))),
            "unstack": Entry(_of(0, 1, 2, 3, axis=_axis)),
            "copy": Entry(_of()),
            "shape": Entry(_of()),
            "ndim": Entry(_of()),
            "size": Entry(_of(axis=_axis)),
            "empty_like": Entry(_empty),
            "zeros_like": Entry(_like()),
            "ones_like": Entry(_like()),
            "full_like": Entry(_like(0, 1, 7, 2.5, True)),
            "fft.fftshift": Entry(_of(0, 1, 2, 3, axes=_axes)),
            "fft.ifftshift": Entry(_of(0, 1, 2, 3, axes=_axes)),
            "lib.stride_tricks.sliding_window_view": Entry(_windows),
            "astype": Entry(_astype_safe, Near.ULPS, 0, wider=False),
        }
    )
    for name in ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays"):
        TABLE[name] = Entry(_several)
    for name in ("transpose", "permute_dims"):
        TABLE[name] = Entry(_transpose)
    for name in ("concatenate", "concat"):
        TABLE[name] = Entry(_concatenate)
    for name in ("split", "array_split", "vsplit", "hsplit", "dsplit"):
        TABLE[name] = Entry(_split(name))
    for name in ("sort", "argsort"):
        TABLE[name] = Entry(_sort)
    for name in ("partition", "argpartition"):
        TABLE[name] = Entry(_partition(name))
    for name, draw in {
        "reshape": _reshape,
        "moveaxis": _moveaxis,
        "swapaxes": _two_axes,
        "rollaxis": _rollaxis,
        "expand_dims": _expand,
        "squeeze": _squeeze,
        "roll": _roll,
        "rot90": _rot90,
        "broadcast_to": _broadcast_to,
        "stack": _stack,
        "vstack": _joined(False, 1, 2, 3),
        "hstack": _joined(False, 0, 1, 2),
        "dstack": _joined(False, 1, 2, 3),
        "column_stack": _joined(False, 1, 2),
        "append": _append,
        "block": _block,
        "delete": _delete,
        "insert": _insert,
        "pad": _pad,
        "tile": _tile,
        "repeat": _repeat,
        "resize": _resize,
        "take": _take,
        "take_along_axis": _along,
        "compress": _compress,
        "meshgrid": _meshgrid,
        "ix_": _ix,
        "searchsorted": _search,
        "digitize": _digitize,
        "histogram_bin_edges": _bins(False),
        "result_type": _result_type,
    }.items():
        TABLE[name] = Entry(draw)


TABLE["histogram"] = Entry(_bins(True), Near.NORM, 16)


def _empty(d: Draw) -> Arguments:
    """Arrays without elements: what is in others, NumPy does not say."""
    return (d.any(),), {"shape": d.of((0, (2, 0)))} | d.some(dtype=lambda: d.of(("float32", int)))


def _partition(name: str) -> Callable[[Draw], Arguments]:
    """Vectors of different numbers, of which all positions are asked for: others may be in any order."""

    def draw(d: Draw) -> Arguments:
        n = d.int(1, 6)
        x = d.rng.permutation(n * 3)[:n].astype(d.dtype("if"))
        kwargs: dict[str, Any] = d.some(axis=lambda: d.of((0, -1, None)))
        return (x, list(range(n))), kwargs

    return draw


_rows()
