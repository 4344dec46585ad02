"""Random shapes, element types and layouts for kernels that depend on extents, against NumPy in float64."""

# Functions of NumPy's arrays and of traced values.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from typing import Any

import numpy as np

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]

FLOATS = ("float32", "float64")


def drawn(rng: np.random.Generator, *shape: int, dtype: str = "float32") -> Array:
    """Return numbers of a type in a random layout: perhaps transposed, reversed, or with gaps between rows."""
    x = np.asarray(rng.standard_normal(shape) * 4)
    if rng.random() < 0.3:
        x = np.asfortranarray(x)
    if rng.random() < 0.2 and shape:
        x = x[::-1]
    if rng.random() < 0.2 and shape:
        x = np.concatenate([x, x], -1)[..., : shape[-1]]
    return x.astype(dtype)


def check(function: Any, arrays: list[Array], threads: int, factor: float = 30) -> None:
    """Compare a compiled function with NumPy in f64, relative to its largest element."""
    found = rlx.compile(function, threads=threads)(*arrays)
    expected = function(*(x.astype(np.float64) for x in arrays))
    assert found.shape == expected.shape
    eps = max(np.finfo(x.dtype).eps for x in arrays)
    scale = np.max(np.abs(expected), initial=0) + 1
    np.testing.assert_allclose(found, expected, rtol=0, atol=factor * float(eps) * scale)


def test_rows_of_few_elements(seed: int) -> None:
    """Elementwise ops on rows of 1 to 20 elements, alone and in small batches, with values by row and by column."""
    rng = np.random.default_rng(seed)
    dtype, width, middle = str(rng.choice(FLOATS)), int(rng.integers(1, 21)), int(rng.integers(1, 8))
    rows = int(rng.integers(0, 131))
    x, by_row = drawn(rng, rows, middle, width, dtype=dtype), drawn(rng, width, dtype=dtype)
    by_column, wide = drawn(rng, rows, 1, 1, dtype=dtype), drawn(rng, rows, middle, width + 2, dtype=dtype)

    def function(x: Any, by_row: Any, by_column: Any, wide: Any) -> Any:
        moved = x * 2 - by_row / (1 + by_column * by_column)
        roots = np.sqrt(1 + by_row * by_row) * wide[..., 2:]
        return np.where(moved > roots, moved, wide[..., 1:-1]) + x[..., ::-1]

    check(function, [x, by_row, by_column, wide], int(rng.integers(1, 3)))


def test_standardised_columns(seed: int) -> None:
    """Means and deviations of columns are computed once, not for each element."""
    rng = np.random.default_rng(seed)
    dtype, shape = str(rng.choice(FLOATS)), (int(rng.integers(1, 3000)), int(rng.integers(1, 40)))
    x, w = drawn(rng, *shape, dtype=dtype), drawn(rng, shape[1], dtype=dtype)

    def function(x: Any, w: Any) -> Any:
        return (x - x.mean(0)) / np.sqrt(x.var(0) + 1) * (w / (np.abs(w).sum() + 1))

    check(function, [x, w], int(rng.integers(1, 3)))


def test_long_products_of_few_columns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dtype, depth = str(rng.choice(FLOATS)), int(rng.choice([*rng.integers(1, 131, 2), *rng.integers(250, 30_000, 2)]))
    x, y = (drawn(rng, depth, int(rng.integers(1, 20)), dtype=dtype) for _ in range(2))
    check(lambda x, y: x.T @ y + (x * x).T @ y, [x, y], int(rng.integers(1, 3)), 30 + depth**0.5 / 4)


def test_covariances_are_numpys(seed: int) -> None:
    """Computed in f64 as by NumPy, for either layout, also where means are far from 0."""
    rng = np.random.default_rng(seed)
    x = drawn(rng, int(rng.integers(1, 40)), int(rng.integers(2, 500)), dtype=str(rng.choice(FLOATS)))
    x = (x + x.dtype.type(1000)).astype(x.dtype)
    by_rows = bool(rng.integers(2))
    y = x[:1] * 2 if rng.random() < 0.3 else None
    if not by_rows:
        x, y = x.T, None if y is None else y.T

    def function(*given: Any) -> Any:
        return np.cov(*given, rowvar=by_rows, bias=bool(seed % 2))

    arrays = [x] if y is None else [x, y]
    found, expected = rlx.compile(function, threads=1)(*arrays), function(*arrays)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-10)


