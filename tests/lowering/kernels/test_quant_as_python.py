"""Nests of quantised weights and of integer products as plain Python: what the compiled ops give, bit for bit where no
product of BLAS is in between."""

from typing import Any

import numpy as np
import pytest
from as_python import run_as_python
from numerics.families import gguf, quant, quant_int
from numerics.sample import Sample

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.quant import DequantizeWeightsOp
from xdsl_rlx.dialects.mir.quant_schemes import Scheme
from xdsl_rlx.lowering.kernels import NEST
from xdsl_rlx.lowering.kernels import quant as panels

LARGEST = 1 << 14
"""Elements of a sample that Python is patient enough for."""

OTHERWISE = ("half", "across")
"""What becomes other ops before it has nests: half floats, and blocks that are parts of two rows."""


def _is_nest(sample: Sample) -> bool:
    elements = sum(int(np.prod(x.shape)) for x in sample.operands)
    return NEST.get(sample.op) is not None and elements < LARGEST and not sample.id.endswith(OTHERWISE)


SAMPLES = [sample for sample in (*quant.SAMPLES, *quant_int.SAMPLES, *gguf.SAMPLES) if _is_nest(sample)]
PRODUCTS = [sample for sample in SAMPLES if sample.op is not DequantizeWeightsOp and not sample.exact]


def _check(sample: Sample, pieces: int) -> None:
    arrays = sample.arrays(sample.dtypes[0])
    g = rlx.Graph("f")
    inputs: list[Any] = [g.input(f"x{n}", x.shape, x.dtype) for n, x in enumerate(arrays)]
    g.set_outputs([sample.build(g, *inputs)])
    (found,) = run_as_python(g, *arrays, pieces=pieces)
    (right,) = rlx.compile(g)(*arrays)
    assert found.dtype == right.dtype
    if sample.exact:
        np.testing.assert_array_equal(found, right)
    else:
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5 * np.abs(right).max(initial=1))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.id)
def test_nests_run_as_python(sample: Sample) -> None:
    _check(sample, pieces=2)


@pytest.mark.sampled
@pytest.mark.parametrize("many_rows", [1, 32])
@pytest.mark.parametrize("sample", PRODUCTS, ids=lambda sample: sample.id)
def test_products_of_several_panels_run_as_python(
    sample: Sample, many_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small panels of whole blocks, so that small weights are several in both directions, with a rest."""
    width = max([2, *(scheme.block for scheme in Scheme if scheme.removeprefix("gguf_") in sample.id)])
    for name, extent in (("PANEL", 2 * width), ("SQUARE", width), ("LONG", width), ("MANY_ROWS", many_rows)):
        monkeypatch.setattr(panels, name, extent)
    _check(sample, pieces=3)


def test_every_op_has_a_sample() -> None:
    ops = {sample.op for sample in (*quant.SAMPLES, *quant_int.SAMPLES, *gguf.SAMPLES)}
    assert {sample.op for sample in SAMPLES} == {op for op in ops if NEST.get(op) is not None}
