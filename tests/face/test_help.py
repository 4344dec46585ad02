"""What `help` and `inspect.signature` show of public functions."""

import doctest
import inspect

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx import op_functions
from xdsl_rlx.op_help import EXAMPLES


@pytest.mark.parametrize(
    ("name", "of_functions", "of_graphs"),
    [
        ("compile", ["static", "donate", "threads"], "weights"),
        ("grad", ["argnums", "has_aux"], "wrt"),
        ("jvp", [], "tangent_for"),
        ("hvp", ["argnums"], "wrt"),
        ("vmap", ["in_axes", "out_axes"], "size"),
        ("jacfwd", ["argnums"], "wrt"),
        ("jacrev", ["argnums"], "wrt"),
        ("hessian", ["argnums"], "wrt"),
    ],
)
def test_both_forms_are_shown_and_that_for_functions_first(name: str, of_functions: list[str], of_graphs: str):
    function = getattr(rlx, name)
    parameters = list(inspect.signature(function).parameters)
    assert parameters[0] == "function" and parameters[1 : 1 + len(of_functions)] == of_functions
    forms = inspect.getdoc(function).split("\n\n")[0].split("\n  ")[1:]
    assert forms[0] == f"{name}{inspect.signature(function)}"
    assert any(form.startswith(f"{name}(graph: AnyGraph") and of_graphs in form for form in forms[1:])
    assert "'" not in str(inspect.signature(function)).replace("'llvm'", "").replace("'numba'", "")


def test_ops_say_what_their_options_may_be():
    for name in op_functions.names():
        function = getattr(rlx, name)
        text, signature = inspect.getdoc(function), str(inspect.signature(function))
        assert "xdsl_rlx" not in signature and "<" not in signature, signature
        for kind in ("Steps", "Axes", "PadWidth", "MaskKind", "HeadLayout", "Activation", "Scheme"):
            for one in inspect.signature(function).parameters.values():
                if kind in str(one.annotation).split(" | "):
                    lines = text.partition("\nArguments:\n")[2].splitlines()
                    line = next(line for line in lines if one.name in line.partition(":")[0].strip().split(", "))
                    assert "one of '" in line or "axis" in line, (name, line)


def test_examples_of_ops_run():
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(verbose=False)
    for name in EXAMPLES:
        for one in finder.find(getattr(rlx, name), name, globs={"np": np, "rlx": rlx}):
            assert one.examples, name
            runner.run(one)
    assert not runner.failures and runner.tries >= 20
