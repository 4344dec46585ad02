"""Whole models of PyTorch: 20 steps of training as eager takes them, by the backend and by `from_torch`."""

# Models of torch, and trees of any type.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch_models import CASES, Case, batches

import xdsl_rlx as rlx
from xdsl_rlx.frontends.aten.imported_module import from_torch
from xdsl_rlx.frontends.hosts.torch_backend import xdsl_rlx

STEPS = 20
RATE = 0.05


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    torch._dynamo.reset()
    torch._dynamo.config.allow_rnn = True
    yield
    torch.set_default_dtype(torch.float32)


@dataclass
class Run:
    """Of each step the loss, the gradients and the buffers."""

    losses: list[float]
    gradients: list[dict[str, Any]]
    buffers: list[dict[str, Any]]


def trained(model: torch.nn.Module, call: Any, given: list[Any]) -> Run:
    """Train by SGD; `call` returns the loss."""
    run = Run([], [], [])
    optimiser = torch.optim.SGD(model.parameters(), RATE)
    for batch in given:
        optimiser.zero_grad()
        loss = call(*batch)
        loss.backward()
        run.losses.append(float(loss))
        run.gradients.append({n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None})
        optimiser.step()
        run.buffers.append({n: b.clone() for n, b in model.named_buffers()})
    return run


def assert_equal(ours: Run, theirs: Run) -> None:
    np.testing.assert_allclose(ours.losses, theirs.losses, rtol=1e-9)
    for mine, other in ((ours.gradients, theirs.gradients), (ours.buffers, theirs.buffers)):
        for step, (a, b) in enumerate(zip(mine, other, strict=True)):
            assert a.keys() == b.keys()
            for name in a:
                np.testing.assert_allclose(a[name], b[name], rtol=1e-7, atol=1e-9, err_msg=f"{name}, step {step}")


def made(case: Case) -> torch.nn.Module:
    torch.manual_seed(0)
    return case.model()


@pytest.mark.parametrize("name", CASES)
def test_backend(name: str) -> None:
    case = CASES[name]
    given = batches(case, STEPS)
    model = made(case)
    eager = trained(model, model, given)
    model = made(case)
    compiled = torch.compile(model, backend=xdsl_rlx, options={"strict": True})
    assert_equal(trained(model, compiled, given), eager)


@pytest.mark.parametrize("name", CASES)
def test_from_torch(name: str) -> None:
    case = CASES[name]
    given = batches(case, STEPS)
    model = made(case)
    eager = trained(model, model, given)
    module = made(case)
    trains = {n for n, p in module.named_parameters() if p.requires_grad}
    imported = from_torch(module, *given[0])

    def step(params: Any, buffers: Any, *batch: Any) -> Any:
        def loss(trained: Any) -> Any:
            return imported.function({**params, **trained}, buffers, *batch)

        (value, buffers), grads = rlx.value_and_grad(loss, has_aux=True)({n: params[n] for n in trains})
        return value, {n: p - RATE * grads[n] if n in trains else p for n, p in params.items()}, buffers

    compiled = rlx.compile(step, donate=("params", "buffers"))
    losses = [float(compiled(imported.params, imported.buffers, *batch)[0]) for batch in given]
    np.testing.assert_allclose(losses, eager.losses, rtol=1e-9)
    other = model.state_dict()
    for key, value in module.state_dict().items():
        np.testing.assert_allclose(value, other[key], rtol=1e-7, atol=1e-9, err_msg=key)


__all__ = ["copy"]
