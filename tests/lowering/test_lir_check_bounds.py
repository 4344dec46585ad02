"""Checks at run time: who is told what, and what stays as it was."""

import pickle
import threading
from typing import Any

import numpy as np
import pytest
from xdsl.utils.exceptions import PassFailedException

import xdsl_rlx as rlx
from xdsl_rlx.lowering.analysis.index_ranges import IndexRanges
from xdsl_rlx.lowering.analysis.linear_sums import Linear, Symbols
from xdsl_rlx.lowering.backend.numba.python_module import emit_python
from xdsl_rlx.lowering.run_errors import ConfigurationError

SCATTER = """
lir.program @scatter attributes {arena_bytes = 256 : i64, alignment = 64 : i64} {
  %x = lir.input "x" : memref<64xf32>
  %n = lir.input "n" : memref<64xi32>
  %w = lir.param "w" : memref<64xf32>
  %a = lir.slot at 0 : memref<64xf32>
  %y = lir.output 0 : memref<64xf32>
  lir.launch @move over 64 by 8 reads(%x, %n : memref<64xf32>, memref<64xi32>) writes(%a : memref<64xf32>)
  lir.launch @add over 64 by 8 reads(%a, %w : memref<64xf32>, memref<64xf32>) writes(%y : memref<64xf32>)
}
lir.kernel @move(%i: memref<64xf32>, %n: memref<64xi32>, %o: memref<64xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %j = %lo to %hi step %c1 {
    %v = memref.load %i[%j] : memref<64xf32>
    %m = memref.load %n[%j] : memref<64xi32>
    %s = arith.index_cast %m : i32 to index
    memref.store %v, %o[%s] : memref<64xf32>
  }
  lir.return
}
lir.kernel @add(%i: memref<64xf32>, %w: memref<64xf32>, %o: memref<64xf32>, %lo: index, %hi: index) {
  %c1 = arith.constant 1 : index
  scf.for %j = %lo to %hi step %c1 {
    %v = memref.load %i[%j] : memref<64xf32>
    %u = memref.load %w[%j] : memref<64xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %o[%j] : memref<64xf32>
  }
  lir.return
}
"""
X = np.arange(64, dtype=np.float32)
REVERSED = np.arange(64, dtype=np.int32)[::-1].copy()
MESSAGE = "kernel @move: memref.store takes elements 0 to 63 along dimension 0 of %o, got "


def wrong(value: int) -> np.ndarray[Any, Any]:
    n = REVERSED.copy()
    n[40] = value
    return n


@pytest.fixture(scope="module", params=["llvm", "numba"])
def scatter(request: pytest.FixtureRequest) -> rlx.CompiledGraph:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDSL_RLX_CHECK", "1")
        compiled = rlx.compile(rlx.parse(SCATTER), threads=2, backend=request.param)
    compiled.set_param("w", np.ones(64, np.float32))
    return compiled


@pytest.mark.parametrize("value", [64, -1, 2**31 - 1, -(2**31)])
def test_a_failed_check_is_an_exception_and_the_next_call_is_right(scatter: rlx.CompiledGraph, value: int):
    for arguments in ({"x": X}, {"x": list(X)}):
        with pytest.raises(rlx.OutOfBoundsError) as error:
            scatter(**arguments, n=wrong(value))
        assert str(error.value) == f"{MESSAGE}{value}"
    (y,) = scatter(x=X, n=REVERSED)
    assert (y == X[::-1] + 1).all()


def test_a_profile_raises_it_too_and_the_next_one_is_whole(scatter: rlx.CompiledGraph):
    with pytest.raises(rlx.OutOfBoundsError):
        scatter.profile(x=X, n=wrong(64), runs=1)
    launches = scatter.profile(x=X, n=REVERSED, runs=1).launches
    assert sum(one.runs for one in launches) == len(scatter.program.launches)


def test_a_printed_module_raises_it_too():
    names: dict[str, Any] = {}
    exec(rlx.numba_source(rlx.run_passes(rlx.parse(SCATTER), "lir-check-bounds")), names)
    for value in (64, -1):
        with pytest.raises(IndexError) as error:
            names["scatter"](x=X, n=wrong(value), w=X)
        assert error.value.args == (MESSAGE.removesuffix(", got "), value)
    assert (names["scatter"](x=X, n=REVERSED, w=X)[0] == X[::-1] + X).all()


def test_an_argument_that_is_also_the_result_is_as_it_was(scatter: rlx.CompiledGraph):
    for first in (X.copy(), X.copy()):
        with pytest.raises(rlx.OutOfBoundsError):
            scatter(x=first, n=wrong(64), out=(first,))
        assert (first == X).all()
        assert scatter(x=first, n=REVERSED, out=(first,))[0] is first and (first == X[::-1] + 1).all()


def test_nothing_is_written_outside(scatter: rlx.CompiledGraph):
    memory = np.full(64 * 3, 7, np.float32)
    out = memory[64:128]
    with pytest.raises(rlx.OutOfBoundsError):
        scatter(x=X, n=wrong(70), out=(out,))
    assert (memory[:64] == 7).all() and (memory[128:] == 7).all()


