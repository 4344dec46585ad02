"""Calls of compiled functions with arrays, random keys and containers of JAX."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import random as jr

import xdsl_rlx as rlx
from xdsl_rlx.dialects.arrays import read_array
from xdsl_rlx.jax_nodes import children_in_jax, parts_in_jax

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


def test_arrays_and_keys_of_jax_are_read_in_place() -> None:
    rlx.from_jax(jnp.sin)
    array, key = jax.device_put(X), jr.key(3)
    read, words = read_array(array), read_array(key)
    assert read is not None and words is not None
    assert read.ctypes.data == array.unsafe_buffer_pointer() and np.array_equal(read, X)
    assert np.array_equal(words, jr.key_data(key)) and words.dtype == np.uint32


def test_arrays_of_jax_run_the_program_of_plain_arrays() -> None:
    compiled = rlx.compile(rlx.from_jax(lambda x, y: jnp.tanh(x) + y["b"]))
    plain = compiled(X, {"b": X})
    found = compiled(jax.device_put(X), {"b": jax.device_put(X)})
    assert np.array_equal(found, plain) and "1 signatures" in repr(compiled)


def test_keys_run_one_program() -> None:
    compiled = rlx.compile(rlx.from_jax(lambda key, x: x * jr.bernoulli(key, 0.5, x.shape)))
    for seed in (0, 1):
        expected = X * np.asarray(jr.bernoulli(jr.key(seed), 0.5, X.shape))
        assert np.array_equal(compiled(jr.key(seed), X), expected)
    assert "1 signatures" in repr(compiled)


def test_deleted_array_is_an_error_that_names_it() -> None:
    compiled = rlx.compile(rlx.from_jax(lambda x: x + 1))
    array = jax.device_put(X)
    compiled(array)
    array.delete()
    with pytest.raises(TypeError, match=r"^x: .*deleted"):
        compiled(array)


def test_donated_array_of_jax_is_refused() -> None:
    def step(w: Any, x: Any) -> Any:
        return {"w": w["w"] + x}

    compiled = rlx.compile(step, donate="w")
    compiled({"w": X.copy()}, X)
    with pytest.raises(ValueError, match="expected a writable array"):
        compiled({"w": jax.device_put(X)}, X)


class _Scaled(eqx.Module):
    w: Any
    power: int = eqx.field(static=True)

    def __call__(self, x: Any) -> Any:
        return (self.w * x) ** self.power


def test_data_of_a_container_belong_to_its_signature() -> None:
    compiled = rlx.compile(rlx.from_jax(lambda scaled, x: scaled(x)))
    for power in (2, 2, 3, 2):
        assert np.allclose(compiled(_Scaled(2 * X, power), X), (2 * X * X) ** power, atol=1e-6)
    assert "2 signatures" in repr(compiled)


def test_parts_of_a_container_are_its_children() -> None:
    for one in (_Scaled(X, 2), eqx.nn.MLP(3, 2, 4, 1, key=jr.key(0))):
        children, data = parts_in_jax(one)
        assert all(a is b for a, b in zip(children, children_in_jax(one)[0], strict=True))
        assert data == parts_in_jax(one)[1]
