"""Arguments and outputs that share memory: what is refused, and what is right all the same, in any order of calls."""

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.runtime.overlaps import CallBuffer, Use, overlapping

Array = np.ndarray[Any, Any]
N = 8


@pytest.fixture(scope="module")
def step() -> rlx.CompiledGraph:
    """Two arguments that are read, two that are updated, and three outputs."""
    g = rlx.Graph("step")
    x, y, a, b = (g.input(name, (N,)) for name in "xyab")
    g.set_outputs([x + y, x - a, y * b], donate={"a": a + x, "b": b - y})
    return rlx.compile(g, threads=1)


def _expected(x: Array, y: Array, a: Array, b: Array) -> list[Array]:
    return [x + y, x - a, y * b, a + x, b - y]


def _is_wrong(arguments: list[Array], outputs: list[Array | None]) -> bool:
    """Whether an updated argument or an output shares memory that it may not share: each pair is looked at."""
    _, _, a, b = arguments
    kinds = [*((one, "updated" if one is a or one is b else "read") for one in arguments)]
    kinds += [(one, "output") for one in outputs if one is not None]
    fine = {frozenset({"read"}), frozenset({"read", "output"})}
    pairs = ((one, other) for one, other in combinations(kinds, 2) if np.may_share_memory(one[0], other[0]))
    return any(frozenset({one[1], other[1]}) not in fine for one, other in pairs)


@pytest.mark.parametrize("slow", [False, True])
def test_memory_that_is_shared_is_refused_or_makes_no_difference(step: rlx.CompiledGraph, slow: bool) -> None:
    call: Any = step._slow_call if slow else step  # pyright: ignore[reportPrivateUsage]
    rng, refused = np.random.default_rng(4), 0
    for case in range(600):
        # windows of one memory that is nearly full, at single elements
        memory = rng.standard_normal(int(rng.choice([3, 6, 12, 30])) * N).astype(np.float32)
        starts = iter(rng.integers(0, len(memory) - N, 7) if case % 3 else rng.permutation(len(memory) // N)[:7] * N)
        windows = [memory[i : i + N] for i in starts]
        windows += [np.empty(N, np.float32) for _ in range(7 - len(windows))]
        arguments = windows[:4]
        outputs = [one if rng.random() < 0.6 else None for one in windows[4:]]
        out = tuple(outputs) if rng.random() < 0.8 else None
        given, before = _expected(*arguments), memory.copy()
        if _is_wrong(arguments, outputs if out else []):
            refused += 1
            with pytest.raises(rlx.ArgumentError, match=r"overlap|is donated, but overlaps another argument"):
                call(*arguments, out=out)
            np.testing.assert_array_equal(memory, before)
            continue
        results = call(*arguments, out=out)
        for found, expected in zip((*results, *arguments[2:]), given, strict=True):
            np.testing.assert_array_equal(found, expected)
        for found, wanted in zip(results, outputs, strict=True):
            assert out is None or wanted is None or found is wanted
    assert 100 < refused < 500


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_equal_outputs_are_refused_in_any_order_of_calls(order: tuple[int, ...]) -> None:
    """Once an output has lain in an argument, there is memory beside, which hid that two outputs are one."""
    g = rlx.Graph("two")
    x, y = g.input("x", (N,)), g.input("y", (N,))
    g.set_outputs([x + y, x - y])
    compiled = rlx.compile(g, threads=1)
    slow: Any = compiled._slow_call  # pyright: ignore[reportPrivateUsage]
    x, y, a = np.arange(3 * N, dtype=np.float32).reshape(3, N)
    long = np.empty(2 * N, np.float32)

    def in_an_argument(call: Any) -> None:
        mine, expected = x.copy(), x + y
        assert call(mine, y, out=(mine, None))[0] is mine
        np.testing.assert_array_equal(mine, expected)

    def equal(call: Any) -> None:
        with pytest.raises(rlx.ArgumentError, match=r"^out\[0\] and out\[1\] of graph 'two' overlap$"):
            call(x, y, out=(a, a))

    def in_part(call: Any) -> None:
        with pytest.raises(rlx.ArgumentError, match=r"^out\[0\] and out\[1\] of graph 'two' overlap$"):
            call(x, y, out=(long[N - 1 : 2 * N - 1], long[:N]))

    cases = (in_an_argument, equal, in_part)
    for _ in range(2):
        for number in order:
            for call in (compiled, slow, compiled):
                cases[number](call)


def test_overlaps_are_those_of_all_pairs() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        buffers = [
            CallBuffer(int(begin), int(begin + rng.integers(0, 6)), list(Use)[rng.integers(3)], number, "")
            for number, begin in enumerate(rng.integers(0, 40, rng.integers(1, 9)))
        ]
        found = {tuple(sorted(pair, key=lambda buffer: buffer.number)) for pair in overlapping(buffers)}
        pairs = {
            (one, other)
            for one, other in combinations(buffers, 2)
            if max(one.begin, other.begin) < min(one.end, other.end)
        }
        assert found <= pairs
        uses = {(one.use, other.use) for one, other in pairs if one.use is other.use}
        assert uses == {(one.use, other.use) for one, other in found if one.use is other.use}
        if not uses:
            assert found == pairs


def test_an_updated_argument_may_not_be_a_param_that_is_read() -> None:
    g = rlx.Graph("param")
    w, x = g.param("w", (N,)), g.input("x", (N,))
    g.set_outputs([], donate={"x": x + w})
    compiled = rlx.compile(g, threads=1)
    compiled.set_param("w", np.ones(N, np.float32))
    given = np.zeros(2 * N, np.float32)
    for _ in range(2):
        compiled(x=given[:N])
        with pytest.raises(
            rlx.ArgumentError, match=r"'x' of graph 'param' is donated, but overlaps another argument: 'w'"
        ):
            compiled(x=given[:N], w=given[1 : N + 1])
    np.testing.assert_array_equal(given, [2.0] * N + [0.0] * N)


def test_a_step_that_updates_the_arrays_of_the_call_before_is_served_by_machine_code() -> None:
    """So is one of other arrays, and one of zero elements."""
    g = rlx.Graph("many")
    arguments = [g.input(f"x{n}", (n % 3,)) for n in range(60)]
    g.set_outputs([], donate={f"x{n}": x + 1.0 for n, x in enumerate(arguments)})
    compiled = rlx.compile(g, threads=1)
    shapes = [n % 3 for n in range(60)]
    given = [np.zeros(shape, np.float32) for shape in shapes]
    for _ in range(3):
        compiled(*given)
    calls = list[int]()
    binding = compiled._binding  # pyright: ignore[reportPrivateUsage]
    bind, binding._bind = binding._bind, lambda *args: calls.append(1) or bind(*args)  # pyright: ignore
    rng = np.random.default_rng(0)
    for _ in range(20):
        # any order of addresses
        memory = np.zeros((60, 16), np.float32)
        others = [row[:shape] for row, shape in zip(memory[rng.permutation(60)], shapes, strict=True)]
        compiled(*others)
        assert all((one == 1).all() for one in others)
    compiled(*given)
    assert not calls and all((one == 4).all() for one in given)
    with pytest.raises(rlx.ArgumentError, match="overlaps another argument"):
        compiled(*given[:4], given[1], *given[5:])
    assert calls
