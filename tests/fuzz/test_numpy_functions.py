"""
NumPy's functions on values of a graph, called at random: what NumPy gives for the same arrays, or an error of ours.

The tables `numpy_table_*.py` say how calls of each function are drawn. What differs from NumPy, and is not drawn
therefore, docs/numpy-programs.md says.
"""

import os
from pathlib import Path

import pytest
from fuzz.numpy_programs import FAMILIES, NOT_COMPLEX, TABLE, differences, drawn

from xdsl_rlx.frontends.numpy import functions as numpy_functions
from xdsl_rlx.frontends.numpy.elements import SPELLED_OUT, UFUNCS
from xdsl_rlx.lowering.backend.machine.llvm import Effort

EVERY = "EVERY_SAMPLE" in os.environ
STEPS = {"elements": 2, "reductions": 4, "shapes": 3, "linalg": 8}
"""In `make test` a call of every so many functions of a family is compiled."""
AT_ONCE = 40
"""Calls in one program."""
PAGE = Path(__file__).parents[2] / "docs" / "numpy-programs.md"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "round_number" in metafunc.fixturenames:
        metafunc.parametrize("round_number", range(max(metafunc.config.getoption("--fuzz-cases") // 100, 1)))


def test_each_function_is_drawn():
    covered = {*numpy_functions.FUNCTIONS, *UFUNCS, *SPELLED_OUT}
    covered |= {f"{name}.reduce" for name in numpy_functions.REDUCED}
    covered |= {f"{name}.accumulate" for name in (*numpy_functions.ACCUMULATED, *numpy_functions.RUNNING)}
    assert covered - TABLE.keys() == set()
    assert {name for name in TABLE.keys() - covered if not name.endswith(".outer")} == {"logaddexp.reduce"}


@pytest.mark.parametrize("family", FAMILIES)
def test_results_are_those_of_numpy(family: str, round_number: int):
    names = list(FAMILIES[family])
    names = names if EVERY else names[:: STEPS[family]]
    wrong: list[str] = []
    for first in range(0, len(names), AT_ONCE):
        calls = [drawn(name, round_number) for name in names[first : first + AT_ONCE]]
        wrong += differences(calls, Effort.FULL if EVERY and round_number % 5 == 0 else Effort.QUICK)
    assert not wrong, "\n".join(wrong)


def test_the_page_names_the_functions_that_refuse_complex_numbers():
    page = PAGE.read_text()
    assert [name for name in sorted(NOT_COMPLEX) if f"`{name}`" not in page] == []
