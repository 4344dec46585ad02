"""Matrix products as loops over tiles, against NumPy in float64: sizes, edges of tiles, pieces, strides, sums into."""

import random
from typing import Any, cast

import numpy as np
import pytest
import wide_registers
from levels import EVERY
from tile_cases import Case, text_of
from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, f32, f64

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import CheckOp, GemmOp, PrefetchOp
from xdsl_rlx.dialects.lir.kernel import LANES, UNROLL
from xdsl_rlx.dialects.lir.memory import memref_of
from xdsl_rlx.lowering.backend.machine import cpu
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import Backend, compile_module
from xdsl_rlx.lowering.loops.lir_check_bounds import LirCheckBoundsPass
from xdsl_rlx.lowering.loops.lir_mark_unrolled import LirMarkUnrolledPass
from xdsl_rlx.lowering.pass_costs import with_costs
from xdsl_rlx.lowering.target import Target, TileCosts
from xdsl_rlx.lowering.tile_blocks.tile_sizes import TileSize, best_tile, vectors_of_panel
from xdsl_rlx.lowering.tiles.lir_tile_matmuls import (
    LirTileMatmulsPass,
)

AVX2 = TileCosts()
PROCESSORS = (TileCosts(lanes=4, registers=16), AVX2, TileCosts(lanes=16, registers=32))
ROWS, LOOPED_ROWS, WIDE_ROWS = AVX2.max_tiled_rows, AVX2.max_looped_rows, AVX2.max_wide_rows
DEEP, COLUMNS, COPIED = AVX2.min_deep_terms, AVX2.min_deep_columns, AVX2.max_copied_rhs_elements
SOME = (0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 24, 31, 33, 48, 64)
SIZES = tuple(range(131)) if EVERY else SOME
DEPTHS = (0, 1, 2, 7, 33, 40, 400)


