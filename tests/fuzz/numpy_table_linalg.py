"""Calls of products, of `np.linalg` and of `np.fft`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from fuzz.numpy_draws import Arguments, Draw, Entry, Near

TABLE: dict[str, Entry] = {}


def _pair(d: Draw, x: tuple[int, ...], y: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    dtype = d.dtype("biufffc")
    other = d.dtype("bif") if d.chance(0.15) else dtype
    return d.array(dtype, x, 0.03), d.array(other, y, 0.03)


def _product(*ranks: tuple[int, int]) -> Callable[[Draw], Arguments]:
    """Operands whose last axis, and whose axis before it of a matrix on the right, have one extent."""

    def draw(d: Draw) -> Arguments:
        left, right = d.of(ranks)
        x, y, n = list(d.shape(left)), list(d.shape(right)), d.of((1, 2, 3, 4, 5, *((0,) * d.chance(0.2))))
        if left:
            x[-1] = n
        if right:
            y[-2 if right > 1 else -1] = n
        if left > 2 and right > 2:
            x[:-2], y[:-2] = d.of((((2,), (2,)), ((1,), (3,)), ((3,), (1,))))
        if d.chance(0.05) and left:
            x[-1] += 1
        return _pair(d, tuple(x), tuple(y)), {}

    return draw


def _of_shapes(*shapes: tuple[tuple[int, ...], tuple[int, ...]], **options: Any) -> Callable[[Draw], Arguments]:
    def draw(d: Draw) -> Arguments:
        return _pair(d, *d.of(shapes)), d.some(**{name: lambda one=one: d.of(one) for name, one in options.items()})

    return draw


_DOT = ((0, 0), (0, 2), (2, 0), (1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (3, 2), (2, 3))
_VECTORS = (
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((1, 4), (3, 4)),
    ((2, 1, 2), (3, 2)),
    ((0,), (0,)),
    ((2,), (3,)),
    ((1,), (3,)),
)


def _inner(d: Draw) -> Arguments:
    x, y = d.of((((3,), (3,)), ((2, 3), (3,)), ((2, 3), (4, 3)), ((), (2, 3)), ((2, 2, 3), (4, 3)), ((2, 3), (2, 4))))
    return _pair(d, x, y), {}


def _any_two(d: Draw) -> Arguments:
    return _pair(d, d.shape(0, 1, 2), d.shape(0, 1, 2)), {}


def _vdot(d: Draw) -> Arguments:
    return _pair(
        d,
        *d.of((((3,), (3,)), ((2, 3), (6,)), ((2, 2), (2, 2)), ((), ()), ((2,), (3,)))),
    ), {}


def _einsum(d: Draw) -> Arguments:
    text, *shapes = d.of(
        (
            ("ij,jk->ik", (2, 3), (3, 4)),
            ("ij,jk", (2, 3), (3, 1)),
            ("ii", (3, 3)),
            ("ii->i", (3, 3)),
            ("ij->ji", (2, 3)),
            ("ij->", (2, 3)),
            ("...i,...i->...", (2, 3), (3,)),
            ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
            ("i,j,k->ijk", (2,), (3,), (2,)),
            ("i,i", (3,), (3,)),
            ("ij,ij->i", (2, 3), (2, 3)),
            ("...ij->...ji", (2, 1, 3)),
            ("ij,kj->", (2, 3), (1, 3)),
            ("ij,jk", (2, 3), (2, 3)),
        )
    )
    dtype = d.dtype("biufffc")
    return (text, *(d.array(dtype, one, 0.03) for one in shapes)), d.some(optimize=lambda: d.chance(0.5))


def _tensordot(d: Draw) -> Arguments:
    x, y, axes = d.of(
        (
            ((2, 3), (3, 2), 1),
            ((2, 3), (2, 3), 2),
            ((2,), (3, 1), 0),
            ((2, 3, 4), (4, 3, 2), ([1, 2], [1, 0])),
            ((2, 3, 4), (4, 3, 2), (0, 2)),
            ((2, 3), (2, 3), ((-1,), (-1,))),
            ((2, 3), (2, 3), 1),
        )
    )
    return _pair(d, x, y), {"axes": axes}


def _cross(d: Draw) -> Arguments:
    x, y, kwargs = d.of(
        (
            ((3,), (3,), {}),
            ((2, 3), (2, 3), {}),
            ((2, 3), (3,), {}),
            ((3, 2), (3, 2), {"axis": 0}),
            ((2, 3), (3, 2), {"axisb": 0, "axisc": 0}),
            ((3, 4), (2, 3), {"axisa": 0}),
        )
    )
    return _pair(d, x, y), kwargs


def _trace(d: Draw) -> Arguments:
    x = d.any("biufffc", 2, 3)
    kwargs = d.some(offset=lambda: d.int(-3, 3))
    if d.chance(0.4):
        kwargs |= {"axis1": d.axis(x.ndim), "axis2": d.axis(x.ndim)}
    if d.chance(0.2):
        kwargs["dtype"] = "complex128" if x.dtype.kind == "c" else d.of(("float32", "float64", int))
    return (x,), kwargs


def _linalg_trace(d: Draw) -> Arguments:
    return (d.any("biufffc", 2, 3),), d.some(offset=lambda: d.int(-3, 3))


def _matrices(d: Draw, kinds: str = "iffcc", positive: bool = False, *, extents: tuple[int, ...] = ()) -> np.ndarray:
    """Square matrices with a large diagonal."""
    n = d.int(1, 5)
    batch = d.of(((), (), (2,), (2, 1), (0,)))
    dtype = d.dtype(kinds).replace("float16", "float32").replace("int8", "int32")
    rows, columns = extents or (n, n)
    x = d.array(dtype, (*batch, rows, columns), 0)
    if not extents:
        if positive:
            x = (x + np.swapaxes(x, -1, -2).conj()) / (2 if x.dtype.kind != "i" else 1)
        x = x + (30 * np.eye(n) * np.arange(1, n + 1)).astype(dtype)
    return x.astype(dtype)


def _square(**options: Any) -> Callable[[Draw], Arguments]:
    def draw(d: Draw) -> Arguments:
        x = _matrices(d) if d.chance(0.95) else d.array("float64", d.of(((2, 3), (3,))), 0)
        return (x,), d.some(**{name: lambda one=one: d.of(one) for name, one in options.items()})

    return draw


def _symmetric(**options: Any) -> Callable[[Draw], Arguments]:
    def draw(d: Draw) -> Arguments:
        kwargs = d.some(**{name: lambda one=one: d.of(one) for name, one in options.items()})
        return (_matrices(d, "iffc", positive=True),), kwargs

    return draw


def _rectangular(least: int = 1, kinds: str = "iffc", **options: Any) -> Callable[[Draw], Arguments]:
    def draw(d: Draw) -> Arguments:
        x = _matrices(d, kinds, extents=(d.int(least, 5), d.int(least, 5)))
        return (x,), d.some(**{name: lambda one=one: d.of(one) for name, one in options.items()})

    return draw


def _solve(d: Draw) -> Arguments:
    a = _matrices(d, "iffc")
    n, batch = a.shape[-1], a.shape[:-2]
    shape = d.of(((n,), (*batch, n, 2), (n, 1)))
    return (a, d.array(a.dtype.name, shape, 0)), {}


def _norm(d: Draw) -> Arguments:
    x = d.any("iffc", 1, 2, 3, odd=0.1, empty=False)
    axis = d.of((None, d.axis(x.ndim), (0, 1) if x.ndim > 1 else None))
    of_matrix = isinstance(axis, tuple) or (axis is None and x.ndim == 2)
    orders = (
        (None, "fro", 1, -1, np.inf, -np.inf, 2, -2, "nuc") if of_matrix else (None, 0, 1, 2, 3, 0.5, np.inf, -np.inf)
    )
    kwargs = {"axis": axis, "ord": d.of(orders)} | d.some(keepdims=lambda: d.chance(0.5))
    return (x,), kwargs


def _vector_norm(d: Draw) -> Arguments:
    x = d.any("iffc", 0, 1, 2, 3, odd=0.1)
    kwargs = d.some(axis=lambda: d.axes(x.ndim), keepdims=lambda: d.chance(0.5))
    return (x,), kwargs | d.some(ord=lambda: d.of((0, 1, 2, 3, np.inf, -np.inf)))


def _svd(d: Draw) -> Arguments:
    (x,), _ = _rectangular()(d)
    return (x,), {"compute_uv": False} if d.chance(0.5) else {"full_matrices": False}


def _magnitudes(found: Any) -> Any:
    """Without signs and phases, which factors share."""
    return tuple(map(_magnitudes, found)) if isinstance(found, tuple | list) else abs(np.asarray(found))


def _lstsq(d: Draw) -> Arguments:
    n = d.int(1, 3)
    m = n + d.int(0, 3)
    dtype = d.of(("float32", "float64", "float64"))
    a = d.array(dtype, (m, n), 0) + 9 * np.eye(m, n, dtype=dtype)
    return (a, d.array(dtype, d.of(((m,), (m, 2))), 0)), {"rcond": None}


def _tensorsolve(d: Draw) -> Arguments:
    a = d.array("float64", (2, 3, 6), 0) + 20 * np.eye(6).reshape(2, 3, 6)
    return (a, d.array("float64", (2, 3), 0)), {}


def _tensorinv(d: Draw) -> Arguments:
    return (d.array("float64", (2, 3, 6), 0) + 20 * np.eye(6).reshape(2, 3, 6),), {"ind": 2}


def _multi_dot(d: Draw) -> Arguments:
    n = [d.int(1, 4) for _ in range(4)]
    dtype = d.dtype("ifffc")
    shapes = d.of(
        (((n[0], n[1]), (n[1], n[2]), (n[2], n[3])), ((n[0],), (n[0], n[1]), (n[1],)), ((n[0], n[1]), (n[1], 2)))
    )
    return ([d.array(dtype, one, 0) for one in shapes],), {}


def _transform(real: bool, inverse: bool) -> Callable[[Draw], Arguments]:
    def draw(d: Draw) -> Arguments:
        x = d.any("biufff" if real else "biufffcc", 1, 2, 3, odd=0, empty=False)
        kwargs = d.some(n=lambda: d.int(1, 8), axis=lambda: d.axis(x.ndim))
        kwargs |= d.some(norm=lambda: d.of((None, "backward", "ortho", "forward")))
        return (x,), kwargs

    return draw


def _transform_axes(real: bool) -> Callable[[Draw], Arguments]:
    def draw(d: Draw) -> Arguments:
        x = d.any("biufff" if real else "biufffcc", 2, 3, odd=0, empty=False)
        kwargs: dict[str, Any] = d.some(norm=lambda: d.of((None, "backward", "ortho", "forward")))
        if d.chance(0.5):
            kwargs["axes"] = d.of(((-2, -1), (0, 1), (1, 0)))
        if d.chance(0.4):
            kwargs |= {"s": (d.int(1, 5), d.int(2, 6)), "axes": kwargs.get("axes", (-2, -1))}
        return (x,), kwargs

    return draw


def _rows() -> None:
    sums, norm = Near.SUMS, Near.NORM
    TABLE.update(
        {
            "dot": Entry(_product(*_DOT), sums),
            "matmul": Entry(_product((1, 1), (2, 1), (1, 2), (2, 2), (3, 2), (2, 3), (3, 3), (0, 1)), sums),
            "linalg.matmul": Entry(_product((2, 2), (3, 3), (2, 1)), sums),
            "inner": Entry(_inner, sums),
            "outer": Entry(_any_two, sums),
            "linalg.outer": Entry(_of_shapes(((2,), (3,)), ((1,), (4,)), ((2, 2), (3,))), sums),
            "kron": Entry(_any_two, sums),
            "vdot": Entry(_vdot, sums),
            "vecdot": Entry(_of_shapes(*_VECTORS), sums),
            "linalg.vecdot": Entry(_of_shapes(*_VECTORS, axis=(-1,)), sums),
            "matvec": Entry(_product((2, 1), (3, 1)), sums),
            "vecmat": Entry(_product((1, 2), (1, 3)), sums),
            "einsum": Entry(_einsum, sums),
            "tensordot": Entry(_tensordot, sums),
            "linalg.tensordot": Entry(_tensordot, sums),
            "cross": Entry(_cross, norm, 8),
            "linalg.cross": Entry(_of_shapes(((3,), (3,)), ((2, 3), (2, 3)), ((2, 3), (3,))), norm, 8),
            "trace": Entry(_trace, sums),
            "linalg.trace": Entry(_linalg_trace, sums),
            "linalg.multi_dot": Entry(_multi_dot, norm, 32),
            "linalg.norm": Entry(_norm, norm, 32),
            "linalg.vector_norm": Entry(_vector_norm, norm, 32),
            "linalg.matrix_norm": Entry(
                _rectangular(ord=("fro", 1, -1, 2, np.inf, "nuc"), keepdims=(True, False)), norm, 64
            ),
            "linalg.solve": Entry(_solve, norm, 64),
            "linalg.inv": Entry(_square(), norm, 64),
            "linalg.det": Entry(_square(), norm, 64),
            "linalg.slogdet": Entry(_square(), norm, 64),
            "linalg.cond": Entry(_square(p=(None, 1, np.inf, "fro")), norm, 256),
            "linalg.matrix_power": Entry(lambda d: ((_matrices(d), d.int(-2, 5)), {}), norm, 256),
            "linalg.cholesky": Entry(_symmetric(upper=(True, False)), norm, 64),
            "linalg.eigvalsh": Entry(_symmetric(UPLO=("L", "U")), norm, 64),
            "linalg.eigh": Entry(_symmetric(UPLO=("L", "U")), norm, 256, seen=_magnitudes),
            "linalg.qr": Entry(_rectangular(mode=("reduced", "r")), norm, 64, seen=_magnitudes),
            "linalg.svd": Entry(_svd, norm, 256, seen=_magnitudes),
            "linalg.svdvals": Entry(_rectangular(), norm, 64),
            "linalg.pinv": Entry(_square(), norm, 256),
            "linalg.matrix_rank": Entry(_rectangular()),
            "linalg.lstsq": Entry(_lstsq, norm, 512),
            "linalg.tensorsolve": Entry(_tensorsolve, norm, 64),
            "linalg.tensorinv": Entry(_tensorinv, norm, 64),
        }
    )
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        TABLE[f"fft.{name}"] = Entry(_transform(name in ("rfft", "ihfft"), name[0] == "i"), norm, 32)
    for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
        TABLE[f"fft.{name}"] = Entry(_transform_axes(name[0] == "r"), norm, 32)


_rows()
