"""Loops that became kernels, against NumPy and against the same loops of launches. What scans make of it is in
`test_scan_loop.py`."""

import loop_texts as loops
import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import KernelOp, LaunchOp, LoopOp, SlotOp
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph
from xdsl_rlx.lowering.loops.lir_mark_unrolled import LirMarkUnrolledPass
from xdsl_rlx.lowering.loops.lir_outline_loops import LirOutlineLoopsPass
from xdsl_rlx.lowering.target import COMMON

COUNTS = [1, 2, 7, 1000]


def rows(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal((*shape, loops.WIDTH)).astype(np.float32)


def outlined(text: str) -> ModuleOp:
    module = rlx.parse(text)
    LirOutlineLoopsPass().apply(Context(), module)
    LirMarkUnrolledPass().apply(Context(), module)
    module.verify()
    return module


def compiled(text: str) -> CompiledGraph:
    module = outlined(text)
    assert not any(isinstance(op, LoopOp) for op in module.walk())
    return compile_module(module, 2, Effort.QUICK)


def loops_of(text: str) -> int:
    return sum(isinstance(op, LoopOp) for op in outlined(text).walk())


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", COUNTS)
def test_a_carry_in_two_places_by_turns(count: int, reverse: bool):
    graph, xs = compiled(loops.double_buffered(count, loops.WIDTH, reverse)), rows(count)
    expected = loops.carries(np.zeros(loops.WIDTH, np.float32), xs[::-1] if reverse else xs)[-1]
    assert all(np.array_equal(graph(xs)[0], expected) for _ in range(3))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", COUNTS)
def test_all_carries_stacked(count: int, reverse: bool):
    graph, c0, w = compiled(loops.stacked(count, loops.WIDTH, reverse)), *rows(2)
    expected = loops.carries(c0, np.tile(w, (count, 1)))
    assert np.array_equal(graph(c0, w)[0], expected[::-1] if reverse else expected)


@pytest.mark.parametrize(("outer", "inner"), [(4, 5), (1, 1), (50, 7)])
def test_a_loop_in_a_loop_whose_carry_has_three_places(outer: int, inner: int):
    graph, xs = compiled(loops.nested(outer, inner, loops.WIDTH)), rows(outer, inner)
    assert np.array_equal(graph(xs)[0], loops.sums(xs))


def test_a_long_loop_is_pieces_one_behind_the_other():
    count = 200_000
    module = outlined(loops.repeated(count, loops.WIDTH))
    (launch,) = (op for op in module.walk() if isinstance(op, LaunchOp) and op.in_order is not None)
    assert launch.chunk_count > 1
    w, x = rows(2)
    graph = compile_module(module, 2, Effort.QUICK)
    graph.set_param("w", w)
    structured = compile_module(rlx.parse(loops.repeated(count, loops.WIDTH)), 2, Effort.QUICK)
    structured.set_param("w", w)
    assert not graph._binding.plan.parallel
    assert np.array_equal(graph(x)[0], structured(x)[0])


def test_loops_that_stay():
    pieces = loops.double_buffered(5, loops.WIDTH // 2)
    empty = loops.double_buffered(0, loops.WIDTH)
    assert (loops_of(pieces), loops_of(empty)) == (1, 1)


def in_steps(read: str, written: str) -> str:
    """An inner loop that reads one element of what an outer one goes along, and writes another."""
    row, rows_, steps = loops.ROW, f"memref<4x{loops.WIDTH}xf32>", loops.Steps(loops.WIDTH)
    return loops.program(
        f'%x = lir.input "x" : {row}',
        f"%c = lir.slot : {rows_}",
        f"%y = lir.output 0 : {row}",
        *(f"%c{n} = lir.view %c at {n * loops.WIDTH} : {rows_} to {row}" for n in range(4)),
        *(steps.launch("copy", "x", f"c{n}") for n in range(4)),
        "lir.loop %i = 0 to 3 {",
        f"%in = lir.step %c at {read} : {rows_} to {row}",
        f"%out = lir.step %c at {written} : {rows_} to {row}",
        "lir.loop %j = 0 to 3 {",
        f"%t = lir.slot : {row}",
        steps.launch("mix", "in", "t"),
        steps.launch("copy", "t", "out"),
        "}",
        "}",
        steps.launch("copy", "c3", "y"),
    )


def test_elements_that_are_never_the_same_are_two_buffers_of_a_kernel():
    x = rows()
    expected = x
    for _ in range(3):
        expected = loops.mix(expected)
    assert np.array_equal(compiled(in_steps("%i", "%i shift 1"))(x)[0], expected)


def test_elements_that_may_be_the_same_are_not():
    # the first time, both are the second element: a kernel that is given both would be told that they are not
    assert loops_of(in_steps("%i modulo 2", "%i")) == 2


def test_a_large_carry_keeps_its_two_places():
    large = loops.double_buffered(7, loops.WIDTH).replace(
        f"x{loops.WIDTH}xf32", f"x{COMMON.max_swapped_elements + 8}xf32"
    )
    large = large.replace(f"<{loops.WIDTH}xf32", f"<{COMMON.max_swapped_elements + 8}xf32").replace(
        "at 64 :", f"at {COMMON.max_swapped_elements + 8} :"
    )
    (kernel,) = (op for op in outlined(large).ops if isinstance(op, KernelOp) and "loop" in op.sym_name.data)
    lengths = [type_.get_shape()[0] for type_ in kernel.buffer_types]
    assert 2 * (COMMON.max_swapped_elements + 8) in lengths
    small = outlined(loops.double_buffered(7, loops.WIDTH))
    (kernel,) = (op for op in small.ops if isinstance(op, KernelOp) and "loop" in op.sym_name.data)
    assert [type_.get_shape()[0] for type_ in kernel.buffer_types].count(loops.WIDTH) == 3
    assert sum(isinstance(op, SlotOp) for op in small.walk()) == 2