def test_each_thread_gets_its_own_message(scatter: rlx.CompiledGraph):
    found: list[tuple[int, str]] = []

    def run(value: int) -> None:
        for _ in range(20):
            try:
                scatter(x=X, n=wrong(value))
            except rlx.OutOfBoundsError as error:
                found.append((value, str(error)))

    threads = [threading.Thread(target=run, args=(value,)) for value in (64, 65, -5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 60 and all(text == f"{MESSAGE}{value}" for value, text in found)


def test_the_variable_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch):
    g = rlx.Graph("keyed")
    g.set_outputs([g.tanh(g.input("x", (3,)))])
    monkeypatch.setenv("XDSL_RLX_CHECK", "0")
    assert not rlx.compile(g, threads=1).from_cache
    assert rlx.compile(g, threads=1).from_cache
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
    assert not rlx.compile(g, threads=1).from_cache
    monkeypatch.setenv("XDSL_RLX_CHECK", "yes")
    with pytest.raises(ConfigurationError, match="XDSL_RLX_CHECK must be 0 or 1, got 'yes'"):
        rlx.compile(g, threads=1)


def test_lir_that_does_not_verify_is_not_compiled():
    module = rlx.parse(SCATTER)
    for op in module.walk():
        if op.name == "lir.slot":
            op.properties["at"] = op.parent_op().properties["arena_bytes"]  # pyright: ignore[reportOptionalMemberAccess]
    with pytest.raises(rlx.GraphError, match="the slot memref<64xf32> at 256 ends at 512, the arena at 256"):
        rlx.compile(module, threads=1)


def test_a_module_without_places_is_planned_or_refused():
    placeless = rlx.parse(SCATTER.replace(" at 0", ""))
    unplanned = rlx.parse(
        SCATTER.replace(" attributes {arena_bytes = 256 : i64, alignment = 64 : i64}", "").replace(" at 0", "")
    )
    for module in (placeless, unplanned):
        with pytest.raises(PassFailedException, match="the slots of @scatter have no offset: run lir-plan-memory"):
            emit_python(module)
        assert "arena = np.empty(320, np.uint8)" in rlx.numba_source(module)
        compiled = rlx.compile(module, threads=2)
        assert (compiled(x=X, n=REVERSED, w=X)[0] == X[::-1] + X).all()


def test_sums_of_symbols_are_bounded_by_what_bounds_them():
    s = Symbols()
    lo = s.new(0, 56)
    hi = s.new(1, 60, [lo.add(1)], [lo.add(8)])
    j = s.new(-(1 << 63), 1 << 62, [lo], [hi.add(-1)])
    inside = j.plus(lo, -1)
    assert s.range(j) == (0, 59)
    assert s.is_nonnegative(inside) and s.is_nonnegative(inside.times(-1).add(7))
    assert not s.is_nonnegative(inside.times(-1).add(6))
    ranges = IndexRanges()
    x = ranges.symbols.new(-5, 5)
    with ranges.given([x.add(-2)]):
        assert ranges.holds(x.add(-2)) and ranges.range(x) == (2, 5)
    assert not ranges.holds(x) and ranges.range(Linear(3)) == (3, 3)


def checks_of(compiled: rlx.CompiledGraph) -> int:
    """How many checks are in the kernels of a compiled graph."""
    return sum(op.name == "lir.check" for op in compiled.origin.lowered().walk())


def test_lir_is_checked_unless_it_is_said_that_it_is_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_CHECK", "0")
    parsed = rlx.parse(SCATTER)
    for given in (parsed, rlx.lower(parsed), rlx.run_passes(parsed, "lir-plan-memory")):
        compiled = rlx.compile(given, 2)
        compiled.set_param("w", X)
        with pytest.raises(rlx.OutOfBoundsError, match=MESSAGE):
            compiled(X, wrong(64))
    unchecked = rlx.compile(parsed, 2, unchecked=True)
    assert checks_of(compiled) == 1 and checks_of(unchecked) == 0
    unchecked.set_param("w", X)
    assert unchecked(X, REVERSED)[0].tolist() == (X[::-1] + X).tolist()


@pytest.mark.parametrize("unchecked", [False, True])
def test_what_is_pickled_has_the_same_checks(monkeypatch: pytest.MonkeyPatch, unchecked: bool):
    monkeypatch.setenv("XDSL_RLX_CHECK", "0")
    compiled = rlx.compile(rlx.parse(SCATTER), 1, unchecked=unchecked)
    assert checks_of(pickle.loads(pickle.dumps(compiled))) == (not unchecked)


def test_the_environment_asks_for_checks_whatever_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
    assert checks_of(rlx.compile(rlx.parse(SCATTER), 1, unchecked=True)) == 1


def test_a_graph_above_lir_is_not_said_to_be_unchecked():
    g = rlx.Graph("g")
    g.set_outputs([g.tanh(g.input("x", (4,)))])
    with pytest.raises(rlx.GraphError, match="unchecked=: expected a graph at stage lir, got 'g' at mir; omit it"):
        rlx.compile(g, unchecked=True)
