"""Whole models of PyTorch: 20 steps of training as eager takes them, by the backend and by `from_torch`."""

# Models of torch, and trees of any type.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingImports=false
# pyright: reportPrivateUsage=false, reportCallIssue=false, reportArgumentType=false

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from peers.torch_models import CASES, Case, Pinn, batches

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


def residual(u: Any, points: Any) -> Any:
    """The residual of the heat equation and of an initial value, for a function of one point."""

    def of_time(x: Any) -> Any:
        return rlx.grad(u)(x)[1]

    def of_place(x: Any) -> Any:
        return rlx.grad(lambda y: rlx.grad(u)(y)[0])(x)[0]

    inside = rlx.vmap(lambda x: (of_time(x) - 0.1 * of_place(x)) ** 2)(points)
    start = rlx.vmap(lambda x: (u(x * np.array([1.0, 0.0])) - np.sin(np.pi * x[0])) ** 2)(points)
    return np.mean(inside) + np.mean(start)


def torch_residual(u: Any, points: Any) -> Any:
    points = points.clone().requires_grad_()
    (first,) = torch.autograd.grad(u(points).sum(), points, create_graph=True)
    (second,) = torch.autograd.grad(first[:, 0].sum(), points, create_graph=True)
    start = u(points * torch.tensor([1.0, 0.0])) - torch.sin(torch.pi * points[:, 0])
    return ((first[:, 1] - 0.1 * second[:, 0]) ** 2).mean() + (start**2).mean()


def test_a_network_in_a_differential_equation() -> None:
    """Derivatives of the gradient of a module, three times in all."""
    torch.manual_seed(0)
    model = Pinn()
    torch.manual_seed(0)
    module = Pinn()
    points = [torch.rand(9, 2) for _ in range(STEPS)]
    eager = trained(model, lambda x: torch_residual(model, x), [(x,) for x in points])
    imported = from_torch(module, points[0][:1])

    def loss(params: Any, x: Any) -> Any:
        return residual(lambda p: imported.function(params, {}, p[None])[0][0], x)

    def step(params: Any, x: Any) -> Any:
        value, grads = rlx.value_and_grad(loss)(params, x)
        return value, {name: p - RATE * grads[name] for name, p in params.items()}

    compiled = rlx.compile(step, donate="params")
    losses = [float(compiled(imported.params, x)[0]) for x in points]
    np.testing.assert_allclose(losses, eager.losses, rtol=1e-8)


def test_vmap_over_models() -> None:
    """Five models as one, each with its own parameters and batch."""
    case = CASES["encoder"]
    models = [case.model() for _ in range(5)]
    given = batches(case, 5)
    imported = from_torch(models[0], *given[0])
    stacked = {name: np.stack([dict(m.named_parameters())[name].detach() for m in models]) for name in imported.params}
    inputs = tuple(np.stack([x.numpy() for x in column]) for column in zip(*given, strict=True))

    def loss(params: Any, *batch: Any) -> Any:
        return imported.function(params, {}, *batch)[0]

    values, grads = rlx.compile(rlx.vmap(rlx.value_and_grad(loss)))(stacked, *inputs)
    for n, (model, batch) in enumerate(zip(models, given, strict=True)):
        expected = model(*batch)
        expected.backward()
        np.testing.assert_allclose(values[n], expected.item(), rtol=1e-10)
        for name, p in model.named_parameters():
            np.testing.assert_allclose(grads[name][n], p.grad, rtol=1e-8, atol=1e-11)


def test_hessian() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.LayerNorm(4), torch.nn.Linear(4, 1))
    x = torch.randn(6, 3)
    imported = from_torch(model, x)
    name = "0.weight"

    def loss(weight: Any) -> Any:
        return np.mean(imported.function({**imported.params, name: weight}, {}, x)[0] ** 2)

    def eager(weight: Any) -> Any:
        return (torch.func.functional_call(model, {name: weight}, (x,)) ** 2).mean()

    ours = rlx.compile(rlx.hessian(loss))(imported.params[name])
    theirs = torch.autograd.functional.hessian(eager, model[0].weight.detach())
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


