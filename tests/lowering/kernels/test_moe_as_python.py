"""Products by experts as plain Python: what the functions say is what the kernels do."""

import numpy as np
import pytest
from as_python import run_as_python

import xdsl_rlx as rlx

ROWS, EXPERTS, INNER, COLUMNS = 9, 4, 3, 5
IDS = np.array([2, -1, 3, 0, 2, 7, 0, 2, 3])
"""Some outside of the experts, and one of them without rows."""


@pytest.mark.parametrize("transposed", [False, True])
def test_rows_are_multiplied_by_their_experts(transposed: bool):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ROWS, INNER))
    w = rng.standard_normal((EXPERTS, COLUMNS, INNER) if transposed else (EXPERTS, INNER, COLUMNS))
    g = rlx.Graph("product")
    operands = g.input("x", x.shape, "f64"), g.input("w", w.shape, "f64"), g.input("ids", IDS.shape, "i64")
    g.set_outputs([g.grouped_matmul(*operands, transposed)])
    (compiled,) = rlx.compile(g)(x=x, w=w, ids=IDS)
    (found,) = run_as_python(g, x, w, IDS)
    np.testing.assert_allclose(found, compiled, rtol=1e-12, atol=1e-12)


def test_a_weights_gradient_is_a_product_along_the_rows_of_its_expert():
    rng = np.random.default_rng(1)
    x, cotangent = rng.standard_normal((ROWS, INNER)), rng.standard_normal((ROWS, COLUMNS))
    g = rlx.Graph("gradient")
    operands = g.input("x", x.shape, "f64"), g.input("g", cotangent.shape, "f64"), g.input("ids", IDS.shape, "i64")
    g.set_outputs([g.grouped_matmul_backward_weight(*operands, EXPERTS)])
    (compiled,) = rlx.compile(g)(x=x, g=cotangent, ids=IDS)
    (found,) = run_as_python(g, x, cotangent, IDS)
    np.testing.assert_allclose(found, compiled, rtol=1e-12, atol=1e-12)
