"""Small matrices that are factorised and solved side by side, against the same ones one by one, and against LAPACK.

Fewer than `MANY` matrices are handled one by one, so what a batch as a whole is compared with is that batch in parts.
"""

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace as Run

import numpy as np
import pytest
import scipy.linalg
from levels import EVERY
from xdsl.context import Context

import xdsl_rlx as rlx
from xdsl_rlx.builder import Graph
from xdsl_rlx.dialects.lir import CheckOp, LaunchOp
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module, lower_to_lir
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph
from xdsl_rlx.lowering.kernels.solve_lanes import FEWEST, MANY, MOST
from xdsl_rlx.lowering.loops.lir_check_bounds import LirCheckBoundsPass

BATCHES = (1, 7, 8, 15, 16, 17, 33)
PART = MANY - 1
IN_BOTH_TYPES = (1, 2, 3, 5, 8, MOST, MOST + 1)


def every_interchange(rng: np.random.Generator, n: int) -> np.ndarray:
    """The largest element of each step is in the last row that is left."""
    return np.roll(np.diag(1.0 + rng.permutation(n)), 1, rng.integers(2)) + rng.uniform(-0.1, 0.1, (n, n)) / n


def with_one(value: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    def made(rng: np.random.Generator, n: int) -> np.ndarray:
        a = rng.standard_normal((n, n))
        a[rng.integers(n), rng.integers(n)] = value
        return a

    return made


def without_a_row(rng: np.random.Generator, n: int) -> np.ndarray:
    a = rng.standard_normal((n, n))
    a[rng.integers(n), :] = 0
    a[:, rng.integers(n)] = 0
    return a


REGULAR: list[Callable[[np.random.Generator, int], np.ndarray]] = [
    every_interchange,
    lambda rng, n: np.diag(1.0 + rng.permutation(n))[::-1],
    lambda rng, n: np.linalg.qr(rng.standard_normal((n, n)))[0],
]
IRREGULAR: list[Callable[[np.random.Generator, int], np.ndarray]] = [
    lambda rng, n: rng.integers(-1, 2, (n, n)) * 1.0,  # equal magnitudes, and often singular
    lambda rng, n: np.outer(rng.integers(-3, 4, n), rng.integers(-3, 4, n)) * 1.0,
    lambda rng, n: np.zeros((n, n)),
    without_a_row,
    with_one(np.nan),
    with_one(-np.inf),
    with_one(np.inf),
]


def matrices(batch: int, n: int, dtype: str) -> np.ndarray:
    """All kinds by turns, beginning anywhere."""
    rng, kinds = np.random.default_rng(100 * n + batch), [*REGULAR, *IRREGULAR]
    return np.array([kinds[(n + i) % len(kinds)](rng, n) for i in range(batch)]).astype(dtype)


def regular(batch: int, n: int) -> list[int]:
    """Which of them have a solution."""
    return [i for i in range(batch) if (n + i) % len([*REGULAR, *IRREGULAR]) < len(REGULAR)]


def computed(g: Graph, a: Value, xs: list[Value], given: Value | None) -> list[Value]:
    """The factors, and all solves with them, or with other interchanges."""
    packed, pivots = g.lu(a)
    by = pivots if given is None else given
    return [packed, pivots, *(g.lu_solve(packed, by, x, flag) for x in xs for flag in (False, True))]


def solves(n: int, batch: int, dtype: str = "f32") -> Graph:
    g = Graph("solves")
    a, x = g.input("a", (batch, n, n), dtype), g.input("x", (batch, n), dtype)
    g.set_outputs(computed(g, a, [x], None))
    return g


def parts(batch: int) -> list[tuple[int, int]]:
    return [(i, min(PART, batch - i)) for i in range(0, batch, PART)]


@cache
def both(n: int, batch: int, columns: int, dtype: str, given: bool, effort: Effort) -> CompiledGraph:
    """All of a batch, and behind it all of its parts."""
    g = Graph("solves")
    a, x = g.input("a", (batch, n, n), dtype), g.input("x", (batch, n), dtype)
    xs = [x, g.input("xs", (batch, n, columns), dtype)] if columns else [x]
    steps = g.input("given", (batch, n), "i32") if given else None
    whole = computed(g, a, xs, steps)
    cut = [
        computed(
            g,
            g.narrow(a, 0, i, size),
            [g.narrow(x, 0, i, size) for x in xs],
            None if steps is None else g.narrow(steps, 0, i, size),
        )
        for i, size in parts(batch)
    ]
    joined = [g.concat(list(pieces), 0) for pieces in zip(*cut, strict=True)]
    g.set_outputs([*whole, *joined])
    return compile_module(g.module, 1, effort)


def run_both(n: int, batch: int, a: np.ndarray, given: np.ndarray | None = None, *, effort: Effort):
    columns, rng = n // 2 if n > 3 else 0, np.random.default_rng(n)
    dtype = "f32" if a.dtype == np.float32 else "f64"
    graph = both(n, batch, columns, dtype, given is not None, effort)
    arrays = {"a": a, "x": rng.standard_normal((batch, n)).astype(a.dtype)}
    if columns:
        arrays["xs"] = rng.standard_normal((batch, n, columns)).astype(a.dtype)
    if given is not None:
        arrays["given"] = given
    results = graph(**arrays)
    return results[: len(results) // 2], results[len(results) // 2 :], arrays


def rows_and_batches() -> list[tuple[int, int, str]]:
    """Each number of rows, the types and the batches by turns; those that are handled one by one for few."""
    chosen: list[tuple[int, int, str]] = []
    for n in range(1, MOST + 2):
        for turn, dtype in enumerate(("f32", "f64")):
            by_turns = [*(BATCHES[:2] if n == 5 else ()), BATCHES[2 + (n + 2 * turn) % 5]]
            if EVERY or n in IN_BOTH_TYPES or n % 2 == turn:
                chosen += [(n, batch, dtype) for batch in (BATCHES if EVERY else by_turns)]
    return chosen


@pytest.mark.parametrize(("n", "batch", "dtype"), rows_and_batches())
def test_blocks_are_what_single_matrices_are_bit_for_bit(run: Run, n: int, batch: int, dtype: str):
    """
    But for `a^-1 b` of one vector, which one by one is a sum of products: in another order than the rows are.

    Regular ones are what LAPACK computes as well.
    """
    effort = Effort.FULL if EVERY or (n in (3, 8, MOST) and batch > MANY) else Effort.QUICK
    a, rows = matrices(batch, n, f"{dtype[0]}{int(dtype[1:]) // 8}"), regular(batch, n)
    whole, single, arrays = run_both(n, batch, a, effort=effort)
    for number, (x, y) in enumerate(zip(whole, single, strict=True)):
        if number != 2:
            np.testing.assert_array_equal(run.bits(x), run.bits(y), err_msg=f"output {number}")
    packed, pivots, *solutions = whole
    tolerance = 1e-4 if dtype == "f32" else 1e-11
    for i in rows:
        matrix = a[i].astype(np.float64)
        factors, steps = scipy.linalg.lu_factor(matrix.T)
        np.testing.assert_array_equal(pivots[i], steps + 1)
        np.testing.assert_allclose(packed[i], factors.T, rtol=tolerance, atol=tolerance)
        for number, found in enumerate(solutions):
            b, turned = arrays["x" if number < 2 else "xs"][i], matrix.T if number % 2 else matrix
            np.testing.assert_allclose(found[i], np.linalg.solve(turned, b), rtol=tolerance, atol=10 * tolerance)


def test_every_step_interchanges():
    """What the tests above call so is so: the first row goes down step by step."""
    rng = np.random.default_rng(0)
    for n in range(FEWEST, MOST + 1):
        steps = [scipy.linalg.lu_factor(every_interchange(rng, n).T)[1] for _ in range(8)]
        assert any((step[:-1] > np.arange(n - 1)).all() for step in steps)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [4, MOST])
def test_whatever_the_pivots_are_rows_are_interchanged_as_one_by_one(run: Run, n: int, dtype: str):
    rng = np.random.default_rng(n)
    given = rng.integers(-1, n + 3, (17, n)).astype(np.int32)
    given[3, 0], given[4, 1] = 2**31 - 1, -(2**31)
    whole, single, _ = run_both(n, 17, matrices(17, n, dtype), given, effort=Effort.QUICK)
    for number, (x, y) in enumerate(zip(whole, single, strict=True)):
        if number != 2:
            np.testing.assert_array_equal(run.bits(x), run.bits(y))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_several_threads_give_the_same_bits(run: Run, dtype: str):
    n, batch = 12, 77
    a = matrices(batch, n, dtype)
    x = np.random.default_rng(0).standard_normal((batch, n)).astype(dtype)
    module = solves(n, batch, "f32" if dtype == "f4" else "f64").module
    assert all(op.chunk_count > 1 for op in lower_to_lir(module, 2).walk() if isinstance(op, LaunchOp))
    alone, several = (compile_module(module, threads, Effort.QUICK)(a=a, x=x) for threads in (1, 2))
    for x, y in zip(alone, several, strict=True):
        np.testing.assert_array_equal(run.bits(x), run.bits(y))


@pytest.mark.parametrize(("n", "batch", "blocks"), [(8, 64, 4), (8, 65, 5), (8, MANY, 1), (2, 64, 64), (17, 64, 64)])
def test_launches_are_over_blocks_of_small_matrices(n: int, batch: int, blocks: int):
    module = lower_to_lir(solves(n, batch).module, 1)
    assert [op.extent.value.data for op in module.walk() if isinstance(op, LaunchOp)] == [blocks] * 3


def test_many_right_hand_sides_are_solved_one_matrix_after_the_other():
    g = Graph("solve")
    a, pivots = g.input("a", (64, 8, 8)), g.input("pivots", (64, 8), "i32")
    g.set_outputs([g.lu_solve(a, pivots, g.input(f"b{k}", (64, 8, k))) for k in (4, 5)])
    module = lower_to_lir(g.module, 1)
    assert [op.extent.value.data for op in module.walk() if isinstance(op, LaunchOp)] == [4, 64]


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("batch", [16, 17])
@pytest.mark.parametrize("n", [FEWEST, 7, MOST])
def test_every_access_is_known_to_be_inside(n: int, batch: int, dtype: str):
    """The lanes behind the end of a batch as well."""
    module = lower_to_lir(solves(n, batch, dtype).module, 2)
    LirCheckBoundsPass().apply(Context(), module)
    assert not [op for op in module.walk() if isinstance(op, CheckOp)]


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_the_printed_loops_say_the_same(run: Run, dtype: str):
    """Machine code and plain Python, bit for bit."""
    a = matrices(9, 4, f"{dtype[0]}{int(dtype[1:]) // 8}")
    x = np.random.default_rng(0).standard_normal((9, 4)).astype(a.dtype)
    run.agree(lower_to_lir(solves(4, 9, dtype).module, 1), jit=False, a=a, x=x)


def test_a_loop_of_solves_becomes_a_kernel():
    """As a loop over small launches does: the scratch of a block is that of the kernel, for all iterations."""
    n, batch, times = 3, 9, 5

    def steps(length: int) -> rlx.Graph:
        g = rlx.Graph("steps")
        a, start = g.input("a", (batch, n, n), "f64"), g.input("x", (batch, n), "f64")

        def step(x: Value, _: object) -> tuple[Value, None]:
            matrix = a + g.reshape(x * x, (batch, 1, n))
            return g.batched_dense_solve(matrix, x), None

        x, _ = g.scan(step, start, length=length)
        g.set_outputs([x])
        return g

    launches = [
        op.kernel.string_value() for op in lower_to_lir(steps(times).module, 1).walk() if isinstance(op, LaunchOp)
    ]
    assert sum("_loop_" in name for name in launches) == 1 and not any(name.endswith("_lu") for name in launches)
    rng = np.random.default_rng(1)
    a, x = np.array([every_interchange(rng, n) for _ in range(batch)]), rng.standard_normal((batch, n))
    (found,) = rlx.compile(steps(times))(a=a, x=x)
    for _ in range(times):
        x = np.linalg.solve(a + (x * x)[:, None], x[..., None])[..., 0]
    np.testing.assert_allclose(found, x, rtol=1e-8)
