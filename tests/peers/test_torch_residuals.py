"""What graphs of `torch.compile` keep for their backward part, and what that part computes again."""

# Models of torch, and trees of any type.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from xdsl_rlx.frontends.hosts.torch_backend import xdsl_rlx


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch.compiler.reset()
    torch.manual_seed(0)
    yield


def kept(f: Callable[..., Any], *args: Any) -> list[tuple[int, ...]]:
    """Sizes of the tensors that autograd keeps of a call, which has eager's results and gradients."""
    sizes: list[tuple[int, ...]] = []
    found: list[list[Any]] = []
    for g in (f, torch.compile(f, backend=xdsl_rlx, options={"strict": True})):
        given = [x.detach().clone().requires_grad_(x.requires_grad) for x in args]
        sizes.clear()
        with torch.autograd.graph.saved_tensors_hooks(lambda x: sizes.append(tuple(x.shape)) or x, lambda x: x):
            result = g(*given)
        found.append([result.detach(), *torch.autograd.grad(result.sum(), [x for x in given if x.requires_grad])])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
    return sizes


def test_views_are_made_again():
    x, w = torch.randn(6, 8), torch.randn(4, 8, requires_grad=True)

    def f(x: Any, w: Any) -> Any:
        a, b = (x @ w.t()).view(2, 3, 4).permute(1, 0, 2).chunk(2, dim=2)
        return (a * b).sin()

    # the product, of which both halves are views, and arguments
    assert sorted(kept(f, x, w)) == [(6, 4), (6, 8)]


def test_elementwise_operators_are_computed_again():
    x = torch.randn(200, 300, requires_grad=True)
    assert kept(lambda x: ((x * 2 + 1).relu() * 3).sum(1), x) == [(200, 300)]


def test_what_takes_long_is_kept():
    x, w = torch.randn(64, 64, requires_grad=True), torch.randn(64, 64, requires_grad=True)
    assert len(kept(lambda x, w: ((x @ w) ** 2) @ w, x, w)) == 3


def test_an_argument_that_is_changed_is_not_read_again():
    x, state = torch.randn(500, requires_grad=True), torch.randn(500)

    def f(x: Any, state: Any) -> Any:
        y = (state * 2).sigmoid() * x.sin()
        state.mul_(0)
        return y

    kept(f, x, state)


def test_what_is_dropped_is_drawn_once():
    x = torch.ones(4000, requires_grad=True)
    y: Any = torch.compile(lambda x: torch.dropout(x * 2, 0.5, True) * 3, backend=xdsl_rlx, options={"strict": True})(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(gradient, y.detach())


def test_what_checkpoints_say_holds():
    x, w = torch.randn(40, 40, requires_grad=True), torch.randn(40, 40, requires_grad=True)

    def f(x: Any, w: Any) -> Any:
        return checkpoint(lambda x, w: ((x @ w * 0.1).sin() @ w * 0.1).tanh(), x, w, use_reentrant=False)

    assert sorted(kept(f, x, w)) == [(40, 40), (40, 40)]


def test_what_forward_keeps_is_overwritten_only_where_no_pass_reads_it_again() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 96), nn.Tanh(), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 64), nn.Tanh())
    model = model.double()
    compiled = torch.compile(model, backend="xdsl_rlx", options={"strict": True})
    x = torch.randn(80, 64, dtype=torch.float64)

    def gradients(call: Any, keeps: tuple[bool, ...]) -> list[Any]:
        model.zero_grad()
        loss = call(x).square().sum()
        for keep in keeps:
            loss.backward(retain_graph=keep)
        return [p.grad.clone() for p in model.parameters()]

    for keeps in ((False,), (True, True, False), (False,), (True, False)):
        found, expected = gradients(compiled, keeps), gradients(model, keeps)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


def test_views_of_one_memory_that_backward_reads_are_not_overwritten() -> None:
    def f(x: Any, w: Any) -> Any:
        h = torch.tanh(x @ w)
        return (h.T @ h).sin() @ (h.reshape(-1, 32).T @ h.reshape(-1, 32)).exp().tanh(), h.view(-1).cos().sum()

    compiled = torch.compile(f, backend="xdsl_rlx", options={"strict": True})
    x, w = (torch.randn(64, 64, dtype=torch.float64) / 8 for _ in range(2))
    w = w[:, :32].contiguous()

    def gradients(call: Any) -> list[Any]:
        inputs = [x.clone().requires_grad_(), w.clone().requires_grad_()]
        y, z = call(*inputs)
        (y.square().sum() + z).backward()
        return [one.grad for one in inputs]

    for _ in range(2):
        for one, other in zip(gradients(compiled), gradients(f), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)
