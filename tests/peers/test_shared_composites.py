"""Gather, scatter, slices, convolutions, windows and arithmetic of the readers, against `jax.lax` in f64."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.frontends.shared import numbers, slices, windows
from xdsl_rlx.frontends.shared.convolutions import ConvDims, ConvWindows, convolution
from xdsl_rlx.frontends.shared.gathers import GatherDims, gather
from xdsl_rlx.frontends.shared.scatters import ScatterDims, scatter
from xdsl_rlx.frontends.shared.values import cast
from xdsl_rlx.frontends.shared.windows import Windows

SEEDS = range(18)


@pytest.fixture(autouse=True)
def _wide():  # pyright: ignore[reportUnusedFunction]
    with jax.enable_x64(True):
        yield


def agree(ours, theirs, *args, wrt: tuple[int, ...] = (0,), grad: bool = True) -> None:
    """Values and gradients of two functions of arrays are equal."""
    want = np.asarray(theirs(*args))
    found = rlx.compile(ours)(*args)
    assert (found.shape, found.dtype) == (want.shape, want.dtype)
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12)
    if not grad:
        return
    weight = np.random.default_rng(99).standard_normal(want.shape)
    expected = jax.grad(lambda *a: (theirs(*a) * weight).sum(), argnums=wrt)(*args)
    gradient = rlx.compile(rlx.grad(lambda *a: (ours(*a) * weight).sum(), argnums=wrt))(*args)
    for one, other in zip(gradient, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


@dataclass
class Case:
    """A gather whose dimension numbers were drawn."""

    x: Any
    indices: Any
    numbers: Any
    sizes: tuple[int, ...]

    @staticmethod
    def draw(rng: np.random.Generator) -> Case:
        """Of rank 1 to 4 with up to 2 batching dimensions, and indices partly out of range."""
        rank = int(rng.integers(1, 5))
        shape = rng.integers(1, 5, rank).tolist()
        axes = rng.permutation(rank).tolist()
        batching = sorted(axes[: int(rng.integers(0, min(rank, 2) + 1)) if rng.random() < 0.5 else 0])
        others = [axis for axis in axes if axis not in batching]
        mapped = others[: int(rng.integers(min(1, len(others)), len(others) + 1))]
        sizes = [int(rng.integers(1, n + 1)) if rng.random() < 0.6 else 1 for n in shape]
        sizes = [1 if axis in batching else n for axis, n in enumerate(sizes)]
        collapsed = sorted(axis for axis in others if sizes[axis] == 1 and rng.random() < 0.7)
        extents = [shape[axis] for axis in batching] + rng.integers(1, 4, int(rng.integers(0, 3))).tolist()
        order = rng.permutation(len(extents)).tolist()
        indices_shape = [extents[n] for n in order]
        indices_batching = [order.index(n) for n in range(len(batching))]
        windows_ = rank - len(collapsed) - len(batching)
        offsets = sorted(rng.permutation(len(extents) + windows_)[:windows_].tolist())
        kind = [np.int32, np.int64, np.uint32][int(rng.integers(3))]
        indices = rng.integers(-3 if kind is not np.uint32 else 0, 7, (*indices_shape, len(mapped))).astype(kind)
        numbers_ = (offsets, collapsed, mapped, batching, indices_batching)
        return Case(rng.standard_normal(shape), indices, tuple(map(tuple, numbers_)), tuple(sizes))


@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("seed", SEEDS)
def test_gather_agrees_for_any_dimension_numbers(seed: int, mode: str) -> None:
    case = Case.draw(np.random.default_rng(seed))
    theirs = jax.lax.GatherDimensionNumbers(*case.numbers)
    fill = 2.5 if mode == "fill" else None

    def expected(x):
        return jax.lax.gather(x, case.indices, theirs, case.sizes, mode=mode, fill_value=fill)

    def ours(x):
        # positions that are known when the program is built, and those that are not
        at = case.indices if seed % 2 else rlx.dynamic_slice(case.indices, [0] * case.indices.ndim, case.indices.shape)
        return gather(x, at, GatherDims(*case.numbers), case.sizes, mode, fill)

    # without an index, XLA's own transpose of a gather is wrong
    agree(ours, expected, case.x, grad=bool(case.numbers[2]))


SCATTERS = {
    "set": jax.lax.scatter,
    "add": jax.lax.scatter_add,
    "sub": jax.lax.scatter_sub,
    "mul": jax.lax.scatter_mul,
    "min": jax.lax.scatter_min,
    "max": jax.lax.scatter_max,
}


@pytest.mark.parametrize("mode", ["drop", "clip"])
@pytest.mark.parametrize("seed", SEEDS)
def test_scatter_agrees_for_any_dimension_numbers(seed: int, mode: str) -> None:
    rng = np.random.default_rng(seed)
    case, kind = Case.draw(rng), list(SCATTERS)[seed % len(SCATTERS)]
    if not case.numbers[2]:
        case = Case(np.ones(4), np.array([[3], [1], [9], [3]]), ((), (0,), (0,), (), ()), (1,))
    numbers_ = jax.lax.GatherDimensionNumbers(*case.numbers)
    updates = rng.standard_normal(jax.lax.gather(case.x, case.indices, numbers_, case.sizes).shape)
    theirs = jax.lax.ScatterDimensionNumbers(*case.numbers)
    agree(
        lambda x, u, at: scatter(x, at if seed % 4 else case.indices, u, ScatterDims(*case.numbers), kind, mode),
        lambda x, u, at: SCATTERS[kind](x, at, u, theirs, mode=mode),
        case.x,
        updates,
        case.indices,
        wrt=(0, 1),
        grad=kind in ("set", "add", "sub"),
    )


def test_index_vectors_may_have_no_dimension() -> None:
    x, at = np.arange(12.0).reshape(4, 3), np.array([2, 0, 3])
    dims = GatherDims((1,), (0,), (0,), index_vector_dim=1)
    np.testing.assert_array_equal(rlx.compile(lambda x, at: gather(x, at, dims, (1, 3)))(x, at), x[at])
    back = ScatterDims((1,), (0,), (0,), index_vector_dim=1)
    found = rlx.compile(lambda x, at, u: scatter(x, at, u, back, "add"))(x, at, x[:3])
    expected = x.copy()
    expected[at] += x[:3]
    np.testing.assert_array_equal(found, expected)


def test_unique_updates_are_set_without_sorting() -> None:
    x, at, u = np.zeros(9), np.array([[7], [2], [11], [4]]), np.array([1.0, 2.0, 3.0, 4.0])

    def ours(x, at, u):
        return scatter(x, at, u, ScatterDims((), (0,), (0,)), "set", unique=True)

    np.testing.assert_array_equal(rlx.compile(ours)(x, at, u), [0, 0, 2, 0, 4, 0, 0, 1, 0])
    assert "topk" not in str(rlx.trace(ours, x, at, u))


@pytest.mark.parametrize("seed", range(6))
def test_dynamic_slices_are_clamped(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 6, 3).tolist())
    sizes = tuple(int(rng.integers(1, n + 1)) for n in shape)
    starts = rng.integers(0, 7, 3)
    x, update = rng.standard_normal(shape), rng.standard_normal(sizes)
    agree(
        lambda x, at: slices.dynamic_slice(x, [at[n] for n in range(3)], sizes),
        lambda x, at: jax.lax.dynamic_slice(x, at, sizes),
        x,
        starts,
    )
    agree(
        lambda x, u, at: slices.dynamic_update_slice(x, u, [at[0], 1, at[2]]),
        lambda x, u, at: jax.lax.dynamic_update_slice(x, u, [at[0], 1, at[2]]),
        x,
        update,
        starts,
        wrt=(0, 1),
    )


PADS = [
    ((5, 4), [(1, 2, 1), (0, 3, 0)]),
    ((5, 4), [(-1, 2, 1), (2, -3, 2)]),
    ((3, 4), [(-4, 5, 0), (0, 0, 0)]),
    ((1, 4), [(2, 0, 3), (-2, -1, 0)]),
    ((0, 2), [(2, 1, 3), (0, 1, 1)]),
]


@pytest.mark.parametrize("shape, config", PADS)
def test_pad_with_interior_and_negative_amounts(shape, config) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    low, high, interior = zip(*config, strict=True)
    agree(
        lambda x, v: slices.pad(x, v, low, high, interior),
        lambda x, v: jax.lax.pad(x, v, config),
        x,
        np.float64(2.5),
        wrt=(0, 1),
    )
    agree(
        lambda x: slices.pad(x, np.float64(-np.inf), low, high, interior),
        lambda x: jax.lax.pad(x, np.float64(-np.inf), config),
        x,
        grad=False,
    )


def draw_convolution(rng: np.random.Generator, axes: int):
    """Shapes, windows, layouts and groups of a convolution."""
    features, batches = (int(rng.integers(1, 4)), 1) if rng.random() < 0.5 else (1, int(rng.integers(1, 4)))
    inputs = int(rng.integers(1, 3))
    size, kernel = rng.integers(2, 6, axes).tolist(), rng.integers(1, 4, axes).tolist()
    strides, lhs, rhs = (
        tuple(rng.integers(1, 4, axes).tolist()) if rng.random() < 0.6 else (1,) * axes for _ in range(3)
    )
    pads = tuple((int(a), int(b)) for a, b in rng.integers(-1, 4, (axes, 2)))
    layouts = [tuple(rng.permutation(axes + 2).tolist()) for _ in range(3)]
    shapes = [(int(rng.integers(1, 3)) * batches, inputs * features, *size)]
    shapes += [(int(rng.integers(1, 3)) * features * batches, inputs, *kernel)]
    laid = [
        tuple(shape[layout.index(n)] for n in range(axes + 2)) for shape, layout in zip(shapes, layouts, strict=False)
    ]
    return laid, (strides, pads, lhs, rhs), layouts, features, batches


@pytest.mark.parametrize("axes", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_convolutions_agree_for_any_layout(seed: int, axes: int) -> None:
    rng = np.random.default_rng(seed + 100 * axes)
    (left, right), at, layouts, features, batches = draw_convolution(rng, axes)
    x, w = rng.standard_normal(left), rng.standard_normal(right)
    if seed == 7:
        x, w = np.int32(8 * x), np.int32(8 * w)
    strides, pads, lhs, rhs = at
    agree(
        lambda x, w: convolution(x, w, ConvDims(*layouts), ConvWindows(*at), features, batches),
        lambda x, w: jax.lax.conv_general_dilated(
            x, w, strides, pads, lhs, rhs, jax.lax.ConvDimensionNumbers(*layouts), features, batches
        ),
        x,
        w,
        wrt=(0, 1),
        grad=seed != 7,
    )


@pytest.mark.parametrize("seed", range(6))
def test_a_convolution_by_cotangents_is_that_of_the_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups, per_group = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    size, taps = rng.integers(5, 9, 2).tolist(), rng.integers(3, 5, 2).tolist()
    steps, dilation = (tuple(rng.integers(1, 3, 2).tolist()) for _ in range(2))
    # any padding, also such as no convolution with equal padding on both sides has
    spans = [(n - 1) * step + 1 for n, step in zip(taps, steps, strict=True)]
    pads = tuple(
        (int(low), int(rng.integers(0, 3) + span - n - low))
        for (low, n, span) in zip(rng.integers(-1, 3, 2), size, spans, strict=True)
    )
    x, dy = rng.standard_normal((3, groups * per_group, *size)), rng.standard_normal((3, groups * 2, *taps))
    layout = ((1, 0, 2, 3), (1, 0, 2, 3), (1, 0, 2, 3))

    def ours(x, dy):
        return convolution(x, dy, ConvDims(*layout), ConvWindows(dilation, pads, (1, 1), steps), 1, groups)

    assert "mir.conv2d_backward_weight" in str(rlx.trace(ours, x, dy))
    agree(
        ours,
        lambda x, dy: jax.lax.conv_general_dilated(
            x, dy, dilation, pads, (1, 1), steps, jax.lax.ConvDimensionNumbers(*layout), 1, groups
        ),
        x,
        dy,
        wrt=(0, 1),
    )


KINDS = {"add": jax.lax.add, "max": jax.lax.max, "min": jax.lax.min, "mul": jax.lax.mul, "and": jax.lax.bitwise_and}


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("seed", range(7))
def test_windows_are_reduced(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 5))
    shape, ones = tuple(rng.integers(2, 7, rank).tolist()), (1,) * rank
    sizes = tuple(min(n + 1, k) for n, k in zip(shape, rng.integers(1, 5, rank).tolist(), strict=True))
    strides = tuple(rng.integers(1, 3, rank).tolist())
    pads = tuple((int(a), int(b)) for a, b in rng.integers(0, 3, (rank, 2)))
    base, dilation = ones, ones
    if seed < 2:
        axis = int(rng.integers(rank))
        span = (shape[axis] - 1, 0) if seed else (0, shape[axis] - 1)
        sizes = tuple(n if number == axis else 1 for number, n in enumerate(shape))
        strides, pads = ones, tuple(span if number == axis else (0, 0) for number in range(rank))
    elif seed > 4:
        base, dilation = (tuple(rng.integers(1, 3, rank).tolist()) for _ in range(2))
    integers = kind == "and"
    # ties are common: halves of small integers
    x = rng.integers(-3, 3, shape).astype(np.int32 if integers else np.float64)
    number = windows.neutral(kind, "i32" if integers else "f64") if seed != 3 else 2
    init: Any = np.asarray(number, x.dtype)
    agree(
        lambda x: windows.reduce_window(x, init, kind, Windows(sizes, strides, pads, base, dilation)),
        lambda x: jax.lax.reduce_window(x, init[()], KINDS[kind], sizes, strides, pads, base, dilation),
        x,
        grad=kind in ("add", "max", "min") and seed in (2, 4),
    )


@pytest.mark.parametrize(
    "at",
    [
        Windows((1, 5, 1, 1), (1,) * 4, ((0, 0), (5, -1), (0, 0), (0, 0)), (1,) * 4, (1,) * 4),
        Windows((1, 1, 4, 1), (1,) * 4, ((0, 0), (0, 0), (-1, 4), (0, 0)), (1,) * 4, (1,) * 4),
        Windows((1, 1, 2, 3), (1,) * 4, ((0, 0), (0, 0), (1, 1), (1, 2)), (1, 1, 2, 3), (1,) * 4),
        Windows((1, 1, 3, 2), (1,) * 4, ((0, 0), (0, 0), (2, 2), (1, 0)), (1, 1, 2, 2), (1,) * 4),
        Windows((1, 1, 3, 2), (1,) * 4, ((0, 0), (0, 0), (0, 2), (1, -1)), (1, 1, 2, 2), (1,) * 4),
        Windows((1, 1, 3, 1), (1,) * 4, ((0, 0), (0, 0), (2, 2), (0, 0)), (1,) * 4, (1,) * 4),
    ],
)
def test_sums_of_windows_that_are_one_operation(at: Windows) -> None:
    x = np.random.default_rng(0).standard_normal((2, 5, 4, 3))
    agree(
        lambda x: windows.reduce_window(x, np.float64(0), "add", at),
        lambda x: jax.lax.reduce_window(
            x, 0.0, jax.lax.add, at.sizes, at.strides, at.padding, at.base_dilation, at.window_dilation
        ),
        x,
    )


def test_windows_are_reduced_by_any_function() -> None:
    x = np.random.default_rng(0).standard_normal((5, 6))
    at = Windows((2, 3), (1, 2), ((1, 0), (0, 1)), (1, 1), (1, 1))

    def combine(a, b):
        return a + b + a * b

    agree(
        lambda x: windows.reduce_window_by([x], [np.float64(0)], lambda a, b: [combine(a[0], b[0])], at)[0],
        lambda x: jax.lax.reduce_window(x, np.float64(0), combine, at.sizes, at.strides, at.padding),
        x,
        grad=False,
    )
    with pytest.raises(rlx.FrontendError, match="windows of 99 elements"):
        wide = Windows((99, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1))
        rlx.trace(lambda x: windows.reduce_window_by([x], [np.float64(0)], lambda a, b: a, wide)[0], np.ones((99, 2)))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint32])
def test_integers_are_divided_towards_zero(dtype: Any) -> None:
    info = np.iinfo(dtype)
    special = np.array([0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1, info.min // 2], dtype)
    if info.min:
        special = np.concatenate([special, np.array([-1, -2, -7], dtype)])
    x, y = (one.reshape(-1) for one in np.meshgrid(special, special))
    agree(numbers.truncating_divide, jax.lax.div, x, y, grad=False)
    agree(numbers.remainder, jax.lax.rem, x, y, grad=False)
    shifts = np.arange(x.size).astype(dtype) % np.array(70, dtype)
    for name in ("shift_left", "shift_right_logical", "shift_right_arithmetic"):
        agree(getattr(numbers, name), getattr(jax.lax, name), x, shifts, grad=False)


def test_clamp_passes_cotangents_strictly_inside() -> None:
    x = np.array([-3.0, -1.0, 0.5, 2.0, 4.0, -1.0])
    low, high = np.full(6, -1.0), np.array([2.0, 2, 2, 2, 2, -2])
    agree(numbers.clamp, jax.lax.clamp, low, x, high, wrt=(0, 1, 2))
    agree(lambda x: numbers.clamp(np.float64(-1), x, np.float64(2)), lambda x: jax.lax.clamp(-1.0, x, 2.0), x)
    agree(numbers.clamp, jax.lax.clamp, np.int32(-1), np.int32(x), np.int32(2), grad=False)


def test_rounding_has_no_derivative() -> None:
    x = np.array([-2.5, -1.5, -0.5, -0.2, 0.0, 0.49999999999999994, 0.5, 1.5, 2.5, 1e300, np.inf, -np.inf, np.nan])
    for ours, method in (
        (numbers.round_to_even, jax.lax.RoundingMethod.TO_NEAREST_EVEN),
        (numbers.round_away, jax.lax.RoundingMethod.AWAY_FROM_ZERO),
    ):
        agree(ours, lambda x, method=method: jax.lax.round(x, method), x, grad=False)
        agree(ours, lambda x, method=method: jax.lax.round(x, method), x[:9])


@pytest.mark.parametrize("dtype", ["i8", "i32", "i64", "u8", "u32"])
def test_floats_saturate_in_integers(dtype: str) -> None:
    x = np.array([0.5, -0.5, 1.9, -1.9, 1e3, -1e3, 3e9, -3e9, 1e19, -1e19, np.inf, -np.inf, np.nan])
    target = np.dtype(dtype.replace("u", "uint").replace("i", "int") if dtype[0] == "i" else "uint" + dtype[1:])
    agree(lambda x: cast(x, dtype), lambda x: jax.lax.convert_element_type(x, target), x, grad=False)
    expected = np.asarray(jax.lax.convert_element_type(x, target))
    np.testing.assert_array_equal(cast(x, dtype), expected)


def test_positions_of_extremes_take_the_first() -> None:
    x = np.array([[1.0, 3, 3, 2], [np.nan, 5, np.nan, 1], [-1, -2, -2, 0]])
    for ours, theirs in ((numbers.argmax, jax.lax.argmax), (numbers.argmin, jax.lax.argmin)):
        for axis in (0, 1):
            agree(
                lambda x, f=ours, a=axis: f(x, a, "i32"), lambda x, f=theirs, a=axis: f(x, a, np.int32), x, grad=False
            )


def test_contractions_are_computed_in_wider_types() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 2, 4)).astype(np.float32), rng.standard_normal((4, 3, 5)).astype(np.float32)
    dims = (((2,), (0,)), ((0,), (1,)))
    agree(
        lambda a, b: numbers.dot_general(a, b, *dims, "f64"),
        lambda a, b: jax.lax.dot_general(a, b, dims, preferred_element_type=np.float64),
        a,
        b,
        grad=False,
    )
    i, j = rng.integers(-99, 99, (2, 9)).astype(np.int8), rng.integers(-99, 99, (9, 2)).astype(np.int8)
    agree(
        lambda i, j: numbers.dot_general(i, j, ((1,), (0,)), dtype="i32"),
        lambda i, j: jax.lax.dot_general(i, j, (((1,), (0,)), ((), ())), preferred_element_type=np.int32),
        i,
        j,
        grad=False,
    )
