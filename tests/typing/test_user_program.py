"""The program that `make lint` checks runs as it is typed."""

import numpy as np
import pytest

import xdsl_rlx as rlx

from . import user_program as program


def test_the_typed_step_is_the_plain_function():
    rng = np.random.default_rng(0)
    arrays = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (4,), (), (8, 3), (8,)))
    w, v, offset, x, y = arrays
    params = program.Params(w, v, offset)
    state = program.AdamW(0.1).init(params)
    for _ in range(3):
        plain = program.loss(params, x, y)
        value, params, state = program.step(params, state, x, y)
        np.testing.assert_allclose(value, plain, rtol=1e-5)
        assert isinstance(params, program.Params)


def test_the_typed_graph_has_ops_of_plugins_and_constant_results():
    rng = np.random.default_rng(0)
    x, scores, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 3), (2, 4), (3, 3)))
    found = rlx.compile(program.graph())(x, scores, w)
    np.testing.assert_allclose(found.p, np.exp(scores), rtol=1e-6)
    assert (found.one, found.decoded, found.y.shape) == (1.0, 0.0, (1, 2, 3))


def test_a_name_that_the_stub_has_not_is_no_function():
    with pytest.raises(AttributeError, match="reluu"):
        rlx.reluu  # noqa: B018
