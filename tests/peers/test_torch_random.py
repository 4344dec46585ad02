"""Random numbers of compiled graphs: distributed as PyTorch's, drawn anew by each call, and the same from a seed."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch

from xdsl_rlx.frontends.hosts.torch_backend import xdsl_rlx

NUMBERS = 20_000
"""Numbers drawn of each distribution."""

LARGEST = 0.025
"""Between the distribution functions of two samples; of equal distributions one in 100,000 pairs differs by more."""

DRAWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "rand": lambda x: torch.rand_like(x),
    "randn": lambda x: torch.randn(x.shape),
    "randint": lambda x: torch.randint(3, 17, x.shape),
    "normal": lambda x: torch.normal(x * 2 + 1, 3.0),
    "uniform_": lambda x: torch.empty_like(x).uniform_(-2, 5),
    "exponential_": lambda x: torch.empty_like(x).exponential_(1.5),
    "cauchy_": lambda x: torch.empty_like(x).cauchy_(1.0, 2.0),
    "log_normal_": lambda x: torch.empty_like(x).log_normal_(0.5, 0.75),
    "geometric_": lambda x: torch.empty_like(x).geometric_(0.3),
    "bernoulli": lambda x: torch.bernoulli(x * 0 + 0.3),
    "bernoulli_": lambda x: torch.empty_like(x).bernoulli_(0.7),
    "poisson": lambda x: torch.poisson(x * 0 + 4),
    "binomial": lambda x: torch.binomial(x * 0 + 10, x * 0 + 0.4),
    "multinomial": lambda x: torch.multinomial(torch.tensor([0.1, 0.2, 0.3, 0.4]), len(x), replacement=True),
    "randperm": lambda x: torch.randperm(len(x))[:10_000],
    "dropout": lambda x: torch.nn.functional.dropout(x + 1, 0.4),
    "rrelu": lambda x: torch.nn.functional.rrelu(x - 1, 0.1, 0.6, training=True),
    "alpha_dropout": lambda x: torch.nn.functional.alpha_dropout(x + 1, 0.4, training=True),
}


def _compiled(draw: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    torch.compiler.reset()
    return torch.compile(draw, backend=partial(xdsl_rlx, options={"strict": True}))


def _difference(x: torch.Tensor, y: torch.Tensor) -> float:
    """The largest difference between the distribution functions of two samples."""
    x, y = x.flatten().double().sort().values, y.flatten().double().sort().values
    at = torch.cat([x, y])
    below = [torch.searchsorted(one, at, right=True) / len(one) for one in (x, y)]
    return (below[0] - below[1]).abs().max().item()


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_are_distributed_as_in_pytorch(name: str) -> None:
    x, draw = torch.zeros(NUMBERS), DRAWS[name]
    compiled = _compiled(draw)
    torch.manual_seed(0)
    first, second = compiled(x), compiled(x)
    assert first.dtype == draw(x).dtype
    assert _difference(first, draw(x)) < LARGEST
    assert not torch.equal(first, second)
    torch.manual_seed(0)
    assert torch.equal(compiled(x), first)


def test_a_permutation_and_draws_without_replacement_have_all_numbers_once() -> None:
    assert _compiled(lambda x: torch.randperm(len(x)))(torch.zeros(99)).sort().values.tolist() == list(range(99))
    drawn = _compiled(lambda x: torch.multinomial(x, 50))(torch.rand(3, 50) + 0.1)
    assert drawn.sort().values.tolist() == [list(range(50))] * 3
