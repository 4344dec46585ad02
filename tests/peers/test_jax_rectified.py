"""`jax.nn.relu` has a derivative rule of its own, which is that of `mir.relu`; other rules are kept."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import xdsl_rlx as rlx

X = np.array([-2.0, 0.0, 3.0, np.nan], np.float32)


def test_relu_is_one_op() -> None:
    text = str(rlx.trace(rlx.from_jax(jax.nn.relu), X))
    assert "mir.relu" in text

    def loss(x: Any) -> Any:
        return (3 * jax.nn.relu(x)).sum()

    found = rlx.grad(rlx.from_jax(loss))(X)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(jax.grad(loss)(X)))


def test_another_rule_of_a_maximum_is_kept() -> None:
    @jax.custom_jvp
    def leaky(x: Any) -> Any:
        return jnp.maximum(x, 0)

    @leaky.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return leaky(x), jnp.where(x > 0, t, 0.1 * t)

    def loss(x: Any) -> Any:
        return leaky(x).sum()

    assert "mir.relu" not in str(rlx.trace(rlx.from_jax(leaky), X))
    np.testing.assert_allclose(np.asarray(rlx.grad(rlx.from_jax(loss))(X)), np.asarray(jax.grad(loss)(X)))
