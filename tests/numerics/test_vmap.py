"""`mir-vmap` of samples against a Python loop: each operand batched alone, all at once, the new axis anywhere."""

from collections.abc import Sequence
from itertools import product
from typing import Any
from zlib import crc32

import numpy as np
import oracle
import pytest
from levels import EVERY
from numerics.choice import DIFFERENTIABLE, EFFORT, is_own, thinned
from numerics.compiled import run
from numerics.derivatives import gradient, gradient_of, names, result_like, tangent, tangent_of
from numerics.families import SAMPLES
from numerics.sample import Sample
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xdsl_rlx.transforms.mir_vmap import MirVmapPass
from xdsl_rlx.transforms.rules import VJP, VMAP

Array = np.ndarray[Any, Any]

SIZE = 3
BATCHED = [pytest.param(s, id=s.id) for s in thinned([s for s in SAMPLES if s.operands], 1)]
ONE_PER_OP = {s.op: s for s in reversed(SAMPLES) if s.operands}
"""The first sample of each op that has operands."""

FIRST = [pytest.param(s, id=s.id) for s in ONE_PER_OP.values()]
BY_RULE = [pytest.param(s, id=s.id) for s in ONE_PER_OP.values() if is_own(s, VMAP)]
DIFFERENTIABLE_FIRST = [
    pytest.param(s, id=s.id)
    for s in {s.op: s for s in reversed(DIFFERENTIABLE) if "f64" in s.dtypes}.values()
    if is_own(s, VJP)
]


def dtype_of(sample: Sample) -> str:
    """The widest element type of a sample, because the batched program may sum in another order."""
    return "f64" if "f64" in sample.dtypes else sample.dtypes[0]


def vmapped(module: ModuleOp, operands: Sequence[int], size: int = SIZE, in_axes: Sequence[int] = ()) -> ModuleOp:
    """The verified program of a copy of the module, for a batch of some of its operands."""
    batched = module.clone()
    MirVmapPass(tuple(f"x{i}" for i in operands), size, tuple(in_axes)).apply(Context(), batched)
    batched.verify()
    return batched


def examples_of(sample: Sample, operands: Sequence[int], size: int = SIZE) -> list[list[Array]]:
    """Arrays for each example of a batch: others for the operands that are batched, the same for the rest."""
    made = [sample.arrays(dtype_of(sample), seed) for seed in range(size)]
    return [[x if i in operands else made[0][i] for i, x in enumerate(example)] for example in made]


def stacked(examples: Sequence[Sequence[Array]], operands: Sequence[int], in_axes: Sequence[int] = ()) -> list[Array]:
    """The arguments of the batched program."""
    at = dict(zip(operands, in_axes or [0] * len(operands), strict=True))
    return [np.stack(xs, axis=at[i]) if i in at else xs[0] for i, xs in enumerate(zip(*examples, strict=True))]


