"""Nests as plain Python functions: what they are translated to computes what they compute as Python."""

import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import MemRefType, f32

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import BlockGemmOp, GemmOp
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir
from xdsl_rlx.lowering.kernel_dsl import (
    Array,
    Iteration,
    Nested,
    accumulate,
    accumulate_max,
    bitcast,
    cast,
    clamp,
    erf,
    fma,
    lanes,
    maximum,
    ndrange,
    nest,
    rolled,
    rsqrt,
    scratch,
    select,
    sigmoid,
    sqrt,
)
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel
from xdsl_rlx.lowering.kernel_dsl.language import numpy_type
from xdsl_rlx.lowering.kernel_dsl.syntax import tree_of
from xdsl_rlx.lowering.run_errors import KernelError

Function = Callable[..., None]
X = np.array([[3.0, -1.0, 2.0, 0.5], [0.0, np.nan, -inf, 7.0], [1.0, 1.0, 1.0, 1.0]], np.float32)


def compiled(function: Function, *inputs: Any, out: Any = None, iterations: int = 3, **options: Any) -> Any:
    """What the kernel of a nest gives, and that Python gives the same; the result is of the first input's shape."""
    like = inputs[0] if out is None else out
    name = f"test.{function.__name__}"
    shape = rlx.Shaped(
        like.shape, {"float32": "f32", "int64": "i64", "float64": "f64", "int32": "i32"}[like.dtype.name]
    )
    op = rlx.custom_op(name, kernel="nest", shape=lambda *_, **__: shape, iterations=iterations, replace=True)(function)
    g = rlx.Graph("f")
    values = [
        g.input(f"x{n}", x.shape, x.dtype.name) if x.ndim else g.input(f"x{n}", (), x.dtype.name)
        for n, x in enumerate(inputs)
    ]
    g.set_outputs([op(*values, **options)])
    (found,) = rlx.compile(g, threads=2)(*inputs)
    expected = np.zeros_like(like)
    with np.errstate(all="ignore"):
        for index in range(iterations):
            function(Iteration(np.int64(index)), *inputs, expected, **options)
    np.testing.assert_array_equal(found, expected)
    return found


def test_numbers_that_a_loop_carries_take_the_type_of_what_they_meet():
    def sums(it: Any, x: Any, y: Any) -> None:
        total, count, best = 0.0, 0, -inf
        for j in range(x.shape[1]):
            total = total + x[it.index, j]
            count += 1
            best = maximum(best, x[it.index, j])
            y[it.index, j] = total + best
        y[it.index, 0] = cast(count, "f32")

    assert compiled(sums, X)[2].tolist() == [4.0, 3.0, 4.0, 5.0]


def test_branches_choose_values_and_effects():
    def signs(it: Any, x: Any, y: Any) -> None:
        y[it.index] = 0.0
        for j in range(4):
            v = x[it.index, j]
            if v > 0.0:
                s = v * 2.0
            elif v < 0.0:
                s = v * 3.0
                y[it.index, 0] = 5.0
            else:
                s = 7.0
            if v != v:
                continue
            y[it.index, j] = s

    compiled(signs, X)


def test_loops_are_left_early():
    def first_above(it: Any, x: Any, y: Any) -> None:
        found = -1
        y[it.index] = 0.0
        for j in range(4):
            if x[it.index, j] > 1.5:
                found = j
                break
            y[it.index, j] = -1.0
        k = 0
        while k < 4 and x[it.index, k] != 2.0:
            k += 1
            if k == 3:
                break
        y[it.index, 3] = cast(found * 10 + k, "f32")

    assert compiled(first_above, X)[0, 3] == 2.0


def test_functions_are_inlined_and_return_early():
    def sign(v: Any) -> Any:
        if v > 0.0:
            return v
        if v != v:
            return v * 0.0 + 4.0
        return -v

    def apply(it: Any, x: Any, y: Any) -> None:
        def at(j: Any, scale: float = 2.0) -> Any:
            return sign(x[it.index, j]) * scale

        for j, f in zip(range(4), (at, at, at, lambda j: at(j, scale=3.0)), strict=True):
            y[it.index, j] = f(j)

    compiled(apply, X)


