"""The part of a parametrised sweep that `make test` runs; with EVERY_SAMPLE set in the environment, all of it.

A test function with `@pytest.mark.sampled` keeps as many of its cases as make each value of each argument appear once:
of `size` in 5 sizes times `dtype` in 3 types there are 5 cases of 15, on a diagonal. `@pytest.mark.sampled(most=4)`
keeps 4 values at most of each argument, evenly spread, with the first and the last, odd and even ones.

Mark sweeps over sizes, types, axes and seeds, whose cases make one claim. Do not mark tables whose rows are claims of
their own, such as functions or ops. A file with a mark is in SWEEPS of the Makefile, so that `make fuzz` runs the rest.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeVar, cast

import pytest
from levels import EVERY

T = TypeVar("T")

Fact = tuple[str, Hashable]
"""An argument and one of its values."""

DESCRIPTION = "sampled(most=None): each value of each argument once, `most` values at most; all with EVERY_SAMPLE"


class Sampling:
    """A plugin that leaves out the other cases; of those that the command line selects."""

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", DESCRIPTION)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if EVERY:
            return
        cases: dict[object, list[pytest.Function]] = {}
        for item in items:
            if isinstance(item, pytest.Function) and item.get_closest_marker("sampled") and hasattr(item, "callspec"):
                cases.setdefault((item.parent, item.originalname), []).append(item)
        left_out = {item for own in cases.values() for item in set(own) - set(_kept(own))}
        if left_out:
            config.hook.pytest_deselected(items=[item for item in items if item in left_out])
            items[:] = [item for item in items if item not in left_out]


def _kept(items: Sequence[pytest.Function]) -> list[pytest.Function]:
    marker = items[0].get_closest_marker("sampled")
    assert marker is not None
    return [items[i] for i in chosen([vars(item)["callspec"].params for item in items], marker.kwargs.get("most"))]


def chosen(cases: Sequence[dict[str, Any]], most: int | None = None) -> list[int]:
    """
    The positions of cases in which each value of each argument appears; of more than `most` values, `most` do.

    The case with the most values that no earlier one has comes first; of such cases, one whose other values are rare so
    far; of these, the first.
    """
    found = [{(name, _identity(value)) for name, value in case.items()} for case in cases]
    wanted: set[Fact] = set()
    for name in cases[0]:
        values = list(dict.fromkeys(_identity(case[name]) for case in cases))
        wanted.update((name, value) for value in (values if most is None else spread(values, most)))
    positions: list[int] = []
    times: Counter[Fact] = Counter()
    while wanted:
        seen = [sum(times[fact] for fact in facts) for facts in found]
        best = max(range(len(cases)), key=lambda i: (len(found[i] & wanted), -seen[i], -i))
        positions.append(best)
        times.update(found[best])
        wanted -= found[best]
    return sorted(positions)


def sample(cases: Sequence[tuple[T, ...]], most: int | None = None, turn: int = 0) -> list[tuple[T, ...]]:
    """
    The part of a sweep inside of a test: tuples of its product, chosen as the cases of a marked test are.

    Calls with other numbers as `turn` take other diagonals.
    """
    if EVERY:
        return list(cases)
    turn %= len(cases)
    cases = [*cases[turn:], *cases[:turn]]
    return [cases[i] for i in chosen([{str(n): x for n, x in enumerate(case)} for case in cases], most)]


def spread(values: Sequence[Hashable], most: int) -> list[Hashable]:
    """`most` values (at least 3), evenly spread, the first and the last; if there are odd and even numbers, of both."""
    assert most >= 3, "a sweep has a first value, a last one, and others"
    if len(values) <= most:
        return list(values)
    places = [round(i * (len(values) - 1) / (most - 1)) for i in range(most)]
    if len(_parities(values)) == 2 and len(_parities([values[i] for i in places])) == 1:
        places[1] += 1
    return [values[i] for i in places]


def _parities(values: Iterable[Hashable]) -> set[int]:
    return {value % 2 for value in values if isinstance(value, int) and not isinstance(value, bool)}


def _identity(value: Any) -> Hashable:
    """Equal for values that are the same argument: numbers and texts by value, other objects by what they are."""
    if isinstance(value, tuple | list):
        return tuple(_identity(one) for one in cast("Iterable[Any]", value))
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return repr(value) if value is None or isinstance(value, bool | float | str | complex) else id(value)