def test_gradients_of_stencils(seed: int) -> None:
    """Sums of slices of one value at random offsets, equal, disjoint or the whole, in one to three axes."""
    rng = np.random.default_rng(seed)
    shape = [int(n) for n in rng.integers(1, 14, int(rng.integers(1, 4)))]
    reach = [int(rng.integers(0, n)) for n in shape]
    kept = [n - r for n, r in zip(shape, reach, strict=True)]
    taps = [tuple(int(rng.integers(0, r + 1)) for r in reach) for _ in range(int(rng.integers(1, 7)))]
    places = [tuple(slice(a, a + n) for a, n in zip(tap, kept, strict=True)) for tap in taps]
    scales = [float(s) for s in rng.choice([1.0, -1.0, 2.5, 1e-3], len(taps))]
    whole = bool(rng.random() < 0.3)

    def value(x: Any) -> Any:
        found = x[places[0]] * scales[0]
        for place, scale in zip(places[1:], scales[1:], strict=True):
            found = found - x[place] * -scale if scale < 0 else found + scale * x[place]
        return found

    def loss(x: Any) -> Any:
        return (value(x) ** 3).sum() + ((x * x).sum() if whole else 0.0)

    x = rng.standard_normal(shape)
    expected, slope = 2 * x if whole else np.zeros(shape), 3 * value(x) ** 2
    for place, scale in zip(places, scales, strict=True):
        expected[place] += slope * scale
    found = rlx.compile(rlx.grad(loss), threads=int(rng.integers(1, 3)))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * np.max(np.abs(expected), initial=1))


