"""flip as plain Python."""

import numpy as np
import pytest
from as_python import run_as_python

import xdsl_rlx as rlx


@pytest.mark.parametrize(("shape", "axis"), [((7,), 0), ((2, 4100), 1), ((3, 4, 2), 1)])
def test_flip_runs_as_python(shape: tuple[int, ...], axis: int) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    g = rlx.Graph("flip")
    g.set_outputs(g.flip(g.input("x", shape), axis))
    (found,) = run_as_python(g, x, pieces=2)
    np.testing.assert_array_equal(found.reshape(shape), np.flip(x, axis))
    np.testing.assert_array_equal(rlx.compile(g)(x)[0], np.flip(x, axis))
