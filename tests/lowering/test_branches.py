"""Programs with branches and loops that end when they find out, from text to machine code, against NumPy."""

import threading
from collections.abc import Callable

import branch_texts as texts
import numpy as np
import pytest
from loop_texts import WIDTH, carries, mix

import xdsl_rlx as rlx
from xdsl_rlx.dialects import lir
from xdsl_rlx.lowering.backend.driver.layout import PlanTable
from xdsl_rlx.lowering.backend.driver.manifest import ScheduledLaunch, parts_of
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.build_program import build_program
from xdsl_rlx.lowering.backend.runtime.compile_module import Backend, compile_module, lower_to_lir
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph
from xdsl_rlx.lowering.fingerprint import fingerprint
from xdsl_rlx.lowering.run_errors import OutOfBoundsError

Array = np.ndarray
both = pytest.mark.parametrize("threads", [1, 2])


def rows(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).standard_normal((*shape, WIDTH)).astype(np.float32)


def truths(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).random(shape) < 0.5


def compiled(text: str, threads: int = 1) -> CompiledGraph:
    return compile_module(rlx.parse(text), threads, Effort.QUICK)


def number(n: int) -> Array:
    return np.array(n, np.int64)


@both
def test_the_part_is_run_that_the_predicate_says(threads: int):
    graph, x = compiled(texts.chosen(), threads), rows()
    for p in (True, False, False, True):
        assert np.array_equal(graph(np.array(p), x)[0], mix(x) if p else x + x)


@pytest.mark.sampled
@both
@pytest.mark.parametrize("count", [0, 1, 2, 7, 1000])
def test_branches_in_branches_ask_what_the_iteration_has(count: int, threads: int):
    graph, x = compiled(texts.chosen_by_turns(count), threads), rows() * 1e-3
    for shift in (0, 1):
        ps, qs = np.roll(truths(count), shift), truths(2, count)
        assert np.array_equal(graph(ps, qs, x)[0], texts.by_turns(ps, qs, x))


@both
@pytest.mark.parametrize("chunk", [16, WIDTH])
def test_a_loop_runs_until_its_predicate_is_false(chunk: int, threads: int):
    graph, x, w = compiled(texts.counted_down(chunk), threads), *rows(2)
    for n in (0, 1, 2, 7, 1000, -3, 5):
        assert np.array_equal(graph(number(n), x, w)[0], carries(x, np.tile(w, (max(n, 0), 1)))[-1])


@both
@pytest.mark.parametrize(("outer", "inner"), [(5, 3), (1, 1), (4, 0), (0, 2)])
def test_loops_of_all_kinds_in_each_other(outer: int, inner: int, threads: int):
    graph, xs = compiled(texts.counted_in_turn(outer, inner), threads), rows(outer, inner)
    for seed in range(3):
        ns = np.random.default_rng(seed).integers(0, 6, outer)
        assert np.array_equal(graph(ns, xs)[0], texts.in_turn(ns, xs))


def arguments(text: str) -> dict[str, Array]:
    """Some values for a program."""
    found = dict[str, Array]()
    for spec in (*(program := compiled(text)).inputs, *program.program.params):
        found[spec.name] = {"i1": truths(*spec.shape), "i64": np.full(spec.shape, 3)}.get(
            spec.dtype, rows(*spec.shape[:-1]) if spec.shape else np.zeros(())
        )
    return found


ALL = [texts.chosen(), texts.chosen_by_turns(5), texts.counted_down(), texts.counted_in_turn(3, 2)]
NAMES = ["chosen", "by turns", "counted", "in turn"]


@pytest.mark.sampled
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("text", ALL, ids=NAMES)
def test_the_printed_module_gives_the_same_bits(text: str, jit: bool, run):
    given = arguments(text)
    (expected,) = compiled(text)(**given)
    (found,) = run.text(lower_to_lir(rlx.parse(text)), jit=jit)(**given)
    assert np.array_equal(found, expected)


def test_the_numba_backend_runs_branches():
    given = arguments(ALL[3])
    graph = compile_module(rlx.parse(ALL[3]), 2, Effort.QUICK, Backend.NUMBA)
    assert np.array_equal(graph(**given)[0], texts.in_turn(given["ns"], given["xs"]))


@pytest.mark.parametrize("text", ALL, ids=NAMES)
def test_a_compiled_branch_comes_back_from_the_cache(text: str):
    given = arguments(text)
    # made only if another test has not
    (expected,) = compiled(text, 2)(**given)
    again = compiled(text, 2)
    assert again.from_cache and np.array_equal(again(**given)[0], expected)


def test_programs_whose_parts_have_changed_places_are_others():
    module = rlx.parse(texts.chosen())
    other = module.clone()
    branch = next(op for op in other.walk() if isinstance(op, lir.IfOp))
    then, otherwise = branch.regions
    for region in (then, otherwise):
        branch.detach_region(region)
    branch.add_region(otherwise)
    branch.add_region(then)
    assert fingerprint(module) != fingerprint(other)
    assert build_program(lower_to_lir(module)).schedule != build_program(lower_to_lir(other)).schedule
    x, found = rows(), compile_module(other, 1, Effort.QUICK)
    assert np.array_equal(found(np.array(False), x)[0], mix(x))


