"""What could depend on the processor compiled for: sums within their claims on each level, all else equal bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from levels import EVERY, LEVELS, OTHERS
from numpy.typing import NDArray

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.machine import cpu

Array = NDArray[Any]
EPS = np.finfo(np.float32).eps
LONG = 200_000


def compiled(build: Callable[..., Any], level: str, *arrays: Array) -> tuple[Array, ...]:
    """The results of a graph of these inputs, compiled for a level."""
    g = rlx.Graph("f")
    made = build(g, *(g.input(f"x{i}", a.shape, dtype=a.dtype) for i, a in enumerate(arrays)))
    g.set_outputs(list(made))
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(cpu.VARIABLE, level)
        step = rlx.compile(g, threads=2)
    return step(*arrays)


SUMS = (
    "rows",
    "everything",
    "columns",
    "every fourth element",
    "rows of exp",
    "mean of squares",
    "layer norm",
    "rms norm",
    "softmax",
    "cross-entropy",
)


def sums(g: rlx.Graph, x: Any, labels: Any) -> list[Any]:
    """What `SUMS` names, in that order."""
    one = g.constant(np.ones(x.shape[1], np.float32))
    return [
        g.reduce_sum(x, [1]),
        g.reduce_sum(x),
        g.reduce_sum(g.reshape(x, (-1, 4)), [0]),
        g.reduce_sum(g.narrow(g.reshape(x, (-1, 4)), 1, 1, 1)),
        g.reduce_sum(g.exp(x), [1]),
        g.reduce_mean(x * x, [1]),
        g.layer_norm(x, one, one) - 1.0,
        g.rms_norm(x, one, one) - 1.0,
        g.softmax(x),
        g.softmax_cross_entropy_with_logits(x, labels),
    ]


def exact_sums(x: Array, labels: Array) -> list[Array]:
    centred = x - x.mean(1, keepdims=True)
    e = np.exp(x)
    return [
        x.sum(1),
        x.sum(),
        x.reshape(-1, 4).sum(0),
        x.reshape(-1, 4)[:, 1].sum(),
        e.sum(1),
        (x * x).mean(1),
        centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5),
        x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5),
        e / e.sum(1, keepdims=True),
        np.log(e.sum(1)) - x[np.arange(len(x)), labels],
    ]


def units(found: Array, exact: Array) -> float:
    """The largest error in units of the type's epsilon of the largest element."""
    return float(np.max(np.abs(found - exact)) / np.max(np.abs(exact)) / np.finfo(found.dtype).eps)


def worst_sums(level: str) -> list[float]:
    """Errors of the sums of 200,000 random and of as many equal numbers: the larger of both."""
    equal = np.full((2, LONG), 0.1, np.float32)
    random = np.random.default_rng(0).random((2, LONG), np.float32)
    labels = np.array([5, LONG - 1], np.int32)
    errors = list[list[float]]()
    for x in (random, equal):
        found = compiled(sums, level, x, labels)
        expected = exact_sums(x.astype(np.longdouble), labels)
        pairs = zip(found, expected, strict=True)
        # of equal numbers a layer norm is noise by definition
        errors.append([0.0 if np.max(np.abs(b)) < 1e-6 else units(a, b) for a, b in pairs])
    return [max(pair) for pair in zip(*errors, strict=True)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.optimised
def test_long_sums_keep_their_claims_on_every_level(level: str):
    """docs/math.md: more units where vectors are short, and where a loop needs the fma that the processor has not."""
    errors = worst_sums(level)
    assert max(errors) < (45 if level in ("x86-64", "x86-64-v2") else 12), errors


def strict(g: rlx.Graph, x: Any, many: Any) -> list[Any]:
    """What is computed in an order of its own: elementwise ops, running sums, extremes, transforms, random numbers."""
    functions = [g.exp, g.erf, g.log, g.sin]
    if EVERY:
        functions += [g.tanh, g.gelu, g.gelu_approx, g.sigmoid, g.silu, g.tan, g.atan, g.rsqrt]
    return [
        *(function(x) for function in functions),
        g.pow(g.abs(x), x),
        g.cumsum(many, axis=1),
        g.cumsum(many, axis=1, reverse=True, exclusive=True),
        g.reduce_max(many, [1]),
        g.rfft(g.narrow(many, 1, 0, 400)),
        g.fft(g.complex(x, x)),
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64] if EVERY else [np.float32])
def test_what_is_no_sum_is_the_same_to_the_bit_on_every_level(dtype: Any):
    rng = np.random.default_rng(1)
    arrays = (rng.normal(0, 3, (4, 250)).astype(dtype), rng.random((2, 30_001)).astype(dtype))
    expected = compiled(strict, cpu.NATIVE, *arrays)
    for level in OTHERS:
        for number, (a, b) in enumerate(zip(compiled(strict, level, *arrays), expected, strict=True)):
            np.testing.assert_array_equal(a, b, err_msg=f"result {number} on {level}")


def worst_transform(level: str, points: int, dtype: Any) -> float:
    """The error of a Fourier transform of random numbers, in units of the largest bin."""
    rng = np.random.default_rng(points)
    z = (rng.normal(size=(8, points)) + 1j * rng.normal(size=(8, points))).astype(dtype)
    (found,) = compiled(lambda g, z: [g.fft(z)], level, z)
    return units(found, np.fft.fft(z.astype(np.complex128)))
