"""Loops over launches of several pieces: which become a launch of parts, each of which runs all iterations."""

import loop_texts as loops
import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import CheckOp, LaunchOp, LoopOp
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module, lower_to_lir
from xdsl_rlx.lowering.loops.lir_check_bounds import LirCheckBoundsPass
from xdsl_rlx.lowering.loops.lir_mark_unrolled import LirMarkUnrolledPass
from xdsl_rlx.lowering.loops.lir_outline_loops import LirOutlineLoopsPass
from xdsl_rlx.lowering.target import COMMON

WIDTH, ROW = loops.WIDTH, loops.ROW
COUNT = 7

HEAD = f"lir.kernel @step(%a: {ROW}, %x: {ROW}, %o: {ROW}, %lo: index, %hi: index) {{\n  %c1 = arith.constant 1 : index"
TAIL = "  lir.return\n}"


def at(index: str, before: str = "", value: str = "%s", reads: str | None = None) -> str:
    """`o[index] = a[reads or index] + x[index]`, behind some lines that compute the index from `%j`."""
    return f"""{HEAD}
  %c16 = arith.constant 16 : index
  %last = arith.constant {WIDTH - 1} : index
  scf.for %j = %lo to %hi step %c1 {{
    {before}
    %p = memref.load %a[{reads or index}] : {ROW}
    %q = memref.load %x[{index}] : {ROW}
    %s = arith.addf %p, %q : f32
    memref.store {value}, %o[{index}] : {ROW}
  }}
{TAIL}"""


def blocks(first: int, stop: int) -> str:
    """An iteration is 16 elements, `[first, stop)` of them."""
    return f"""{HEAD}
  %c16 = arith.constant 16 : index
  %first = arith.constant {first} : index
  %stop = arith.constant {stop} : index
  scf.for %b = %lo to %hi step %c1 {{
    %begin = arith.muli %c16, %b : index
    scf.for %l = %first to %stop step %c1 {{
      %j = arith.addi %begin, %l : index
      %p = memref.load %a[%j] : {ROW}
      %q = memref.load %x[%j] : {ROW}
      %s = arith.addf %p, %q : f32
      memref.store %s, %o[%j] : {ROW}
    }}
  }}
{TAIL}"""


def sums(of: str) -> str:
    """To each element is added what all of a buffer are together."""
    return f"""{HEAD}
  %c0 = arith.constant 0 : index
  %n = arith.constant {WIDTH} : index
  %zero = arith.constant 0.0 : f32
  scf.for %j = %lo to %hi step %c1 {{
    %t = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) {{
      %y = memref.load {of}[%i] : {ROW}
      %next = arith.addf %acc, %y : f32
      scf.yield %next : f32
    }}
    %p = memref.load {"%x" if of == "%a" else "%a"}[%j] : {ROW}
    %s = arith.addf %p, %t : f32
    memref.store %s, %o[%j] : {ROW}
  }}
{TAIL}"""


DIVIDED = """%d = arith.divsi %j, %c16 : index
    %r = arith.remsi %j, %c16 : index
    %m = arith.muli %d, %c16 : index
    %e = arith.addi %m, %r : index"""

IN_PARTS = {
    "elements": (at("%j"), WIDTH, 16, 4),
    "two-pieces": (at("%j"), WIDTH, 32, 2),
    "blocks": (blocks(0, 16), 4, 1, 4),
    "quotients": (at("%e", DIVIDED), WIDTH, 16, 4),
    "quotients-of-more": (at("%e", DIVIDED), WIDTH, 8, 4),
    "all-of-what-stays": (sums("%x"), WIDTH, 16, 4),
}
"""A kernel, its extent and chunk, and the parts."""

