"""What the benchmark times is right: on every workload our loss and gradients are JAX's, to f32 rounding."""

import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import xdsl_rlx as rlx

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import ops
import workloads

TOLERANCE = 2e-5


@pytest.mark.parametrize("key", workloads.WORKLOADS)
def test_loss_and_gradients_are_those_of_jax(key: str) -> None:
    work = workloads.WORKLOADS[key]
    data = work.data()
    graph = rlx.Graph(f"workload_{key}")
    values: dict[str, Any] = {
        name: (graph.param if name in work.wrt else graph.input)(name, array.shape, dtype=array.dtype)
        for name, array in data.items()
    }
    graph.set_outputs([work.loss(ops.RlxOps(graph), values)])
    ours = rlx.compile(rlx.grad_with_loss(graph, wrt=list(work.wrt)))(**data)

    jax_ops = ops.JaxOps()
    rest = {name: array for name, array in data.items() if name not in work.wrt}
    step = jax.jit(jax.value_and_grad(lambda parameters: work.loss(jax_ops, {**parameters, **rest})))
    loss, gradients = step({name: data[name] for name in work.wrt})
    for found, expected in zip(ours, [loss, *(gradients[name] for name in work.wrt)], strict=True):
        expected = np.asarray(expected)
        assert found.shape == expected.shape and found.dtype == np.float32
        assert np.linalg.norm(found - expected) <= TOLERANCE * np.linalg.norm(expected)