def test_the_first_launch_of_a_part_waits_and_so_does_the_first_one_behind_it():
    program = build_program(lower_to_lir(rlx.parse(texts.counted_in_turn(2, 2))))
    firsts = list[ScheduledLaunch]()

    def visit(items: tuple[object, ...]) -> None:
        waits = True
        for item in items:
            if isinstance(item, ScheduledLaunch):
                if waits:
                    firsts.append(item)
                waits = False
                continue
            waits = True
            for part in parts_of(item):
                visit(part)

    visit(program.schedule)
    assert len(firsts) == 7 and not any(launch.independent for launch in firsts)


def test_slots_of_two_branches_are_the_same_memory():
    # the rows of both branches lie in one place of the arena, which a copy and the predicate need no part of
    assert build_program(lower_to_lir(rlx.parse(texts.chosen()))).arena_bytes == 4 * WIDTH


def test_what_the_next_iteration_of_a_while_reads_keeps_its_place():
    module = lower_to_lir(rlx.parse(texts.counted_down()))
    slots = {op.result.name_hint: op for op in module.walk() if isinstance(op, lir.SlotOp)}
    spans = {}
    for name, op in slots.items():
        assert op.at is not None and name is not None
        size = 4 * WIDTH if name in "tu" else 8 if name != "going" else 1
        spans[name] = range(op.at.value.data, op.at.value.data + size)
    for kept in ("left", "going"):
        others = [span for name, span in spans.items() if name != kept]
        assert not any(byte in span for span in others for byte in spans[kept])


def test_a_check_that_fails_ends_a_while():
    text = texts.counted_down().replace(
        "lir.kernel @less_one(%n: memref<i64>, %o: memref<i64>, %lo: index, %hi: index) {",
        """lir.kernel @less_one(%n: memref<i64>, %o: memref<i64>, %lo: index, %hi: index) {
        %five = arith.constant 5 : index
        %given = memref.load %n[] : memref<i64>
        %m = arith.index_cast %given : i64 to index
        lir.check %m at_most %five, "n is at most 5" """,
    )
    graph, x, w = compiled(text), *rows(2)
    with pytest.raises(OutOfBoundsError, match="n is at most 5, got 6"):
        graph(number(6), x, w)
    assert np.array_equal(graph(number(5), x, w)[0], carries(x, np.tile(w, (5, 1)))[-1])


def test_launches_of_branches_bound_what_their_kernels_touch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
    for text in ALL:
        module = lower_to_lir(rlx.parse(text))
        launched = {op.kernel.string_value() for op in module.walk() if isinstance(op, lir.LaunchOp)}
        kernels = [op for op in module.ops if isinstance(op, lir.KernelOp) and op.sym_name.data in launched]
        assert len(kernels) == len(launched)
        assert not [op for kernel in kernels for op in kernel.walk() if isinstance(op, lir.CheckOp)]


def test_calls_from_several_threads_take_turns():
    graph = compiled(texts.counted_down(), 2)
    x, w = rows(2)
    counts = [50, 3, 0, 120]
    expected = [carries(x, np.tile(w, (n, 1)))[-1] for n in counts]
    wrong = list[int]()

    def work(which: int) -> None:
        given = number(counts[which])
        wrong.extend(which for _ in range(50) if not np.array_equal(graph(given, x, w)[0], expected[which]))

    threads = [threading.Thread(target=work, args=(which,)) for which in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_phases_are_counted_as_they_are_run():
    graph, x, w = compiled(texts.counted_down(WIDTH)), *rows(2)
    plan = graph._binding.plan
    seen = list[int]()
    for n in (4, 40):
        for _ in range(32):
            graph(number(n), x, w)
        seen.append(plan.get(PlanTable.PHASE_RUNS))
    # in front of the loop, then the test once more than the two of the body
    assert seen == [1 + 5 + 2 * 4, 1 + 41 + 2 * 40]


def lowered(text: str, change: Callable[[str], str]) -> str:
    return change(str(lower_to_lir(rlx.parse(text))))


def test_slots_that_a_while_keeps_may_not_overlap():
    # as if `left` were needed until it has been read only
    def change(text: str) -> str:
        module = rlx.parse(text)
        places = {op.result.name_hint: op.at for op in module.walk() if isinstance(op, lir.SlotOp)}
        left, t = places["left"], places["t"]
        assert left is not None and t is not None
        old = f"lir.slot at {left.value.data} : memref<i64>"
        assert old in text
        return text.replace(old, f"lir.slot at {t.value.data} : memref<i64>")

    with pytest.raises(rlx.GraphError, match="overlap and are in use at the same time"):
        rlx.parse(lowered(texts.counted_down(), change))