RECURRENT: dict[str, tuple[str, dict[str, Any]]] = {
    "lstm": ("LSTM", {"batch_first": True}),
    "projected lstm": ("LSTM", {"proj_size": 4}),
    "gru": ("GRU", {"bias": False}),
    "gru with biases": ("GRU", {}),
    "tanh": ("RNN", {}),
    "relu": ("RNN", {"nonlinearity": "relu", "bias": False}),
}


@pytest.mark.parametrize("kind", RECURRENT)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_recurrent_layers(kind: str, dtype: torch.dtype) -> None:
    """One step by the backend in both types; in float32 PyTorch has a kernel of its own for an LSTM."""
    torch.manual_seed(0)
    name, options = RECURRENT[kind]
    model = getattr(torch.nn, name)(5, 6, num_layers=2, bidirectional=True, **options).to(dtype)
    batch, size = 9 if model.batch_first else 3, getattr(model, "proj_size", 0) or 6
    given = [torch.randn(9, 3, 5, dtype=dtype), torch.randn(4, batch, size, dtype=dtype)]
    if name == "LSTM":
        given.append(torch.randn(4, batch, 6, dtype=dtype))
    found: list[dict[str, Any]] = []
    for call in (model, torch.compile(model, backend=xdsl_rlx, options={"strict": True})):
        x, *states = (one.clone().requires_grad_() for one in given)
        model.zero_grad()
        out, last = call(x, tuple(states) if len(states) > 1 else states[0])
        lasts = last if isinstance(last, tuple) else (last,)
        (out.sin().sum() + sum(one.square().sum() for one in lasts)).backward()
        grads = {name: p.grad.clone() for name, p in model.named_parameters()}
        found.append({**grads, "out": out.detach(), **{str(n): one.grad for n, one in enumerate((x, *states))}})
    tolerance = 1e-9 if dtype is torch.float64 else 1e-4
    for one, expected in found[0].items():
        np.testing.assert_allclose(found[1][one], expected, rtol=tolerance, atol=tolerance, err_msg=one)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("kind", "gates"), [("lstm", 4), ("gru", 3), ("rnn_tanh", 1)])
def test_what_a_recurrent_layer_keeps(kind: str, gates: int, reverse: bool) -> None:
    """The operator in PyTorch and in a program have the same results, so that either can read the other's."""
    torch.manual_seed(0)
    x, h, c = torch.randn(2, 7, 5), torch.randn(2, 3), torch.randn(2, 3) if kind == "lstm" else None
    weights = [torch.randn(gates * 3, n) for n in (5, 3)] + [torch.randn(gates * 3) for _ in range(2)] + [None]
    op = torch.ops.xdsl_rlx.recurrent_layer
    expected = op(x, h, c, *weights, kind, reverse)
    compiled = torch.compile(lambda *args: op(*args, kind, reverse), backend=xdsl_rlx, options={"strict": True})
    for ours, theirs in zip(compiled(x, h, c, *weights), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_projections_of_an_lstm() -> None:
    torch.manual_seed(0)
    model = torch.nn.LSTM(4, 6, num_layers=2, proj_size=3, batch_first=True)
    x = torch.randn(2, 5, 4)
    out, (h, c) = model(x)
    imported = from_torch(model, x)
    (ours, (our_h, our_c)), _ = imported.function(imported.params, {}, x)
    for mine, other in ((ours, out), (our_h, h), (our_c, c)):
        np.testing.assert_allclose(mine, other.detach(), rtol=1e-10, atol=1e-12)


def test_dropout_between_layers_and_in_attention() -> None:
    """Dropout is drawn anew at each step, keeps the mean, and a key gives the same numbers again."""
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.5, batch_first=True)
    x = torch.randn(2, 6, 16)
    imported = from_torch(layer, x)
    first, second, again = (imported.function(imported.params, {}, x, key=rlx.key(seed))[0] for seed in (0, 1, 0))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, second)
    compiled = torch.compile(layer, backend=xdsl_rlx, options={"strict": True})
    torch.manual_seed(0)
    one, other = compiled(x), compiled(x)
    torch.manual_seed(0)
    np.testing.assert_array_equal(compiled(x).detach(), one.detach())
    assert not torch.allclose(one, other)
    one.sum().backward()
    layer.eval()
    np.testing.assert_allclose(compiled(x).detach(), layer(x).detach(), rtol=1e-9, atol=1e-12)
