"""Whether moving byte ranges overlap: against every iteration where these are few, and at once where they are many."""

import tracemalloc
from itertools import product
from random import Random

import pytest

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import overlap
from xdsl_rlx.dialects.lir.overlap import Term, meets_window

Loops = list[tuple[int, list[Term]]]


def _value(term: Term, iteration: int) -> int:
    step = iteration + term.shift
    return term.stride * (step if term.period is None else step % term.period)


def _by_trying(loops: Loops, low: int, high: int) -> bool:
    return any(
        low <= sum(_value(t, i) for i, (_, terms) in zip(numbers, loops, strict=True) for t in terms) <= high
        for numbers in product(*(range(count) for count, _ in loops))
    )


def _random_loops(rng: Random) -> Loops:
    loops: Loops = []
    for _ in range(rng.randint(1, 3)):
        terms: list[Term] = []
        for _ in range(rng.randint(1, 3)):
            period = rng.choice((None, None, 1, 2, 3, 5))
            shift = 0 if period is None else rng.randrange(period)
            terms.append(Term(rng.choice((rng.randint(-9, 9), rng.randint(-60, 60))), shift, period))
        loops.append((rng.randint(0, 9), terms))
    return loops


def test_the_answer_is_that_of_trying_every_iteration(pytestconfig: pytest.Config):
    rng = Random(0)
    for _ in range(20 * int(pytestconfig.option.fuzz_cases)):
        loops = _random_loops(rng)
        low = rng.randint(-150, 150)
        high = low + rng.choice((-1, 0, 0, 1, 3, 17))
        assert meets_window(loops, low, high) == _by_trying(loops, low, high), (loops, low, high)


def test_two_strides_that_interleave_are_decided_exactly():
    rng = Random(0)
    for _ in range(2000):
        a, b, n, m = rng.randint(2, 40), rng.randint(2, 40), rng.randint(1, 40), rng.randint(1, 40)
        low = rng.randint(0, a * n + b * m)
        high = low + rng.randint(0, 3)
        loops = [(n, [Term(a)]), (m, [Term(b)])]
        assert meets_window(loops, low, high) == _by_trying(loops, low, high), (loops, low, high)


@pytest.mark.parametrize(
    ("loops", "window", "expected"),
    [
        pytest.param([(10**18, [Term(64)])], (64 * 10**17, 64 * 10**17), True, id="a multiple"),
        pytest.param([(10**18, [Term(64)])], (64 * 10**17 + 1, 64 * 10**17 + 63), False, id="between two multiples"),
        pytest.param([(10**9, [Term(10**9 + 7)]), (10**9, [Term(-(10**9 + 9))])], (1, 1), True, id="two loops"),
        pytest.param([(10**9, [Term(6)]), (10**9, [Term(-10)])], (1, 1), False, id="two loops, of even strides"),
        pytest.param([(10**9, [Term(8, 0, 2), Term(-8, 1, 2)])], (0, 7), False, id="by turns"),
        pytest.param([(10**9, [Term(8, 0, 2), Term(-8, 1, 3)])], (0, 0), True, id="periods of 2 and 3"),
    ],
)
def test_the_number_of_iterations_costs_nothing(loops: Loops, window: tuple[int, int], expected: bool):
    assert meets_window(loops, *window) is expected


def test_a_question_stays_undecided_after_a_bounded_number_of_steps(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(overlap, "STEPS", 64)
    loops = [(30, [Term(2 * stride)]) for stride in (10**6 + 3, 10**6 + 33, 10**6 + 37, 10**6 + 39)]
    assert meets_window(loops, 10**8 + 2, 10**8 + 2) is None
    assert meets_window(loops, 10**8 + 1, 10**8 + 1) is False
    monkeypatch.undo()
    assert meets_window(loops, 10**8 + 2, 10**8 + 2) is False


def test_a_scan_of_many_iterations_is_planned_in_little_memory():
    g = rlx.Graph("long")
    x, w = g.input("x", (8, 8)), g.input("w", (8, 8))

    def body(c: rlx.Value, _: object) -> tuple[rlx.Value, None]:
        return g.matmul(c, w), None

    g.set_outputs(list(g.scan(body, x, length=10**8)[:1]))
    text = str(g)
    rlx.lower(rlx.parse(text.replace("100000000", "10")))
    tracemalloc.start()
    rlx.parse(str(rlx.lower(rlx.parse(text))))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20 << 20
