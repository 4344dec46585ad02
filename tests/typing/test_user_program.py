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


def test_transformed_functions_have_the_parameters_and_results_of_their_functions():
    x = np.arange(1, 4, dtype=np.float32)
    found = program.signatures(x)
    expected = [x**3, [14.0, 14.0], [28.0, 28.0], x, 2 * x, x + 1, [14.0, 14.0], [14.0, 14.0], x, 14.0, x]
    expected += [28.0, *4 * [14 * x], x, x]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_results_of_graphs_are_tuples_with_names(tmp_path):
    x = np.arange(1, 4, dtype=np.float32)
    for one, other in zip(program.results(x, tmp_path / "squares"), [6.0, x, 6.0, x, 6.0, x, 6.0, x], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_the_builder_of_a_definition_is_of_the_public_class():
    seen: list[object] = []

    @rlx.custom_op("typed.seen", replace=True)
    def seen_by(b: rlx.GraphBuilder, x: rlx.Value) -> rlx.Value:
        seen.append(b)
        return x * 2.0

    seen_by(np.ones(2, np.float32))
    assert seen and all(isinstance(b, rlx.GraphBuilder) for b in seen)


def test_a_name_that_the_stub_has_not_is_no_function():
    with pytest.raises(AttributeError, match="reluu"):
        rlx.reluu  # noqa: B018
