"""Fusions that differ in numbers only: one kernel, and the digits of a kernel for each."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import KernelOp
from xdsl_rlx.dialects.mir.control import FusionOp
from xdsl_rlx.dialects.mir.elementwise import ConstantOp
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir
from xdsl_rlx.lowering.fusion.mir_fuse import MirFusePass
from xdsl_rlx.lowering.prepare.mir_prepare_for_fusion import MirPrepareForFusionPass
from xdsl_rlx.pass_cache import context

jax.config.update("jax_enable_x64", True)

N = 7
NUMBERS = (0.3, -1.7, 1e-3)


def stage(g: rlx.Graph, x: Any, number: float) -> Any:
    """What cannot be one loop nest with the stage before: rows of the transposed."""
    return g.softmax(g.sin(x.T * number) / (number + 0.07), axis=-1) - number


def chain(numbers: Sequence[float], dtype: str = "f64") -> rlx.Graph:
    g = rlx.Graph("chain")
    x = g.param("x", (N, N), dtype=dtype)
    made: list[Any] = []
    for number in numbers:
        x = stage(g, x, number)
        made.append(x)
    g.set_outputs(made)
    return g


def powers(numbers: Sequence[float]) -> rlx.Graph:
    """Each power in a kernel of its own."""
    g = rlx.Graph("powers")
    x = g.input("x", (N, N), dtype="f64")
    made: list[Any] = []
    for number in numbers:
        x = g.softmax(x.T**number, axis=-1)
        made.append(x)
    g.set_outputs(made)
    return g


def kernels(g: rlx.Graph) -> int:
    return sum(isinstance(op, KernelOp) for op in lower_to_lir(g.module.clone(), 1).ops)


def results(g: rlx.Graph, **arrays: Any) -> list[Any]:
    found = rlx.compile(g)(**arrays)
    return list(found) if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16"])
def test_one_kernel_has_the_digits_of_many(dtype: str) -> None:
    g = chain(NUMBERS, dtype)
    assert kernels(g) == kernels(chain(NUMBERS[:1], dtype))
    x = oracle.convert(np.random.default_rng(3).standard_normal((N, N)), oracle.numpy_dtype(dtype))
    for number, result in zip(NUMBERS, results(g, x=x), strict=True):
        np.testing.assert_array_equal(result, results(chain((number,), dtype), x=x)[0])
        x = result


def test_gradient() -> None:
    g = rlx.Graph("loss")
    x = g.param("x", (N, N), dtype="f64")
    for number in NUMBERS:
        x = stage(g, x, number)
    g.set_outputs(g.reduce_sum(g.sin(x)))

    def loss(x: Any) -> Any:
        for number in NUMBERS:
            x = jax.nn.softmax(jnp.sin(x.T * number) / (number + 0.07), axis=-1) - number
        return jnp.sum(jnp.sin(x))

    start = np.random.default_rng(5).standard_normal((N, N))
    found = results(rlx.grad(g, ["x"]), x=start)[-1]
    oracle.assert_close(found, np.asarray(jax.grad(loss)(start)), 64)


def test_powers_of_whole_numbers_stay_inside() -> None:
    """Their kernels know the number, and with it the signs of the results."""
    assert kernels(powers((3.0, 5.0))) == 2
    assert kernels(powers((0.3, 0.7))) == 1
    x = np.random.default_rng(2).uniform(0.5, 2, (N, N))
    for numbers in ((3.0, 5.0), (0.3, 0.7)):
        expected = x
        for number, result in zip(numbers, results(powers(numbers), x=x), strict=True):
            raised = np.exp(expected.T**number)
            expected = raised / raised.sum(-1, keepdims=True)
            oracle.assert_close(result, expected, 16)


def scaled(numbers: Sequence[float]) -> rlx.Graph:
    """Parts of sums and products, each in a kernel of its own."""
    g = rlx.Graph("scaled")
    x = g.input("x", (N, N), dtype="f64")
    made: list[Any] = []
    for number in numbers:
        x = g.softmax(g.tanh(x.T * number - number) + number, axis=-1)
        made.append(x)
    g.set_outputs(made)
    return g


def test_whole_numbers_and_powers_of_two_of_sums_and_products_are_passed() -> None:
    """But for 1 and 0, which leave nothing to compute."""
    numbers = (2.0, 0.5, 3.0, -4.0)
    assert kernels(scaled(numbers)) == 1
    assert kernels(scaled((*numbers, 1.0))) == 2
    x = np.random.default_rng(2).standard_normal((N, N))
    for number, result in zip(numbers, results(scaled(numbers), x=x), strict=True):
        np.testing.assert_array_equal(result, results(scaled((number,)), x=x)[0])
        x = result


def test_numbers_of_loops_and_of_what_is_around_them() -> None:
    """One kernel serves a fusion in the body of a scan and one outside of it, each with its number."""
    g = rlx.Graph("loop")
    x = g.input("x", (N, N), dtype="f64")
    last, _ = g.scan(lambda c, e: (stage(g, stage(g, c, 0.3), 1.3), None), x, length=3)
    g.set_outputs(stage(g, last, -0.9))
    start = np.random.default_rng(8).standard_normal((N, N))
    expected = [start]
    for number in (0.3, 1.3) * 3 + (-0.9,):
        expected.append(results(chain((number,)), x=expected[-1])[0])
    np.testing.assert_array_equal(results(g, x=start)[0], expected[-1])


def test_what_all_share_stays_inside() -> None:
    """Only those numbers are passed that differ: here not the 0.07 that the slope is made of, nor a whole number."""
    g = rlx.Graph("shared")
    x = g.input("x", (N, N), dtype="f64")
    for number in (0.3, 0.6):
        x = g.softmax(g.sin(x.T * number) + 0.07, axis=-1) * 3.0
    g.set_outputs(x)
    module = g.module.clone()
    MirPrepareForFusionPass().apply(context(), module)
    MirFusePass().apply(context(), module)
    module.verify()
    inside = [
        op.value.get_values()[0]
        for op in module.walk()
        if isinstance(op, ConstantOp) and isinstance(op.parent_op(), FusionOp)
    ]
    assert sorted(inside) == [0.07, 0.07, 3.0, 3.0]
    assert [len(op.inputs) for op in module.walk() if isinstance(op, FusionOp)] == [2, 2]
