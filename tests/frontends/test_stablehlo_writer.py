"""The writer of StableHLO: what becomes of each mir op, and the text of functions. What XLA computes is in `peers/`."""

# Trees are of any type.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportPrivateUsage=false

import re
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.ir import Operation
from xdsl.parser import Parser

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir import Mir
from xdsl_rlx.dialects.mir.control import VjpOp, YieldOp
from xdsl_rlx.dialects.mir.custom import CustomBase
from xdsl_rlx.frontends.stablehlo.write_table import FAMILIES
from xdsl_rlx.frontends.stablehlo.writer import DEFINED, REFUSED, ROWS
from xdsl_rlx.transforms.rules import DECOMPOSE, SCALAR

STRUCTURE = {YieldOp: "the end of a body", VjpOp: "mir-emit-vjp replaces it"}
"""Ops that the writer does not meet."""


def _name(op: type[Operation]) -> str:
    return op.name


@pytest.mark.parametrize("op", list(Mir.operations), ids=_name)
def test_an_op_is_written_in_one_way_or_refused_with_a_reason(op: type[Operation]) -> None:
    own = [table for table in (ROWS, DEFINED, REFUSED, STRUCTURE) if op in table]
    shared = DECOMPOSE.get(op) is not None or SCALAR.get(op) is not None
    assert len(own) == 1 or (not own and (shared or issubclass(op, CustomBase)))
    if op in REFUSED:
        assert len(REFUSED[op]) > 20


def test_all_files_of_rows_are_loaded() -> None:
    assert len(FAMILIES) == 7
    assert len(ROWS) > 80


def operations(text: str) -> list[str]:
    return re.findall(r'"(?:stablehlo|chlo)\.(\w+)"', text)


def test_the_text_is_generic_and_has_constants_as_they_are() -> None:
    table = np.array([0.1, np.inf, -0.0, np.nan], np.float32)

    def f(x: Any) -> Any:
        return {"y": x * table, "n": x.sum()}

    text = rlx.to_stablehlo(f, np.ones((2, 4), np.float32))
    assert '"builtin.module"' in text
    assert "function_type = (tensor<2x4xf32>) -> (tensor<f32>, tensor<2x4xf32>)" in text
    assert f'dense<"0x{table.tobytes().hex().upper()}">' in text
    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    context.load_dialect(Func)
    assert [op.name for op in Parser(context, text).parse_module().ops] == ["func.func"]


def test_graphs_gradients_and_loops_are_written() -> None:
    def loss(w: Any, xs: Any) -> Any:
        def body(carry: Any, x: Any) -> Any:
            return np.tanh(carry @ w + x), None

        return rlx.scan(body, np.zeros(3, np.float32), xs)[0].sum()

    w, xs = np.ones((3, 3), np.float32), np.ones((5, 3), np.float32)
    text = rlx.to_stablehlo(rlx.grad(loss), w, xs)
    found = operations(text)
    assert found.count("while") == 2
    assert "dynamic_slice" in found
    assert "dynamic_update_slice" in found
    assert operations(rlx.to_stablehlo(rlx.trace(rlx.grad(loss), w, xs))) == found


def test_a_large_captured_array_is_a_constant() -> None:
    w = np.arange(200.0 * 200, dtype=np.float32).reshape(200, 200)
    text = rlx.to_stablehlo(lambda x: x @ w, np.ones(200, np.float32))
    assert "function_type = (tensor<200xf32>) -> tensor<200xf32>" in text
    assert f'dense<"0x{w.tobytes().hex().upper()}">' in text


def test_what_cannot_be_written_is_said() -> None:
    with pytest.raises(rlx.GraphError, match=r"mir\.rng_poisson at .* cannot be written as StableHLO: .*rlx\.compile"):
        rlx.to_stablehlo(lambda x: rlx.random.poisson(rlx.random.key(0), x), np.ones(3))
    with pytest.raises(rlx.GraphError, match="igamma"):
        rlx.to_stablehlo(lambda x: rlx.special.gammainc(x, x), np.ones(3))
    with pytest.raises(rlx.FrontendError, match="a graph takes no example"):
        rlx.to_stablehlo(rlx.trace(lambda x: x * 2, np.ones(3)), np.ones(3))
    with pytest.raises(rlx.FrontendError, match="expected a graph or a function"):
        rlx.to_stablehlo(3)  # pyright: ignore[reportCallIssue, reportArgumentType]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_truth_values_that_are_cast_are_ones_and_zeros(n: int) -> None:
    graph = rlx.trace(lambda x: x * rlx.eye(n, dtype="f32") + np.full((n, n), True).astype(np.float32), np.ones((n, n)))
    text = rlx.to_stablehlo(graph)
    assert "255" not in text and "2.55" not in text