STAY = {
    "another-element": (at("%j", "%e = arith.subi %last, %j : index", reads="%e"), WIDTH, 16),
    "the-next-element": (
        at("%j", "%n = arith.addi %j, %c1 : index\n    %e = arith.minsi %n, %last : index", reads="%e"),
        WIDTH,
        16,
    ),
    "the-next-block": (blocks(1, 17), 4, 1),
    "part-of-a-block": (at("%j"), WIDTH // 2, 8),
    "all-of-what-is-written": (sums("%a"), WIDTH, 16),
    "numbers-of-iterations": (
        at("%j", "%k = arith.index_cast %j : index to i32\n    %v = arith.sitofp %k : i32 to f32", "%v"),
        WIDTH,
        16,
    ),
}


def text(kernel: str, extent: int, chunk: int, copies: str = f"{WIDTH} by {WIDTH}", reverse: bool = False) -> str:
    """`c = step(c, x[i])`, `y[i] = c`, with a carry in two places by turns."""
    carries, rows = f"memref<2x{WIDTH}xf32>", f"memref<{COUNT}x{WIDTH}xf32>"
    reads, writes = ("", "shift 1 ") if not reverse else ("shift 1 ", "")
    lines = [
        f'%xs = lir.input "xs" : {rows}',
        f"%ys = lir.output 0 : {rows}",
        f"%c = lir.slot : {carries}",
        *(
            f"%c{i} = lir.view %c at {i * WIDTH} : {carries} to {ROW}\n"
            f"lir.launch @zero over {WIDTH} by {WIDTH} writes(%c{i} : {ROW})"
            for i in (0, 1)
        ),
        f"lir.loop %i = 0 to {COUNT} {'reverse ' if reverse else ''}{{",
        f"%a = lir.step %c at %i {reads}modulo 2 : {carries} to {ROW}",
        f"%o = lir.step %c at %i {writes}modulo 2 : {carries} to {ROW}",
        f"%x = lir.step %xs at %i : {rows} to {ROW}",
        f"%y = lir.step %ys at %i : {rows} to {ROW}",
        f"lir.launch @step over {extent} by {chunk} reads(%a, %x : {ROW}, {ROW}) writes(%o : {ROW})",
        f"lir.launch @copy over {copies} reads(%o : {ROW}) writes(%y : {ROW})",
        "}",
    ]
    return loops.program(*lines) + kernel


def outlined(program: str) -> ModuleOp:
    module = rlx.parse(program)
    LirOutlineLoopsPass().apply(Context(), module)
    LirMarkUnrolledPass().apply(Context(), module)
    module.verify()
    return module


@pytest.mark.sampled
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("case", IN_PARTS)
def test_parts_run_all_iterations_and_give_the_same_bits(case: str, reverse: bool):
    kernel, extent, chunk, parts = IN_PARTS[case]
    program = text(kernel, extent, chunk, reverse=reverse)
    module = outlined(program)
    assert not any(isinstance(op, LoopOp) for op in module.walk())
    launch = [op for op in module.walk() if isinstance(op, LaunchOp)][-1]
    assert (launch.extent.value.data, launch.chunk.value.data, launch.in_order) == (parts, 1, None)
    xs = np.random.default_rng(0).standard_normal((COUNT, WIDTH)).astype(np.float32)
    (found,) = compile_module(module, 2, Effort.QUICK)(xs)
    (expected,) = compile_module(rlx.parse(program), 2, Effort.QUICK)(xs)
    np.testing.assert_array_equal(found, expected)
    LirCheckBoundsPass().apply(Context(), module)
    assert not [op for op in module.walk() if isinstance(op, CheckOp)]


@pytest.mark.parametrize("case", STAY)
def test_what_a_part_does_not_own_is_waited_for(case: str):
    kernel, extent, chunk = STAY[case]
    assert sum(isinstance(op, LoopOp) for op in outlined(text(kernel, extent, chunk)).walk()) == 1


def test_launches_whose_extents_have_nothing_in_common_are_waited_for():
    assert any(isinstance(op, LoopOp) for op in outlined(text(at("%j"), WIDTH, 16, "63 by 63")).walk())


def test_large_carries_by_turns_are_waited_for():
    program = text(at("%j"), WIDTH, 16).replace(str(WIDTH), str(2 * COMMON.max_swapped_elements))
    assert any(isinstance(op, LoopOp) for op in outlined(program).walk())


def test_carries_of_several_pieces_by_turns_are_waited_for():
    """Of a carry of two rows, parts would have a share of each, which is not one place in it."""
    wide, half = f"memref<2x{2 * WIDTH}xf32>", f"memref<{2 * WIDTH}xf32>"
    rows = f"memref<{COUNT}x{WIDTH}xf32>"
    lines = [
        f'%xs = lir.input "xs" : {rows}',
        f"%ys = lir.output 0 : {rows}",
        f"%c = lir.slot : {wide}",
        *(
            f"%c{i} = lir.view %c at {i * WIDTH} : {wide} to {ROW}\n"
            f"lir.launch @zero over {WIDTH} by {WIDTH} writes(%c{i} : {ROW})"
            for i in range(4)
        ),
        f"lir.loop %i = 0 to {COUNT} {{",
        f"%a = lir.step %c at %i modulo 2 : {wide} to {half}",
        f"%o = lir.step %c at %i shift 1 modulo 2 : {wide} to {half}",
        f"%x = lir.step %xs at %i : {rows} to {ROW}",
        f"%y = lir.step %ys at %i : {rows} to {ROW}",
    ]
    for n in (0, 1):
        lines += [f"%{b}{n} = lir.view %{b} at {n * WIDTH} : {half} to {ROW}" for b in "ao"]
        lines.append(f"lir.launch @step over {WIDTH} by 16 reads(%a{n}, %x : {ROW}, {ROW}) writes(%o{n} : {ROW})")
    lines += [f"lir.launch @copy over {WIDTH} by 16 reads(%o1 : {ROW}) writes(%y : {ROW})", "}"]
    program = loops.program(*lines) + at("%j")
    module = outlined(program)
    assert any(isinstance(op, LoopOp) for op in module.walk())
    xs = np.random.default_rng(0).integers(-9, 9, (COUNT, WIDTH)).astype(np.float32)
    (found,) = compile_module(module, 2, Effort.QUICK)(xs)
    np.testing.assert_array_equal(found, np.cumsum(xs, 0))


def gates(rows: int, start: int) -> str:
    """Iterations that write 8 of so many rows of 16 elements, and read both halves of those from `start` on."""
    whole, half, view = "memref<8x16xf32>", "memref<8x8xf32>", "memref<8x8xf32, strided<[16, 1]>>"
    slot, carries = f"memref<{rows}x16xf32>", f"memref<{COUNT + 1}x8x8xf32>"
    return "\n".join(
        [
            "builtin.module {",
            "lir.program @p {",
            f'%xs = lir.input "xs" : {half}',
            f"%ys = lir.output 0 : {carries}",
            f"%y0 = lir.view %ys at 0 : {carries} to {half}",
            f"lir.launch @copy over 8 by 8 reads(%xs : {half}) writes(%y0 : {half})",
            f"%g = lir.slot : {slot}",
            f"lir.loop %i = 0 to {COUNT} {{",
            f"%a = lir.step %ys at %i : {carries} to {half}",
            f"%o = lir.step %ys at %i shift 1 : {carries} to {half}",
            f"%w = lir.view %g at 0 : {slot} to {whole}",
            f"%l = lir.view %g at {start} : {slot} to {view}",
            f"%r = lir.view %g at {start + 8} : {slot} to {view}",
            f"lir.launch @twice over 8 by 4 reads(%a : {half}) writes(%w : {whole})",
            f"lir.launch @both over 8 by 2 reads(%l, %r : {view}, {view}) writes(%o : {half})",
            "}",
            "}",
            *_rows(
                "copy", f"%x: {half}, %o: {half}", "%v = memref.load %x[%i, %j] : " + half, ["%o[%i, %j] : " + half]
            ),
            *_rows(
                "twice",
                f"%x: {half}, %o: {whole}",
                f"%v = memref.load %x[%i, %j] : {half}\n%k = arith.addi %j, %c8 : index",
                [f"%o[%i, %j] : {whole}", f"%o[%i, %k] : {whole}"],
            ),
            *_rows(
                "both",
                f"%l: {view}, %r: {view}, %o: {half}",
                f"%p = memref.load %l[%i, %j] : {view}\n%q = memref.load %r[%i, %j] : {view}\n"
                "%v = arith.addf %p, %q : f32",
                [f"%o[%i, %j] : {half}"],
            ),
            "}",
        ]
    )


def _rows(name: str, buffers: str, value: str, places: list[str]) -> list[str]:
    """A kernel that stores a value of each element of its rows."""
    return [
        f"lir.kernel @{name}({buffers}, %lo: index, %hi: index) {{",
        *(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 8)),
        "scf.for %i = %lo to %hi step %c1 {",
        "scf.for %j = %c0 to %c8 step %c1 {",
        value,
        *(f"memref.store %v, {place}" for place in places),
        "}",
        "}",
        "lir.return",
        "}",
    ]