def anywhere(sample: Sample, operands: Sequence[int]) -> list[int]:
    """A place for the new axis of each operand, counted from either end, another from sample to sample."""
    ranks = [len(sample.operands[i].shape) + 1 for i in operands]
    turn = crc32(sample.id.encode())
    return [(turn // (j + 1)) % (2 * rank) - rank for j, rank in enumerate(ranks)]


def alone(sample: Sample, everything: Sequence[int]) -> Sequence[int]:
    """Which operands are batched alone: of the first sample of an op, and with EVERY_SAMPLE of all, each of several."""
    if len(everything) == 1:
        return []
    if EVERY or sample is ONE_PER_OP[sample.op]:
        return everything
    return [everything[crc32(sample.id.encode()) % len(everything)]]


def loop(module: ModuleOp, examples: Sequence[Sequence[Array]]) -> list[Array]:
    """The results of one example after the other, stacked."""
    return [np.stack(results) for results in zip(*(oracle.evaluate(module, *xs) for xs in examples), strict=True)]


def same(results: Sequence[Array], expected: Sequence[Array], tol: float) -> None:
    for result, reference in zip(results, expected, strict=True):
        oracle.assert_close(result, reference, tol)


@pytest.mark.parametrize("sample", BATCHED)
def test_a_batch_is_a_loop(sample: Sample):
    everything, module = list(range(len(sample.operands))), sample.module(dtype_of(sample))
    for operands in [everything, *([i] for i in alone(sample, everything))]:
        examples, axes = examples_of(sample, operands), anywhere(sample, operands)
        results = oracle.evaluate(vmapped(module, operands, SIZE, axes), *stacked(examples, operands, axes))
        same(results, loop(module, examples), 4 * sample.tol)


@pytest.mark.parametrize("sample", BY_RULE)
def test_a_compiled_batch_is_a_loop(sample: Sample):
    everything, module = list(range(len(sample.operands))), sample.module(dtype_of(sample))
    chosen = (
        [everything, everything[-1:]] if EVERY else [everything if crc32(sample.id.encode()) % 2 else everything[-1:]]
    )
    for operands in chosen:
        examples = examples_of(sample, operands)
        results = run(vmapped(module, operands), *stacked(examples, operands), effort=EFFORT)
        same(results, loop(module, examples), 4 * sample.tol)


@pytest.mark.parametrize("sample", FIRST)
def test_a_batch_of_none_and_of_one(sample: Sample):
    operands, module = list(range(len(sample.operands))), sample.module(dtype_of(sample))
    examples = examples_of(sample, operands, 1)
    arguments, expected = stacked(examples, operands), loop(module, examples)
    for size in (0, 1):
        results = oracle.evaluate(vmapped(module, operands, size), *(x[:size] for x in arguments))
        same(results, [y[:size] for y in expected], 4 * sample.tol)


@pytest.mark.parametrize("sample", FIRST)
def test_a_batch_of_batches(sample: Sample):
    """The outer batch has the first operand, the inner one the others."""
    outer, module = [0], sample.module(dtype_of(sample))
    inner = list(range(1, len(sample.operands))) or outer
    examples = [examples_of(sample, outer), examples_of(sample, inner, 2)]
    first, others = examples[0], examples[1]
    program = vmapped(vmapped(module, inner, 2), outer)
    if inner == outer:
        arguments = [np.stack([[a[0], a[0]] for a in first])]
        expected = [np.stack([y, y], axis=1) for y in loop(module, first)]
    else:
        arguments = [np.stack([a[0] for a in first]), *(np.stack(xs) for xs in list(zip(*others, strict=True))[1:])]
        pairs = [loop(module, [[a[0], *other[1:]] for other in others]) for a in first]
        expected = [np.stack(ys) for ys in zip(*pairs, strict=True)]
    same(oracle.evaluate(program, *arguments), expected, 4 * sample.tol)


@pytest.mark.parametrize("axes", list(product((0, 1, 2, -1, -2), (0, 1, 3, -1, -4))))
def test_the_new_axis_is_where_in_axes_says(axes: tuple[int, int]):
    sample = next(s for s in SAMPLES if s.id == "matmul-shared-lhs")
    module, operands = sample.module("f64"), [0, 1]
    examples = examples_of(sample, operands)
    program = vmapped(module, operands, SIZE, axes)
    same(oracle.evaluate(program, *stacked(examples, operands, axes)), loop(module, examples), 64)


@pytest.mark.parametrize("sample", DIFFERENTIABLE_FIRST)
def test_gradients_of_examples_are_a_batch_of_the_gradient(sample: Sample):
    """The derivative of each example by itself, the cotangent too."""
    operands, program = list(range(len(sample.operands))), gradient_of(sample)
    cotangents = [result_like(sample, "f64", np.random.default_rng(seed)) for seed in range(SIZE)]
    examples = [[*xs, g] for xs, g in zip(examples_of(sample, operands), cotangents, strict=True)]
    batched = program.clone()
    MirVmapPass((*(f"x{i}" for i in operands), "d_output"), SIZE).apply(Context(), batched)
    batched.verify()
    results = oracle.evaluate(batched, *stacked(examples, range(len(operands) + 1)))
    same(results, loop(program, examples), 16 * sample.tol)


@pytest.mark.parametrize("sample", DIFFERENTIABLE_FIRST)
def test_what_a_batch_makes_is_differentiable(sample: Sample):
    """The gradient of the batch is the gradient of each example; its tangent that of each."""
    wrt, operands = names(sample), list(range(len(sample.operands)))
    module = sample.module("f64")
    examples = examples_of(sample, operands)
    cotangents = [result_like(sample, "f64", np.random.default_rng(seed)) for seed in range(SIZE)]
    alone = [[*xs, g] for xs, g in zip(examples, cotangents, strict=True)]
    batched = vmapped(module, operands)
    results = oracle.evaluate(gradient(batched, wrt), *stacked(examples, operands), np.stack(cotangents))
    same(results, loop(gradient_of(sample), alone), 16 * sample.tol)
    moved = [[*xs, *(np.cos(xs[i]) for i in sample.differentiable)] for xs in examples]
    arguments = stacked(moved, range(len(moved[0])))
    same(oracle.evaluate(tangent(batched, wrt), *arguments), loop(tangent_of(sample), moved), 16 * sample.tol)
