"""Splats as plain Python: what the camera sees, pictures and their derivatives."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from as_python import run_as_python
from numerics.families.splat import SAMPLES
from numerics.sample import Sample

from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module


@pytest.mark.parametrize("sample", [pytest.param(sample, id=sample.id) for sample in SAMPLES])
def test_splats_run_as_python(sample: Sample) -> None:
    graph: Any = SimpleNamespace(module=sample.module("f64"))
    inputs = sample.arrays("f64")
    found = run_as_python(graph, *inputs)
    compiled = compile_module(graph.module, effort=Effort.QUICK)(*inputs)
    for x, y in zip(found, compiled, strict=True):
        np.testing.assert_allclose(np.reshape(x, y.shape), y, rtol=1e-10, atol=1e-10 * np.abs(y).max(initial=1.0))
