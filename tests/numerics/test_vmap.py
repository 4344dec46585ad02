"""`mir-vmap` of every sample against a Python loop: each operand batched alone, all at once, the new axis anywhere."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import oracle
import pytest
from numerics.samples import SAMPLES, Sample
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xdsl_rlx.transforms.mir_vmap import MirVmapPass

Array = np.ndarray[Any, Any]

SIZE = 3
BATCHED = [pytest.param(s, id=s.id) for s in SAMPLES if s.operands]


def dtype_of(sample: Sample) -> str:
    """The widest element type of a sample: the batched program may sum in another order."""
    return "f64" if "f64" in sample.dtypes else sample.dtypes[0]


def vmapped(module: ModuleOp, operands: Sequence[int], size: int, in_axes: Sequence[int] = ()) -> ModuleOp:
    """The verified program of a copy of the module, for a batch of some of its operands."""
    batched = module.clone()
    MirVmapPass(tuple(f"x{i}" for i in operands), size, tuple(in_axes)).apply(Context(), batched)
    batched.verify()
    return batched


def batches(sample: Sample, dtype: str, operands: Sequence[int], size: int = SIZE) -> list[list[Array]]:
    """Arrays for each example of a batch: others for the operands that are batched, the same for the rest."""
    first = sample.arrays(dtype)
    examples = [sample.arrays(dtype, seed) for seed in range(size)]
    return [[x if i in operands else first[i] for i, x in enumerate(example)] for example in examples]


def stacked(examples: Sequence[Sequence[Array]], operands: Sequence[int], in_axes: Sequence[int] = ()) -> list[Array]:
    """The arguments of the batched program."""
    at = dict(zip(operands, in_axes or [0] * len(operands), strict=True))
    return [np.stack(xs, axis=at[i]) if i in at else xs[0] for i, xs in enumerate(zip(*examples, strict=True))]


def loop(module: ModuleOp, examples: Sequence[Sequence[Array]]) -> list[Array]:
    """The results of one example after the other, stacked."""
    return [np.stack(results) for results in zip(*(oracle.evaluate(module, *xs) for xs in examples), strict=True)]


def check(sample: Sample, dtype: str, operands: Sequence[int], results: Sequence[Array], expected: Sequence[Array]):
    for result, reference in zip(results, expected, strict=True):
        oracle.assert_close(result, reference, 4 * sample.tol)


@pytest.mark.parametrize("sample", BATCHED)
def test_a_batch_is_a_loop(sample: Sample):
    dtype, everything = dtype_of(sample), list(range(len(sample.operands)))
    module = sample.module(dtype)
    for operands in [everything, *([i] for i in everything if len(everything) > 1)]:
        examples = batches(sample, dtype, operands)
        results = oracle.evaluate(vmapped(module, operands, SIZE), *stacked(examples, operands))
        check(sample, dtype, operands, results, loop(module, examples))