def test_parts_own_the_same_rows_of_all_columns():
    """As of the gates of an LSTM, which one product writes and which are read one by one."""
    module = outlined(gates(8, 0))
    launch = [op for op in module.walk() if isinstance(op, LaunchOp)][-1]
    assert (launch.extent.value.data, launch.chunk.value.data, launch.in_order) == (4, 1, None)
    xs = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    (found,) = compile_module(module, 2, Effort.QUICK)(xs)
    np.testing.assert_array_equal(found, xs * 2.0 ** np.arange(COUNT + 1)[:, None, None].astype(np.float32))


@pytest.mark.parametrize("start", [16, 64])
def test_what_is_read_across_rows_is_waited_for(start: int):
    assert any(isinstance(op, LoopOp) for op in outlined(gates(16, start)).walk())


def circuits(batch: int) -> rlx.Graph | rlx.GraphModule:
    """Steps of an implicit method for many circuits, which have nothing to do with each other, and their gradient."""
    g = rlx.Graph("circuits")
    ladder, start = g.param("ladder", (batch, 8, 8), "f64"), g.input("start", (batch, 8), "f64")

    def step(u: rlx.Value, _: object) -> tuple[rlx.Value, rlx.Value]:
        after = g.batched_dense_solve(ladder + g.reshape(0.1 * u * u, (batch, 1, 8)), u)
        return after, after

    _, path = g.scan(step, start, length=9)
    g.set_outputs([g.reduce_sum(path * path)])
    return rlx.grad_with_loss(g, wrt=["ladder"])


def test_a_loop_of_solves_and_its_gradient_are_launches_of_parts():
    module = lower_to_lir(circuits(64).module, 2)
    launches = [op for op in module.walk() if isinstance(op, LaunchOp) and "_loop_" in op.kernel.string_value()]
    assert [op.chunk_count > 1 and op.in_order is None for op in launches] == [True, True]
    rng = np.random.default_rng(0)
    arrays = {"start": rng.standard_normal((64, 8)), "ladder": 3 * np.eye(8) + rng.standard_normal((64, 8, 8)) / 8}
    several = rlx.compile(circuits(64), threads=2)(**arrays)
    alone = rlx.compile(circuits(64), threads=1)(**arrays)
    for x, y in zip(several, alone, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)