def test_what_is_known_is_decided_and_written_out():
    class Scheme:
        scales = (1.0, 2.0, 4.0)

    def scaled(it: Any, x: Any, y: Any, power: int) -> None:
        if power == 2:
            values = [x[it.index, j] * x[it.index, j] for j in range(4)]
        else:
            values = [x[it.index, j] for j in range(4)]
        for n, scale in enumerate(Scheme.scales):
            values = [v + scale for v in values]
            y[it.index, n] = sum(values)
        y[it.index, 3] = cast(power, "f32")

    compiled(scaled, X, power=2)
    compiled(scaled, X, power=1)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 130])
def test_ranges_of_any_length(n: int):
    x = np.arange(n, dtype=np.float64)

    def backwards(it: Any, x: Any, y: Any) -> None:
        last = 0.0
        for i in reversed(range(n)):
            last = last * 0.5 + x[i]
            y[i] = last
        for i in range(1, n, 3):
            y[i] += 1.0
        for i in rolled(range(n // 2)):
            y[i] *= 2.0
        for i in lanes(range(n // 4)):
            y[i] = fma(y[i], 0.5, x[i])

    compiled(backwards, x, iterations=1)


def test_integers_floor_and_mix():
    ids = np.array([-7, -1, 0, 3, 8], np.int64)

    def floors(it: Any, x: Any, y: Any) -> None:
        for i in range(5):
            v = x[i]
            y[i] = (v // 3) * 1000 + v % 3 + (i - 2) // 2 * 100 + clamp(v, 0, 4) * 10 + min(v, i) + (v >> 1 & 3)

    compiled(floors, ids, iterations=1)


def test_functions_of_numbers_that_are_known_give_numbers():
    def shifted(it: Any, x: Any, y: Any, low: int) -> None:
        at = clamp(low, 0, 2)
        y[it.index] = x[it.index, at] * np.maximum(low, 1.5) + sqrt(4.0)

    for low in (-1, 5):
        compiled(shifted, X, out=np.zeros(3, np.float32), low=low)


def test_a_window_of_nothing_is_no_loop():
    def cleared(it: Any, x: Any, y: Any, count: int) -> None:
        y[it.index] = x[it.index]
        y[it.index, :count] = 0.0

    for count in (0, 2):
        compiled(cleared, X, count=count)
    kernel = emitted(Nested(cleared, {"count": 0}), (3, 4), (3, 4))
    assert str(kernel.finish()).count("scf.for") == 1


def test_windows_are_filled_copied_and_multiplied():
    a = np.arange(12, dtype=np.float64).reshape(3, 4)
    b = np.arange(20, dtype=np.float64).reshape(4, 5) - 7

    def products(it: Any, a: Any, b: Any, y: Any) -> None:
        room = scratch((3, 4), "f64")
        room[...] = 1.0
        room[1] = a[2]
        y[0:2] = a[0:2] @ b
        y[2:3, :] = room[1:2, 0:4] @ b[0:4, :]
        y[0:2, 0:3] += a[0:2, :] @ a[:, 0:4].T

    def into_a_transposed_window(it: Any, a: Any, b: Any, y: Any) -> None:
        y[...] = 1.0
        y[1:3, 0:5].T[...] += b[0:4, :].T @ a[1:3, :].T

    for function in (products, into_a_transposed_window):
        compiled(function, a, b, out=np.zeros((3, 5)), iterations=1)


def test_windows_are_taken_apart_and_set_to_values():
    def turned(it: Any, x: Any, y: Any) -> None:
        first, *rest = x[it.index]
        y[it.index] = [*rest, first]

    def lines(it: Any, x: Any, y: Any) -> None:
        y[:2] = [[a + 1.0 for a in line] for line in x[1:]]
        y[2] = (x[0, 0], 2.0, *x[0, :2])

    def summed(it: Any, x: Any, y: Any) -> None:
        y[it.index] = x[it.index]
        for n, (a, b) in enumerate(zip(y[it.index, :3], x[0, 1:], strict=True)):
            y[it.index, n + 1] = a + b

    for function in (turned, lines, summed):
        compiled(function, X, iterations=1 if function is lines else 3)


def test_several_loops_at_once_and_unravelled_iterations():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

    def turned(it: Any, x: Any, y: Any) -> None:
        i, j = it.unravel(2, 3)
        total = 0.0
        for k, m in ndrange(4, 2):
            total = accumulate(total, x[i, j, k] * cast(m, "f32"))
        largest = x[i, j, 0]
        for k in range(4):
            largest = accumulate_max(largest, -x[i, j, k])
        for k in range(4):
            y[i, j, k] = select(x[i, j, k] > total, total, x[i, j, k]) if j > 0 else total + largest

    compiled(turned, x, iterations=6)


def test_a_choice_reads_only_where_it_is_taken():
    def guarded(it: Any, x: Any, y: Any) -> None:
        for j in range(4):
            y[it.index, j] = x[it.index, j + 1] if j + 1 < 4 and x[it.index, j + 1] > 0.0 else cast(-1.0, "f32")

    compiled(guarded, X)


REFUSED: list[tuple[str, str, str]] = [
    ("y[0] = x[0] ** 2.0", "this operator is not supported", "np.power"),
    ("for i in range(3):\n        y[0] = x[0] + i", "an integer and a float are mixed", "cast"),
    ("y[0] = min(x[0], x[1])", "min is not supported for floats", "np.minimum"),
    ("y[0] = x[5]", "index 5 is outside of the extent 4", ""),
    ("y[0] = x[0, None]", "2 indices for 1 dimensions", ""),
    ("y[0] = x[None]", "expected an integer as index, got None", ""),
    ("y[0] = x", "dimensions are copied", ""),
    ("y[0] = x + 1.0", "a window", "index it"),
    ("for v in x:\n        y[0] = v", "expected a loop over a range", ""),
    ("with x:\n        pass", "outside of the supported subset", ""),
    ("y[0] = {1: 2}[1]", "outside of the supported subset", ""),
    ("y[0] = later", "later is not assigned here", ""),
    ("for i in range(3):\n        t = x[i]\n    y[0] = t", "t is not assigned here", "in a loop"),
    ("for i in range(3):\n        return", "cannot return from inside of a loop", "break"),
    ("y[0] = str(x[0])", "str is not supported in kernels", "docs/custom-ops.md"),
    ("y[0] = 1 // 0", "ZeroDivisionError", ""),
    ("t = 0.0\n    for i in range(3):\n        t = t + 1.0\n    y[0] = t", "needs a type", "cast"),
    ("t = x[0]\n    for i in range(3):\n        t = i\n    y[0] = t", "cast it", ""),
    ("a, b = x[0]\n    y[0] = a", "to unpack", ""),
    ("for i in range(3):\n        a, b = x[:i]", "the length of a window", "a loop over its range"),
    ("y[:3] = [x[0], 1.0]", "2 values are set in a window of extents (3,)", ""),
    ("y.shape = 3", "assign", ""),
    ("for i in range(2):\n        y[0] = (1.0, x[0])[i]", "must be known at compile time", "scratch"),
    ("y[0] = 1.0 if x[0] > 0.0 else 2.0", "no type", "cast"),
    ("lost(x)", "lost is not assigned here", ""),
]


@pytest.mark.parametrize(("body", "what", "cure"), REFUSED, ids=[x[0].split("\n")[0] for x in REFUSED])
def test_what_is_outside_of_the_subset_is_an_error_with_line_and_cure(body: str, what: str, cure: str, tmp_path: Any):
    source = f"def refused(it, x, y):\n    {body}\n"
    path = tmp_path / "refused.py"
    path.write_text(source)
    names: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), names)
    op = rlx.custom_op("test.refused", kernel="nest", shape=lambda x: x, replace=True)(names["refused"])
    g = rlx.Graph("f")
    g.set_outputs([op(g.input("x", (4,)))])
    with pytest.raises(KernelError, match=r"refused\.py:\d+: `") as raised:
        rlx.compile(g)
    assert what in str(raised.value)
    assert cure in str(raised.value)


def test_a_function_without_source_is_an_error_that_says_so():
    names: dict[str, Any] = {}
    exec("def hidden(it, x, y):\n    y[0] = x[0]\n", names)
    op = rlx.custom_op("test.hidden", kernel="nest", shape=lambda x: x, replace=True)(names["hidden"])
    g = rlx.Graph("f")
    g.set_outputs([op(g.input("x", (4,)))])
    with pytest.raises(KernelError, match="hidden has no source text"):
        rlx.compile(g)


def test_the_arguments_have_to_fit():
    op = rlx.custom_op("test.few", kernel="nest", shape=lambda x: x, replace=True)(nest(lambda it: None).function)
    g = rlx.Graph("f")
    g.set_outputs([op(g.input("x", (4,)))])
    with pytest.raises(KernelError):
        rlx.compile(g)


DTYPES = ["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "u32", "i1"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_element_type(dtype: str):
    """A copy keeps the bits; what is added is added in the type that the package computes in."""
    name = numpy_type(dtype)
    x = np.array([0, 1, 1, 0, 1, 1, 1], name) if dtype == "i1" else np.array([0, 1, 2, 100, 3, 127, 7], name)

    def copied(it: Any, x: Any, y: Any, n: Any) -> None:
        for i in range(7):
            y[i] = x[i]
            n[0] = n[0] + cast(x[i], "i64") if i > 0 else cast(x[i], "i64")

    shapes = [rlx.Shaped((7,), dtype), rlx.Shaped((1,), "i64")]
    op = rlx.custom_op("test.copied", kernel="nest", shape=lambda _: shapes, version=dtype, replace=True)(copied)
    g = rlx.Graph("f")
    g.set_outputs(list(op(g.input("x", (7,), dtype))))
    y, n = rlx.compile(g)(x)
    np.testing.assert_array_equal(y, x)
    assert n[0] == int(x.astype(np.int64).sum())


def test_arithmetic_on_unsigned_integers_asks_for_a_cast():
    def added(it: Any, x: Any, y: Any) -> None:
        y[0] = x[0] + x[1]

    op = rlx.custom_op("test.unsigned", kernel="nest", shape=lambda x: x, replace=True)(added)
    g = rlx.Graph("f")
    g.set_outputs([op(g.input("x", (2,), "u8"))])
    with pytest.raises(KernelError, match=r"unsigned integers; write cast\(x, i32\)"):
        rlx.compile(g)


def test_arrays_of_rank_0_and_without_elements():
    def least(it: Any, x: Any, s: Any, y: Any) -> None:
        y[()] = s[()] * 2.0
        for i in range(x.shape[0]):
            y[()] += x[i]

    for n in (0, 1, 3):
        x, s = np.arange(n, dtype=np.float32), np.array(5.0, np.float32)
        assert compiled(least, x, s, out=s, iterations=1) == 10 + x.sum()


@pytest.mark.parametrize("at", [-5, 4, 1 << 40])
def test_an_index_outside_of_an_array_is_found_where_that_is_asked_for(at: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")

    def take(it: Any, table: Any, ids: Any, y: Any) -> None:
        for i in range(3):
            y[i] = table[ids[i]]

    op = rlx.custom_op("test.take", kernel="nest", shape=lambda table, ids: rlx.Shaped((3,), "f32"), replace=True)(take)
    g = rlx.Graph("f")
    g.set_outputs([op(g.input("table", (4,)), g.input("ids", (3,), "i64"))])
    call = rlx.compile(g)
    table = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(call(table, np.array([3, 0, 1]))[0], [3, 0, 1])
    with pytest.raises(rlx.OutOfBoundsError, match=r"dimension 0 of %table"):
        call(table, np.array([0, at, 1]))


def test_a_kernel_is_compiled_anew_when_its_version_changes():
    def of(factor: float, version: str) -> float:
        def scaled(it: Any, x: Any, y: Any) -> None:
            y[0] = x[0] * factor

        op = rlx.custom_op("test.scaled", kernel="nest", shape=lambda x: x, version=version, replace=True)(scaled)
        g = rlx.Graph("f")
        g.set_outputs([op(g.input("x", (1,)))])
        return float(rlx.compile(g)(np.ones(1, np.float32))[0][0])

    assert (of(2.0, "1"), of(3.0, "2")) == (2.0, 3.0)


def test_known_ranges_go_down_in_loops():
    def suffix_sums(it: Any, x: Any, y: Any) -> None:
        total = cast(0, "f32")
        for j in range(y.shape[0])[::-1]:
            total += x[j]
            y[j] = total
        for j in range(y.shape[0] - 2, 0, -2):
            y[j] = y[j] * 10.0 + y[j + 1]

    x = np.arange(9.0, dtype=np.float32)
    assert compiled(suffix_sums, x, iterations=1).tolist() == [36, 395, 35, 360, 30, 281, 21, 158, 8]


def test_a_choice_of_known_integers_is_an_index():
    def chosen(it: Any, x: Any, y: Any) -> None:
        for j in range(x.shape[0]):
            at = select(x[j] > 0.0, 2, 1)
            y[j] = x[at]

    assert compiled(chosen, np.array([3.0, -1.0, 2.0], np.float32), iterations=1).tolist() == [2.0, -1.0, 2.0]


@dataclass(frozen=True)
class Pair:
    """A value with operators of its own."""

    a: Any
    b: Any

    def __add__(self, other: "Pair") -> "Pair":
        return Pair(self.a + other.a, self.b + other.b)

    def __mul__(self, other: "Pair") -> "Pair":
        return Pair(self.a * other.a - self.b * other.b, self.a * other.b + self.b * other.a)


def test_values_have_operators_of_their_own():
    def squares(it: Any, x: Any, y: Any) -> None:
        for j in range(0, x.shape[0], 2):
            z = Pair(x[j], x[j + 1])
            z = z * z + Pair(1.0, 2.0)
            y[j], y[j + 1] = z.a, z.b

    assert compiled(squares, np.array([3.0, -1.0, 2.0, 1.0], np.float32), iterations=1).tolist() == [9, -4, 4, 6]


def test_closures_of_one_function_are_read_once_and_are_not_kept():
    def made(n: list[int]) -> Any:
        @nest
        def closure(it: Any, x: Any) -> None:
            x[it.index] = len(n)

        return closure

    first, second = made([1]), made([2])
    assert tree_of(first.function) is tree_of(second.function)
    gone = weakref.ref(first.function)
    del first
    gc.collect()
    assert gone() is None


def test_indices_that_a_function_gives_are_loops():
    """What is known now may choose between loops and what is written out."""

    def taps(rows: int, columns: int) -> Any:
        return ndrange(rows, columns) if rows * columns > 4 else ((0, 0), (0, 1))

    def turned(it: Any, x: Any, y: Any) -> None:
        for i, j in taps(3, 4):
            y[i, j] = x[i, 3 - j]
        for i, j in taps(2, 2):
            y[i, j] = y[i, j] + 1.0

    found = compiled(turned, X, iterations=1)
    np.testing.assert_array_equal(found[0], [1.5, 3.0, -1.0, 3.0])


def emitted(nested: Nested, *shapes: tuple[int, ...]) -> Kernel:
    """One iteration on buffers of f32."""
    kernel = Kernel([MemRefType(f32, shape) for shape in shapes], [None] * len(shapes))
    nested.emit(kernel.entry, kernel.block.args[-2], kernel.block.args[-1], kernel.block.args[:-2])
    return kernel


@dataclass(frozen=True)
class Turned:
    """A matrix that is indexed the other way round."""

    room: Array

    def __getitem__(self, at: tuple[Any, Any]) -> Any:
        i, j = at
        return self.room[j, i]

    def __setitem__(self, at: tuple[Any, Any], value: Any) -> None:
        i, j = at
        self.room[j, i] = value


def test_objects_are_indexed_by_methods_of_their_own():
    def turn(it: Any, x: Any, y: Any) -> None:
        room = Turned(scratch((4, 3), "f32"))
        for i, j in ndrange(3, 4):
            room[i, j] = x[i, j]
        for i, j in ndrange(3, 4):
            y[i, j] = room[i, j] - room.room[j, 0]

    compiled(turn, X, iterations=1)


def test_a_range_that_goes_down_can_be_rolled():
    def running(it: Any, x: Any, y: Any) -> None:
        total = 0.0
        for j in rolled(reversed(range(4))):
            total = total * 0.5 + x[it.index, j]
            y[it.index, j] = total

    compiled(running, X)


def test_a_range_of_the_inner_dimension_is_that_of_the_product():
    @nest
    def part(it: Iteration, a: Array, b: Array, c: Array) -> None:
        first, last = it.index, it.piece
        c[2:4, :7] = a[2:4, first:last] @ b[first:last, :7]

    kernel = emitted(part, (6, 5), (5, 8), (6, 8))
    (op,) = [op for op in kernel.block.ops if isinstance(op, GemmOp)]
    assert (op.inner_lo, op.inner_hi) == tuple(kernel.block.args[-2:])
    assert [x.name_hint for x in (op.row_lo, op.row_hi, op.col_lo, op.col_hi)] == ["c2", "c4", "c0", "c7"]


def test_ranges_that_differ_are_those_of_a_block():
    @nest
    def corner(it: Iteration, a: Array, b: Array, c: Array) -> None:
        first, last = it.index, it.piece
        c[:4, :7] = a[:4, : last - first] @ b[first:last, :7]

    kernel = emitted(corner, (6, 5), (5, 8), (6, 8))
    assert any(isinstance(op, BlockGemmOp) for op in kernel.block.ops)


def test_an_unsigned_element_is_read_by_one_cast():
    """A loop of many is as long as it looks, which decides how far it is unrolled."""

    def widened(it: Any, x: Any, y: Any) -> None:
        y[0] = cast(x[0], "i32") * 2

    doubled = rlx.custom_op("test.widened", kernel="nest", shape=lambda x: rlx.Shaped((1,), "i32"), replace=True)
    g = rlx.Graph("f")
    g.set_outputs([doubled(widened)(g.input("x", (1,), "u8"))])
    assert str(lower_to_lir(g.module)).count("builtin.unrealized_conversion_cast") == 1
    assert rlx.compile(g)(np.array([200], np.uint8))[0] == 400


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_functions_of_the_docs_are_those_of_numpy(dtype: type[Any]):
    x = np.array([0.3, 1.7, 2.5, 0.9], dtype)

    def all_of_them(it: Any, x: Any, y: Any) -> None:
        for j in range(4):
            v = x[j]
            first = (np.exp(v), np.exp2(v), np.expm1(v), np.log(v), np.log2(v), np.log1p(v), np.sqrt(v), np.sin(v))
            second = (np.cos(v), np.tan(v), np.arctan(v), np.tanh(v), np.floor(v), np.ceil(v), np.trunc(v), np.rint(v))
            third = (np.abs(-v), np.maximum(v, 1.0), np.minimum(v, 1.0), np.where(v > 1.0, v, 2.0), np.power(v, 1.5))
            fourth = (np.copysign(v, -1.0), abs(-v), rsqrt(v), sigmoid(v), erf(v), fma(v, 2.0, 1.0))
            for n, value in enumerate((*first, *second, *third, *fourth)):
                y[n, j] = value
            y[27, j] = cast(np.isnan(v), "f32") + bitcast(bitcast(v, bits), dtype)
            y[28, j] = cast(np.int64(v) + max(j, 2) - min(j, 2) + sum((j, 1)), dtype)
            room = np.empty((2,), dtype)
            room[0], room[1] = v, clamp(v, 0.5, 2.0)
            y[29, j] = room[0] * room[1]

    bits, name = ("i32", "f32") if dtype is np.float32 else ("i64", "f64")
    op = rlx.custom_op("test.all", kernel="nest", shape=lambda x: rlx.Shaped((30, 4), name), replace=True)(all_of_them)
    g = rlx.Graph("f")
    g.set_outputs([op(g.input("x", (4,), name))])
    (found,) = rlx.compile(g)(x)
    expected = np.zeros((30, 4), dtype)
    all_of_them(Iteration(np.int64(0)), x, expected)
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps)
