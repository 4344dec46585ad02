"""Shared by the derivative tests: derived programs of samples, finite differences, comparison of arrays."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import oracle
from numerics.sample import Sample
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xdsl_rlx.lowering.prepare.mir_prepare_for_ad import MirPrepareForAdPass
from xdsl_rlx.transforms.mir_grad import MirGradPass
from xdsl_rlx.transforms.mir_jvp import MirJvpPass
from xdsl_rlx.transforms.signature import graph_of

Array = np.ndarray[Any, Any]


def names(sample: Sample) -> tuple[str, ...]:
    """The arguments of a sample that are differentiated."""
    return tuple(f"x{index}" for index in sample.differentiable)


def gradient(module: ModuleOp, wrt: Sequence[str], prepare: bool = True) -> ModuleOp:
    """The verified gradient program of a copy of the module; zeros where nothing flows."""
    derived = module.clone()
    if prepare:
        MirPrepareForAdPass().apply(Context(), derived)
    MirGradPass(tuple(wrt), zero_missing_wrt=True).apply(Context(), derived)
    derived.verify()
    return derived


def gradient_only(module: ModuleOp, wrt: str) -> ModuleOp:
    """The gradient program with the gradient as its only result."""
    derived = gradient(module, [wrt])
    graph = graph_of(derived, "test")
    graph.set_outputs(graph.outputs[-1:])
    derived.verify()
    return derived


def tangent(module: ModuleOp, wrt: Sequence[str]) -> ModuleOp:
    """The verified forward-mode program of a copy of the module."""
    derived = module.clone()
    MirJvpPass(tuple(wrt)).apply(Context(), derived)
    derived.verify()
    return derived


@cache
def gradient_of(sample: Sample, dtype: str = "f64") -> ModuleOp:
    """The gradient program of a sample, derived once for all tests: change a clone."""
    return gradient(sample.module(dtype), names(sample))


@cache
def tangent_of(sample: Sample) -> ModuleOp:
    """The forward-mode program of a sample in f64, derived once for all tests: change a clone."""
    return tangent(sample.module("f64"), names(sample))


def vjp(sample: Sample, dtype: str, inputs: Sequence[Array], cotangent: Array) -> list[Array]:
    """The cotangents of a sample's differentiated operands, computed by the oracle on the gradient program."""
    return oracle.evaluate(gradient_of(sample, dtype), *inputs, cotangent)[-len(sample.differentiable) :]


def like(x: Array, rng: np.random.Generator) -> Array:
    """Normally distributed numbers of the shape and type of `x`; of complex ones, both parts are."""
    numbers = np.asarray(rng.standard_normal(x.shape))
    if x.dtype.kind == "c":
        numbers = numbers + 1j * np.asarray(rng.standard_normal(x.shape))
    return np.asarray(numbers).astype(x.dtype)


def inner(g: Array, y: Array) -> float:
    """The sum of `re g re y + im g im y`, of which `g` is the gradient in `y`."""
    return float(np.sum((np.conj(g) * y).real))


def directions_of(x: Array) -> tuple[complex, ...]:
    """Along what an element is varied: the real axis, and the imaginary one where there is one."""
    return (1.0, 1j) if x.dtype.kind == "c" else (1.0,)


def result_like(sample: Sample, dtype: str, rng: np.random.Generator) -> Array:
    """Normally distributed numbers of the shape of the sample's first result."""
    (first, *_) = oracle.evaluate(sample.module(dtype), *sample.arrays(dtype))
    return like(first, rng)


def directions(sample: Sample, dtype: str, rng: np.random.Generator) -> list[Array]:
    """Normally distributed numbers like the differentiated operands."""
    arrays = sample.arrays(dtype)
    return [like(arrays[i], rng) for i in sample.differentiable]


def slope(f: Callable[[float], float], step: float) -> float:
    """The derivative of `f` at 0 by central differences of fourth order."""
    return (8 * (f(step) - f(-step)) - (f(2 * step) - f(-2 * step))) / (12 * step)


def close(got: Array, expected: Array, tol: float, scale: float = 1.0) -> None:
    """Equal to `tol` times the largest finite magnitude (at least `scale`); NaN and infinities in the same places."""
    assert got.shape == expected.shape and got.dtype == expected.dtype
    wide, right = oracle.widen(got), oracle.widen(expected)
    finite = np.abs(right[np.isfinite(right)])
    largest = max(scale, float(finite.max()) if finite.size else 0.0)
    np.testing.assert_allclose(wide, right, rtol=0, atol=tol * largest)