def some_cases(seed: int, count: int) -> list[Case]:
    rng = random.Random(seed)
    found: list[Case] = []
    for _ in range(count):
        rows, columns, depth = rng.choice([n for n in SIZES if n <= LOOPED_ROWS]), rng.choice(SIZES), rng.choice(DEPTHS)
        chunk = rng.choice((max(rows, 1), max(rows // 2, 1), 5))
        transposed = rng.random() < 0.3 and depth * columns <= COPIED
        accumulate, across = rng.random() < 0.3, rng.random() < 0.3
        found.append(Case(rows, depth, columns, chunk, transposed, accumulate, across))
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("costs", PROCESSORS, ids=["sse", "avx2", "avx512"])
@pytest.mark.parametrize("effort", [Effort.QUICK, Effort.FULL])
def test_products_of_any_size(element: str, costs: TileCosts, effort: Effort):
    count = (20 if effort is Effort.QUICK else 4) * (30 if EVERY else 1)
    cases = some_cases(costs.lanes + int(element[1:]), count)
    module = rlx.parse(text_of(cases, element))
    with_costs(LirTileMatmulsPass, costs).apply(Context(), module)
    LirMarkUnrolledPass().apply(Context(), module)
    assert not any(isinstance(op, GemmOp) for op in module.walk())
    LirCheckBoundsPass().apply(Context(), module)
    module.verify()
    check(module, cases, np.dtype({"f32": np.float32, "f64": np.float64}[element]), effort)


def check(module: ModuleOp, cases: list[Case], dtype: np.dtype[Any], effort: Effort) -> None:
    """The results of all cases, of random numbers."""
    rng = np.random.default_rng(0)
    values: dict[str, np.ndarray] = {}
    for n, case in enumerate(cases):
        right = (case.columns, case.depth) if case.transposed else (case.depth, case.columns)
        left = (case.depth, case.rows) if case.across else (case.rows, case.depth)
        values[f"a{n}"] = rng.standard_normal(left).astype(dtype)
        values[f"b{n}"] = rng.standard_normal(right).astype(dtype)
    results = compile_module(module, 2, effort)(**values)
    for n, (case, found) in enumerate(zip(cases, results, strict=True)):
        left = values[f"a{n}"].T if case.across else values[f"a{n}"]
        expected = case.expected(left, values[f"b{n}"])
        np.testing.assert_allclose(found, expected, rtol=0, atol=400 * np.finfo(dtype).eps * 8, err_msg=str(case))


LARGE = [
    Case(1024, 40, 70, 1024, False, False),
    Case(1100, 300, 40, 1100, False, True),
    Case(2100, 33, 100, 1050, True, False),
    Case(64, 400, 70, 64, True, True),
    Case(33, 700, 130, 33, True, False),
    Case(24, 700, 130, 8, True, False),
    Case(96, 384, 513, 96, False, False),
    Case(67, 700, 130, 67, False, False, True),
    Case(64, 300, 512, 32, False, True, True),
    Case(500, 90, 140, 500, False, False, True),
    Case(40, 300, 300, 40, True, False, True),
    Case(256, 40, 48, 256, False, False),
    Case(250, 700, 64, 250, False, True),
    Case(260, 700, 70, 260, False, False, True),
    Case(254, 512, 64, 254, True, True, True),
]
"""Blocks of rows, panels that are copied, and left factors too, of both layouts, in one part and several; with tiles of
six rows, the last one begins in the one before it."""


@pytest.mark.parametrize(
    ("costs", "effort"),
    [(AVX2, Effort.FULL), (PROCESSORS[-1], Effort.QUICK), (PROCESSORS[-1], Effort.FULL)],
    ids=["avx2", "avx512-quick", "avx512"],
)
def test_large_products(costs: TileCosts, effort: Effort):
    module = rlx.parse(text_of(LARGE, "f32"))
    with_costs(LirTileMatmulsPass, costs).apply(Context(), module)
    LirMarkUnrolledPass().apply(Context(), module)
    assert not any(isinstance(op, GemmOp) for op in module.walk())
    LirCheckBoundsPass().apply(Context(), module)
    module.verify()
    check(module, LARGE, np.dtype(np.float32), effort)


def test_rows_do_not_depend_on_their_tile():
    graph = rlx.Graph("p")
    graph.set_outputs(graph.input("x", (96, 256)) @ graph.input("w", (256, 128)))
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((96, 256), np.float32), rng.standard_normal((256, 128), np.float32)
    alone, shared = (compile_module(wide_registers.lowered(graph, threads), threads) for threads in (1, 2))
    (one,), (two,) = alone(x, w), shared(x, w)
    assert np.array_equal(one, two)
    assert np.array_equal(alone(x[::-1], w)[0], one[::-1])


@pytest.mark.parametrize("extents", [(40, 32), (32, 40)])
def test_a_kernel_launched_for_uneven_pieces_too(extents: tuple[int, int]):
    """Pieces of 16 rows twice, and once more with one of 8 behind: more would be behind the end of the result."""
    case = Case(40, 33, 16, 16, False, False)
    text = text_of([case], "f32")
    line = next(line for line in text.splitlines() if "@k0 over" in line)
    twice = "\n".join(line.replace("over 40", f"over {extent}") for extent in extents)
    module = rlx.parse(text.replace(line, twice))
    LirTileMatmulsPass(lanes=16, registers=32).apply(Context(), module)
    LirMarkUnrolledPass().apply(Context(), module)
    assert not any(isinstance(op, GemmOp) for op in module.walk())
    LirCheckBoundsPass().apply(Context(), module)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((40, 33), np.float32), rng.standard_normal((33, 16), np.float32)
    (found,) = compile_module(module, 1, Effort.QUICK)(a, b)
    np.testing.assert_allclose(found, case.expected(a, b), rtol=0, atol=1e-5)


def test_digits_of_long_sums():
    """One long sum in f32 would be off by 1.4e-4."""
    case = Case(16, 100_000, 16, 16, False, False)
    module = rlx.parse(text_of([case], "f32"))
    LirTileMatmulsPass(lanes=16, registers=32).apply(Context(), module)
    LirMarkUnrolledPass().apply(Context(), module)
    a, b = np.full((16, 100_000), 0.1, np.float32), np.ones((100_000, 16), np.float32)
    (found,) = compile_module(module, 1, Effort.QUICK)(a, b)
    np.testing.assert_allclose(found, 100_000 * float(a[0, 0]), rtol=1e-5)


def test_not_finite_where_numpy_is_not():
    graph = rlx.Graph("p")
    graph.set_outputs(graph.input("x", (16, 128)) @ graph.input("w", (128, 520)))
    x, w = np.zeros((16, 128), np.float32), np.ones((128, 520), np.float32)
    x[3, 5], x[4, 6], w[7, 519], w[9, 0] = np.nan, np.inf, np.inf, np.nan
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(rlx.compile(graph)(x, w)[0], x @ w)


SHORT = [
    Case(1, 8, 8, 1, False, False),
    Case(1, 300, 8, 1, False, True),
    Case(2, 34, 12, 2, False, False, True),
    Case(3, 300, 16, 3, False, False),
    Case(3, 301, 16, 3, False, False),
    Case(1, 512, 32, 1, False, False),
]
"""Tiles of few sums, each of which is added up in several where the terms are so many times that."""


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_few_sums_are_added_up_side_by_side(element: str):
    module = rlx.parse(text_of(SHORT, element))
    LirTileMatmulsPass(lanes=16, registers=32).apply(Context(), module)
    LirMarkUnrolledPass().apply(Context(), module)
    sums = [memref_of(op.memref).get_shape() for op in module.walk() if isinstance(op, memref.AllocaOp)]
    assert [shape[0] for shape in sums] == [4, 4, 4, 6, 3, 1] if element == "f32" else len(sums) == len(SHORT)
    LirCheckBoundsPass().apply(Context(), module)
    module.verify()
    check(module, SHORT, np.dtype({"f32": np.float32, "f64": np.float64}[element]), Effort.FULL)


def once(case: Case) -> ModuleOp:
    """A program that computes one case, not in a loop."""
    text = text_of([case], "f32").replace("lir.loop %t = 0 to 2 {\n", "")
    return rlx.parse(text.replace("\n}\n}\nlir.kernel", "\n}\nlir.kernel", 1))


@pytest.mark.parametrize(("rows", "backend"), [(32, "llvm"), (32, "numba"), (60, "llvm")])
def test_a_far_right_factor_is_fetched_ahead(rows: int, backend: str):
    """Of 60 rows in pieces of 32 and 28, the number of tiles is not known: bounds are checked as it runs."""
    case = Case(rows, 550, 513, 32, False, False, True)
    module = once(case)
    LirTileMatmulsPass(lanes=16, registers=32, min_called_terms=10_000).apply(Context(), module)
    LirMarkUnrolledPass().apply(Context(), module)
    fetched = [op for op in module.walk() if isinstance(op, PrefetchOp)]
    assert len(fetched) == 2 + 1, "both vectors of whole panels, one of the last"
    around = {id(loop): loop for op in fetched if (loop := op.parent_op()) is not None}
    assert not any(isinstance(op, memref.LoadOp) for loop in around.values() for op in loop.walk()), "not at each step"
    LirCheckBoundsPass().apply(Context(), module)
    assert any(isinstance(op, CheckOp) for op in module.walk()) == (rows > case.chunk)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((550, rows), np.float32), rng.standard_normal((550, 513), np.float32)
    (found,) = compile_module(module, 1, Effort.FULL, Backend(backend))(a, b)
    np.testing.assert_allclose(found, case.expected(a.T, b), rtol=0, atol=1e-4)


def test_a_near_right_factor_is_not_fetched():
    module = once(Case(32, 120, 513, 32, False, False))
    LirTileMatmulsPass(lanes=16, registers=32).apply(Context(), module)
    LirMarkUnrolledPass().apply(Context(), module)
    assert not any(isinstance(op, PrefetchOp | GemmOp) for op in module.walk())


def gemms(case: Case, repeated: bool, costs: TileCosts = PROCESSORS[0]) -> int:
    """How many calls of the library stay in a program of one case."""
    module = rlx.parse(text_of([case], "f32")) if repeated else once(case)
    with_costs(LirTileMatmulsPass, costs).apply(Context(), module)
    LirMarkUnrolledPass().apply(Context(), module)
    return sum(isinstance(op, GemmOp) for op in module.walk())


@pytest.mark.parametrize(
    ("case", "repeated", "expected"),
    [
        (Case(16, 128, 513, 16, False, False), False, 0),
        # libraries do not pack factors of so few numbers
        (Case(16, 128, 488, 16, False, False), False, 1),
        (Case(16, 128, 488, 16, False, False), True, 0),
        (Case(ROWS + 1, 128, 513, ROWS + 1, False, False), False, 1),
        (Case(LOOPED_ROWS, 128, 256, LOOPED_ROWS, False, False), True, 0),
        (Case(LOOPED_ROWS + 1, 128, 256, LOOPED_ROWS + 1, False, False), True, 1),
        # of many rows, each piece has few
        (Case(2 * ROWS, 128, 513, ROWS, False, False), False, 0),
        # the right factor is larger than a cache
        (Case(16, 512, 513, 16, False, False), False, 1),
        (Case(16, COPIED // 16, 16, 16, True, False), True, 0),
        (Case(16, COPIED // 16 + 1, 16, 16, True, False), True, 1),
        (Case(16, 128, 513, 16, True, False), False, 1),
        # few of everything but terms
        (Case(8, DEEP, 8, 8, False, False), False, 0),
        (Case(8, DEEP, 8, 8, False, False, True), False, 0),
        (Case(8, DEEP - 1, 8, 8, False, False), False, 1),
        (Case(ROWS, DEEP, ROWS, ROWS, False, False), False, 0),
        (Case(ROWS + 1, DEEP, ROWS, ROWS + 1, False, False), False, 1),
        (Case(8, DEEP, COLUMNS - 1, 8, False, False), False, 1),
        (Case(8, DEEP, 8, 8, True, False), False, 1),
    ],
)
def test_which_products_become_loops(case: Case, repeated: bool, expected: int):
    assert gemms(case, repeated) == expected


def test_with_many_registers_rows_may_be_many():
    few, more, near = (
        Case(rows, depth, 512, rows, False, False)
        for rows, depth in ((WIDE_ROWS, 4096), (WIDE_ROWS + 1, 4096), (4096, 128))
    )
    for costs, loops in zip(PROCESSORS, (False, True, True), strict=True):
        expected = [0, 1, 0] if loops else [1, 1, 1]
        assert [gemms(case, False, costs) for case in (few, more, near)] == expected
    halves = TileCosts(lanes=16, registers=16)
    assert [gemms(case, False, halves) for case in (few, more, near)] == [1, 1, 1]


@pytest.mark.sampled
@pytest.mark.parametrize("costs", PROCESSORS)
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_sums_of_a_tile_fit_into_registers_and_are_written_out(costs: TileCosts, element: str):
    module = rlx.parse(text_of([Case(16, 40, 64, 16, False, False)], element))
    with_costs(LirTileMatmulsPass, costs).apply(Context(), module)
    LirMarkUnrolledPass().apply(Context(), module)
    lanes = costs.lanes // (2 if element == "f64" else 1)
    for rows in SIZES:
        for columns in SIZES:
            tile = best_tile(rows, columns, costs, f64 if element == "f64" else f32)
            assert tile.rows * tile.columns // lanes < costs.registers
    marked = [op for op in module.walk() if LANES in op.attributes]
    assert marked and all(cast("IntegerAttr[Any]", op.attributes[UNROLL]).value.data > 1 for op in marked)
    around = [op.parent_op() for op in marked]
    assert all(op is not None and UNROLL in op.attributes for op in around)


def test_tiles_load_less_where_loads_count():
    one, two = (TileCosts(lanes=16, registers=32, multiplications_at_once=n) for n in (1, 2))
    assert (vectors_of_panel(512, one, f32), vectors_of_panel(512, two, f32)) == (2, 3)
    found = [best_tile(512, 480, costs, f32, vectors_of_panel(512, costs, f32)) for costs in (one, two)]
    assert found == [TileSize(8, 32, 16), TileSize(9, 48, 16)]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (("x86-64-v2", ""), Target(lanes=4, registers=16)),
        (("x86-64-v3", ""), Target(lanes=8, registers=16)),
        (("x86-64-v4", "-prefer-256-bit"), Target(lanes=16, registers=32, multiplications_at_once=2)),
        (("znver4", "+64bit,+avx2,+avx512vl"), Target(lanes=16, registers=32, prefetches_stores=False)),
        (
            ("znver4", "+avx512vl,+avx512bf16,+avx512vnni"),
            Target(lanes=16, registers=32, bf16=True, int8=True, prefetches_stores=False),
        ),
        (("znver3", "+64bit,+avx2"), Target(lanes=8, registers=16, prefetches_stores=False)),
        (("unknown", "+64bit,+avx2,+avx512vl,+avx512bf16"), Target(lanes=16, registers=16, bf16=True)),
        (("cascadelake", "+64bit,+avx2,+avx512vl"), Target(lanes=16, registers=16)),
        (
            ("sapphirerapids", "+64bit,+avx2,+avx512vl,-prefer-256-bit"),
            Target(lanes=16, registers=32, multiplications_at_once=2),
        ),
        (
            ("znver5", "+avx2,+avx512vl"),
            Target(lanes=16, registers=32, multiplications_at_once=2, prefetches_stores=False),
        ),
        (("skylake", "+64bit,+avx2"), Target(lanes=8, registers=16)),
        (("nehalem", "+64bit,+sse4.2"), Target(lanes=4, registers=16)),
        (("apple-m1", "+neon"), Target(lanes=4, registers=32)),
        (("unknown", ""), Target()),
    ],
)
def test_registers_of_processors(target: tuple[str, str], expected: Target):
    assert cpu.target_of(target) == expected
