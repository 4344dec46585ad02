"""Programs with loops, from text to machine code, against NumPy."""

import os
import threading
from collections.abc import Callable

import loop_texts as loops
import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

import xdsl_rlx as rlx
from xdsl_rlx.dialects import lir
from xdsl_rlx.lowering.backend.driver.layout import WORD, PoolTable
from xdsl_rlx.lowering.backend.driver.phases import make_tables
from xdsl_rlx.lowering.backend.driver.process import pool
from xdsl_rlx.lowering.backend.llvm.listing import llvm_listing
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.build_program import build_program
from xdsl_rlx.lowering.backend.runtime.compile_module import Backend, compile_module, lower_to_lir
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph
from xdsl_rlx.lowering.run_errors import OutOfBoundsError

COUNTS = [0, 1, 2, 7, 1000]


def rows(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal((*shape, loops.WIDTH)).astype(np.float32)


def compiled(text: str, threads: int = 1) -> CompiledGraph:
    return compile_module(rlx.parse(text), threads, Effort.QUICK)


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", COUNTS)
def test_a_carry_in_two_places_by_turns(count: int, reverse: bool, threads: int):
    graph, xs = compiled(loops.double_buffered(count, reverse=reverse), threads), rows(count)
    expected = loops.carries(np.zeros(loops.WIDTH, np.float32), xs[::-1] if reverse else xs)[-1]
    assert all(np.array_equal(graph(xs)[0], expected) for _ in range(5))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", COUNTS)
def test_all_carries_stacked(count: int, reverse: bool, threads: int):
    graph, c0, w = compiled(loops.stacked(count, reverse=reverse), threads), *rows(2)
    expected = loops.carries(c0, np.tile(w, (count, 1)))
    assert np.array_equal(graph(c0, w)[0], expected[::-1] if reverse else expected)


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("outer", "inner"), [(4, 5), (1, 1), (3, 0), (0, 3), (50, 7)])
def test_a_loop_in_a_loop(outer: int, inner: int, threads: int):
    graph, xs = compiled(loops.nested(outer, inner), threads), rows(outer, inner)
    assert np.array_equal(graph(xs)[0], loops.sums(xs))
    assert np.array_equal(graph(xs + 1)[0], loops.sums(xs + 1))


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_pieces_of_any_size_give_the_same_bits(chunk: int):
    xs = rows(30)
    expected = loops.carries(np.zeros(loops.WIDTH, np.float32), xs)[-1]
    graph = compiled(loops.double_buffered(30, chunk), 2)
    assert graph._binding.plan.parallel == (chunk < loops.WIDTH)
    assert all(np.array_equal(graph(xs)[0], expected) for _ in range(50))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_workers_that_share_the_phases_of_a_body_see_the_arguments_of_its_iteration():
    xs = rows(20)
    expected = loops.carries(np.zeros(loops.WIDTH, np.float32), xs)[-1]
    graph = compiled(loops.double_buffered(20, chunk=4), 2)
    child = os.fork()
    if child == 0:
        # one worker, on a single core too, which never sleeps: it takes part in the shortest phases
        pool().ensure_workers(1)
        pool().table[PoolTable.SPIN_NS // WORD] = 1 << 60
        right, shared = True, 0
        for number in range(200_000):
            right &= np.array_equal(graph(xs)[0], expected)
            # whether it had tickets of the last phase: on a single core that is rare
            shared += int(pool().table[PoolTable.DONE // WORD]) > 0
            if number >= 5000 and shared >= 3:
                break
        os._exit(0 if right and shared >= 3 and pool().workers == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("text", [loops.nested(3, 4), loops.double_buffered(5, reverse=True), loops.nested(0, 2)])
def test_the_printed_module_gives_the_same_bits(text: str, jit: bool, run):
    module = rlx.parse(text)
    spec = compiled(text).inputs[0]
    xs = rows(*spec.shape[:-1])
    (expected,) = compiled(text)(xs)
    (found,) = run.text(lower_to_lir(module), jit=jit)(xs=xs)
    assert np.array_equal(found, expected)


def test_the_numba_backend_runs_loops():
    xs = rows(3, 4)
    graph = compile_module(rlx.parse(loops.nested(3, 4)), 2, Effort.QUICK, Backend.NUMBA)
    assert np.array_equal(graph(xs)[0], loops.sums(xs))


# the row of an iteration lies in the output of the first program, which is written after the loop
@pytest.mark.parametrize(
    ("text", "rows"), [(loops.double_buffered, 2), (lambda count: loops.nested(3, count), 4)], ids=["one", "nested"]
)
def test_neither_arena_nor_tables_grow_with_the_iterations(text: Callable[[int], str], rows: int):
    programs = [build_program(lower_to_lir(rlx.parse(text(count)))) for count in (7, 70_000)]
    few, many = (make_tables(program.schedule, dict.fromkeys(program.kernels, 0)) for program in programs)
    assert programs[0].arena_bytes == programs[1].arena_bytes == rows * 4 * loops.WIDTH
    assert (len(few.memory), few.count) == (len(many.memory), many.count)


def test_a_compiled_loop_comes_back_from_the_cache():
    text, xs = loops.nested(5, 3), rows(5, 3)
    # made only if another test has not
    compiled(text, 2)
    again = compiled(text, 2)
    assert again.from_cache and np.array_equal(again(xs)[0], loops.sums(xs))


def test_programs_of_other_counts_or_directions_are_others():
    texts = [loops.double_buffered(count, reverse=reverse) for count in (1, 3) for reverse in (False, True)]
    assert len({rlx.parse(text) and build_program(lower_to_lir(rlx.parse(text))).schedule for text in texts}) == 4


def test_calls_from_several_threads_take_turns():
    graph = compiled(loops.double_buffered(200), 2)
    inputs = [rows(200) + n for n in range(4)]
    expected = [loops.carries(np.zeros(loops.WIDTH, np.float32), xs)[-1] for xs in inputs]
    wrong = list[int]()

    def work(number: int) -> None:
        wrong.extend(number for _ in range(50) if not np.array_equal(graph(inputs[number])[0], expected[number]))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


CHECKED = """
lir.program @p {
  %xs = lir.input "xs" : memref<9xindex>
  %y = lir.output 0 : memref<9xindex>
  lir.loop %i = 0 to 9 {
    %x = lir.step %xs at %i : memref<9xindex> to memref<index>
    %o = lir.step %y at %i : memref<9xindex> to memref<index>
    lir.launch @k over 1 by 1 reads(%x : memref<index>) writes(%o : memref<index>)
  }
}
lir.kernel @k(%a: memref<index>, %o: memref<index>, %lo: index, %hi: index) {
  %five = arith.constant 5 : index
  %x = memref.load %a[] : memref<index>
  lir.check %x at_most %five, "x is at most 5"
  memref.store %x, %o[] : memref<index>
  lir.return
}
""".replace("index>", "i64>").replace(
    "  lir.check %x at_most", "  %n = arith.index_cast %x : i64 to index\n  lir.check %n at_most"
)


def test_a_check_that_fails_ends_the_loop_and_the_next_call_starts_anew():
    graph = compiled(CHECKED)
    good, bad = np.arange(9) % 5, np.arange(9)
    with pytest.raises(OutOfBoundsError, match="x is at most 5, got 6"):
        graph(bad)
    assert np.array_equal(graph(good)[0], good)


def test_the_llvm_listing_has_each_kernel_of_a_loop_once():
    listing = llvm_listing(lower_to_lir(rlx.parse(loops.nested(3, 4))))
    assert [listing.count(f"define void @{name}(") for name in ("zero", "copy", "add", "mix")] == [1] * 4


def test_launches_of_a_body_bound_what_their_kernels_touch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
    text, xs = loops.nested(3, 4), rows(3, 4)
    assert not [op for op in lower_to_lir(rlx.parse(text)).walk() if isinstance(op, lir.CheckOp)]
    assert np.array_equal(compiled(text)(xs)[0], loops.sums(xs))


def test_an_element_taken_behind_its_loop_is_refused():
    module = rlx.parse(loops.nested(2, 2))
    outer, inner = (op for op in module.walk() if isinstance(op, lir.LoopOp))
    step = next(op for op in inner.body.block.ops if isinstance(op, lir.StepOp) and op.index is inner.index)
    for launch in [op for op in inner.body.block.ops if isinstance(op, lir.LaunchOp)]:
        launch.detach()
    step.detach()
    outer.body.block.insert_op_after(step, inner)
    with pytest.raises(VerifyException, match=r"expected a lir\.step inside of its loop"):
        module.verify()
