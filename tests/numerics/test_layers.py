"""Derivative rules build ops: they call no function of NumPy on the values of a graph."""

from typing import Any, NoReturn

import pytest
from numerics.derivatives import gradient, names, tangent
from numerics.families import SAMPLES
from numerics.sample import named

from xdsl_rlx.frontends.numpy import functions

FIRST = {sample.op: sample for sample in reversed(SAMPLES) if sample.differentiable}
"""A sample of each op that has derivatives."""


def test_a_derivative_rule_calls_no_function_of_numpy(monkeypatch: pytest.MonkeyPatch):
    modules = {sample.id: sample.module(sample.dtypes[0]) for sample in FIRST.values()}

    def refuse(name: str, *_: Any) -> NoReturn:
        raise AssertionError(f"a rule calls np.{name}: dialects/mir/compositions.py has what rules need")

    monkeypatch.setattr(functions, "function", refuse)
    monkeypatch.setattr(functions, "of_ufunc", refuse)
    for sample in FIRST.values():
        with named(sample, sample.dtypes[0]):
            gradient(modules[sample.id], names(sample))
            tangent(modules[sample.id], names(sample))
