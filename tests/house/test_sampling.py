"""The part of a sweep that `make test` runs: each value of each argument is in it, and `make fuzz` runs the rest."""

import re
from itertools import product
from pathlib import Path

import hurry
import pytest
from sampling import chosen, sample, spread

ROOT = Path(__file__).resolve().parents[2]


def _listed(name: str) -> list[Path]:
    found = re.search(rf"^{name} := ((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert found
    return [ROOT / path for path in found[1].replace("\\", " ").split()]


def test_make_fuzz_runs_every_file_that_is_sampled() -> None:
    swept = [*_listed("CHECKED_SWEEPS"), *_listed("SWEEPS")]
    assert all(path.exists() for path in swept)
    sampled = [
        path
        for path in (ROOT / "tests").rglob("test_*.py")
        if path != Path(__file__)
        and re.search(r"mark\.sampled|from sampling import|from levels import", path.read_text())
    ]
    assert len(sampled) > 50
    sampled += [ROOT / "tests" / folder for folder in hurry.FOLDERS]
    lost = [str(path) for path in sampled if not any(path.is_relative_to(one) for one in swept)]
    assert not lost, f"the Makefile's SWEEPS lack {lost}"


@pytest.mark.parametrize("sizes", [(1, 1), (3, 2), (5, 4, 3), (2, 2, 2, 2)])
def test_each_value_of_each_argument_is_chosen(sizes: tuple[int, ...]) -> None:
    cases = [{f"x{n}": value for n, value in enumerate(case)} for case in product(*map(range, sizes))]
    kept = [cases[i] for i in chosen(cases)]
    assert len(kept) == max(sizes)
    for n, size in enumerate(sizes):
        assert {case[f"x{n}"] for case in kept} == set(range(size))


def test_values_that_are_rare_are_preferred() -> None:
    """Of 6 sizes and 2 numbers of threads, 3 sizes have each number."""
    cases = [{"size": size, "threads": threads} for size in range(6) for threads in (1, 2)]
    assert sorted(cases[i]["threads"] for i in chosen(cases)) == [1, 1, 1, 2, 2, 2]


def test_turns_take_other_diagonals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sampling.EVERY", False)
    cases = list(product(range(3), range(2)))
    turns = [sample(cases, turn=turn) for turn in range(6)]
    for kept in turns:
        assert len(kept) == 3 and {one for one, _ in kept} == {0, 1, 2} and {one for _, one in kept} == {0, 1}
    assert len({frozenset(kept) for kept in turns}) > 1


@pytest.mark.parametrize("most", [3, 4, 5, 26])
def test_values_are_spread_from_the_first_to_the_last(most: int) -> None:
    found = spread(range(131), most)
    assert len(found) == most and found[0] == 0 and found[-1] == 130 and len(set(found)) == most
    assert {value % 2 for value in found if isinstance(value, int)} == {0, 1}
    assert spread(range(131), 200) == list(range(131))
