"""gather and scatter_add as plain Python."""

import numpy as np
import pytest
from as_python import run_as_python

import xdsl_rlx as rlx


@pytest.mark.parametrize("pieces", [1, 3])
def test_gather_and_scatter_add_run_as_python(pieces: int) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(5, 3)).astype(np.float32)
    ids = np.array([4, 0, 9, -2, 4])
    g = rlx.Graph("take")
    g.set_outputs([g.gather(g.input("x", (5, 3)), g.input("i", (5,), "i64"), axis=0)])
    (found,) = run_as_python(g, table, ids, pieces=pieces)
    np.testing.assert_array_equal(found, rlx.compile(g)(table, ids)[0])
