"""What holds for every builder method that is given a function which builds a wrong body."""

from collections.abc import Callable
from typing import Any

import pytest

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.bodies import BodyOp


def assert_refused(wrong: Callable[[rlx.Graph, Any], object], message: str) -> None:
    """A GraphError that says this, and a graph of one input that is as it was."""
    g = rlx.Graph("wrong")
    x = g.input("x", (3,))
    with pytest.raises(rlx.GraphError, match=message):
        wrong(g, x)
    g.set_outputs([g.reduce_sum(x)])
    assert not any(isinstance(op, BodyOp) for op in g.module.walk())