def test_integer_divisions_are_exact(seed: int) -> None:
    """All pairs of bytes, and wider integers with divisors of every size, 0 and the ends of the range among them."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(("int8", "uint8", "int32", "uint32", "int64")[seed % 5])
    ends = np.iinfo(dtype)
    if dtype.itemsize == 1:
        every = np.arange(ends.min, ends.max + 1).astype(dtype)
        x, y = (one.reshape(-1) for one in np.meshgrid(every, every))
    else:
        x, y = (rng.integers(ends.min, ends.max, 4000, dtype=dtype, endpoint=True) for _ in range(2))
        y = (y >> rng.integers(0, ends.bits, len(y)).astype(dtype)).astype(dtype)
        special = np.array([ends.min, ends.max, 0, 1, ends.max - 1, -1 if ends.min else 2]).astype(dtype)
        x[:1000], y[:36] = np.resize(np.repeat(special, 6), 1000), np.resize(special, 36)
        x[-1000:] -= x[-1000:] % np.where(y[-1000:] == 0, 1, y[-1000:])

    def function(x: Any, y: Any) -> Any:
        return x // y, x % y, np.fmod(x, y)

    with np.errstate(all="ignore"):
        expected = function(x, y)
    for found, right in zip(rlx.compile(function, threads=1)(x, y), expected, strict=True):
        assert found.dtype == right.dtype
        np.testing.assert_array_equal(found, right)


def test_functions_of_rows_beside_rows(seed: int) -> None:
    """Functions of values by row, given or summed, in elementwise ops on few columns and in sums of columns."""
    rng = np.random.default_rng(seed)
    dtype, width = str(rng.choice(FLOATS)), int(rng.integers(1, 20))
    outer, rows = int(rng.integers(1, 8)), int(rng.integers(1, 131))
    x, by_row = drawn(rng, outer, rows, width, dtype=dtype), drawn(rng, outer, rows, 1, dtype=dtype)
    functions: list[Any] = [lambda r: (r * r + 1) ** 1.5, np.exp, np.sin, lambda r: np.tanh(np.log1p(r * r))]
    function = functions[seed % 4]
    axis = (None, 0, 1, 2)[int(rng.integers(4))]

    def program(x: Any, by_row: Any) -> Any:
        sums = (x * x).sum(-1, keepdims=True) / width
        found = x * function(by_row / 4) + x / (function(sums / 16) + 2)
        return found if axis is None else found.sum(axis)

    check(program, [x, by_row], int(rng.integers(1, 3)), 100)


def test_rows_with_a_reduction(seed: int) -> None:
    """A reduction of each row of few elements, and elementwise ops after it."""
    rng = np.random.default_rng(seed)
    dtype, width, rows = str(rng.choice(FLOATS)), int(rng.integers(1, 20)), int(rng.integers(0, 131))
    x, w = drawn(rng, rows, width, dtype=dtype), drawn(rng, width, dtype=dtype)
    functions: list[Any] = [
        lambda x, w: x / np.sqrt((x * x).mean(1, keepdims=True) + 1) * w,
        lambda x, w: x / (abs(x).sum(1, keepdims=True) + 1) - w,
        lambda x, w: (x - x.max(1, keepdims=True)) * w,
        lambda x, w: np.where(x == x.min(1, keepdims=True), w, x),
    ]
    check(functions[seed % 4], [x, w], int(rng.integers(1, 3)))


def test_gathers_of_elements(seed: int) -> None:
    """Single elements of many lines at shared or batched indices, of which some are outside, and their gradient."""
    rng = np.random.default_rng(seed)
    batches, outer, extent, count = (int(rng.integers(1, n)) for n in (4, 40, 131, 600))
    table = rng.standard_normal((batches, outer, extent)).astype(str(rng.choice(FLOATS)))
    at = rng.integers(-3, extent + 3, (batches, count)).astype(str(rng.choice(["int32", "int64"])))
    weights = rng.standard_normal((batches, outer, count)).astype(table.dtype)

    gather: Any = rlx.gather

    def function(table: Any, at: Any) -> Any:
        return gather(table, at, 2, 1)

    threads = int(rng.integers(1, 3))
    places = np.broadcast_to(np.clip(at, 0, extent - 1)[:, None], (batches, outer, count))
    np.testing.assert_array_equal(
        rlx.compile(function, threads=threads)(table, at), np.take_along_axis(table, places, axis=2)
    )
    expected = np.zeros(table.shape)
    b, o = np.ogrid[:batches, :outer]
    np.add.at(expected, (b[..., None], o[..., None], places), weights)
    slope = rlx.compile(rlx.grad(lambda table, at, w: (function(table, at) * w).sum()), threads=threads)
    np.testing.assert_allclose(slope(table, at, weights), expected, rtol=0, atol=1e-4)


def test_convolutions_of_series(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dtype, mode = str(rng.choice(FLOATS)), ("full", "same", "valid")[seed % 3]
    x, w = (rng.standard_normal(int(rng.integers(1, 131))).astype(dtype) for _ in range(2))
    for function in (np.convolve, np.correlate):
        call: Any = function
        check(lambda x, w, call=call: call(x, w, mode), [x, w], int(rng.integers(1, 3)), 60)


def test_functions_of_rows_whose_rest_is_masked(seed: int) -> None:
    """Functions in rows of 16 to 131 elements, stored, summed and after a product."""
    rng = np.random.default_rng(seed)
    dtype, width, rows = str(rng.choice(FLOATS)), int(rng.integers(16, 132)), int(rng.integers(1, 40))
    x, w = drawn(rng, rows, width, dtype=dtype), drawn(rng, rows, 1, dtype=dtype)
    a, b = drawn(rng, rows, 5, dtype=dtype), drawn(rng, 5, width, dtype=dtype)

    def function(x: Any, w: Any, a: Any, b: Any) -> Any:
        e = np.exp(x - x.max(1, keepdims=True))
        return np.tanh(x + w) + e / e.sum(1, keepdims=True) + np.tanh(a @ b / 9)

    check(function, [x, w, a, b], int(rng.integers(1, 3)))


def test_windows_of_functions_of_padded_values(seed: int) -> None:
    """Slices, inside of a part or across some, of elementwise ops on joined and padded values; gradients of pads."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    shape, axis = [int(n) for n in rng.integers(1, 9, rank)], int(rng.integers(rank))
    widths = [(int(a), int(b)) for a, b in rng.integers(0, 4, (rank, 2))]
    x, y = rng.standard_normal(shape), rng.standard_normal([n + a + b for n, (a, b) in zip(shape, widths, strict=True)])
    row = rng.standard_normal(y.shape[-1])
    places = tuple(slice(a, b) for a, b in (sorted(int(v) for v in rng.integers(0, n + 1, 2)) for n in y.shape))
    inner = tuple(slice(a, a + n) for n, (a, _) in zip(shape, widths, strict=True))

    def function(x: Any, y: Any, row: Any) -> Any:
        padded = np.pad(x * 2, widths)
        joined = np.concatenate([padded, y], axis)
        found = (padded * 3 + row) * padded if seed % 2 else np.maximum(padded, row) - padded
        both = joined * joined + 1
        return found[places].sum() + (found[inner] * x).sum() + both[places].sum()

    check(function, [x, y, row], int(rng.integers(1, 3)), 2000)

    def loss(x: Any) -> Any:
        return ((np.pad(x, widths) * row) ** 2).sum()

    slope = rlx.compile(rlx.grad(loss), threads=1)(x)
    weights = np.broadcast_to(row, y.shape)[inner]
    np.testing.assert_allclose(slope, 2 * x * weights**2, rtol=1e-12)
