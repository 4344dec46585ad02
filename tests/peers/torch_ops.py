"""Runs the samples of an operator of PyTorch's OpInfo database through the backend of `torch.compile`, and eagerly."""

# pyright: reportMissingImports=false

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from xdsl_rlx.frontends.hosts.torch_backend import xdsl_rlx

TYPES = (torch.float64, torch.float32)
"""Element types that operators are run in; one that supports neither runs in the first of `OTHER_TYPES`."""

OTHER_TYPES = (torch.int64, torch.bool, torch.complex128, torch.bfloat16)

TOLERANCES = {torch.float64: 1e-9, torch.complex128: 1e-9, torch.float32: 2e-4, torch.complex64: 2e-4}
"""Largest difference from eager, relative to the largest element or 1; exact in other types."""

LARGEST = 20_000
"""Elements of the largest sample that is run."""


class Different(AssertionError):
    """A result differs from eager's."""


@dataclass(frozen=True)
class Outcome:
    """How the samples of an operator ran: how many forward and backward, and why the first one failed that did."""

    forward: int
    backward: int
    failure: str = ""


def name_of(info: Any) -> str:
    """The name of an entry: that of the operator, with its variant."""
    return f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name


ENTRIES = {name_of(info): info for info in op_db}
"""All entries of PyTorch's database, by name."""


def types_of(info: Any) -> list[torch.dtype]:
    """The element types that an operator is run in."""
    supported = info.supported_dtypes("cpu")
    return [one for one in TYPES if one in supported] or [one for one in OTHER_TYPES if one in supported][:1]


def samples_of(info: Any, dtype: torch.dtype, most: int) -> Iterator[Any]:
    """The first samples that are not large, with arguments that require gradients where the operator has them."""
    torch.manual_seed(0)
    backward = dtype in info.supported_backward_dtypes("cpu") and info.supports_autograd
    every = info.sample_inputs("cpu", dtype, requires_grad=backward)
    return islice((one for one in every if _size(one) <= LARGEST), most)


def _size(sample: Any) -> int:
    leaves = pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
    return sum(x.numel() for x in leaves if isinstance(x, torch.Tensor))


def run(info: Any, dtype: torch.dtype, most: int, exact: bool = True) -> Outcome:
    """Run samples of an operator until one fails; compare with eager unless the results are not determined."""
    forward = backward = 0
    for sample in samples_of(info, dtype, most):
        try:
            with _quiet():
                backward += _compared(info, sample, exact)
        except Exception as error:  # any error of torch or of the backend is the outcome
            return Outcome(forward, backward, f"{type(error).__name__}: {error}")
        forward += 1
    return Outcome(forward, backward)


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _compared(info: Any, sample: Any, exact: bool) -> bool:
    """Compare one sample, forward and backward; return whether it has gradients."""
    leaves, tree = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [n for n, x in enumerate(leaves) if isinstance(x, torch.Tensor)]

    def call(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        given = list(leaves)
        for n, x in zip(places, tensors, strict=True):
            given[n] = x
        x, args, kwargs = pytree.tree_unflatten(given, tree)
        found = sample.output_process_fn_grad(info.op(x, *args, **kwargs))
        return tuple(one for one in pytree.tree_leaves(found) if isinstance(one, torch.Tensor))

    tensors = [leaves[n] for n in places]
    expected = call(*_copies(tensors))
    compiled = xdsl_rlx(_graph(call, len(tensors)), _copies(tensors), options={"strict": True})
    given, own = _copies(tensors), _copies(tensors)
    expected, found = call(*own), compiled(*given)
    _check("result", found, expected, exact)
    asked = [n for n, x in enumerate(tensors) if x.requires_grad]
    outputs = [n for n, x in enumerate(expected) if x.requires_grad]
    if not asked or not outputs:
        return False
    torch.manual_seed(1)
    weights = [torch.randn_like(expected[n]) for n in outputs]
    options: dict[str, Any] = {"allow_unused": True, "materialize_grads": True}
    wanted = torch.autograd.grad([expected[n] for n in outputs], [own[n] for n in asked], weights, **options)
    got = torch.autograd.grad([found[n] for n in outputs], [given[n] for n in asked], weights, **options)
    _check("gradient", got, wanted, exact)
    return True


def _copies(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [x.detach().clone().requires_grad_(x.requires_grad) for x in tensors]


def _graph(call: Callable[..., Any], count: int) -> torch.fx.GraphModule:
    """A graph as Dynamo makes it, with one node that calls the function: AOTAutograd traces what is in it."""
    graph = torch.fx.Graph()
    placeholders = [graph.placeholder(f"x{n}") for n in range(count)]
    graph.output(graph.call_function(call, tuple(placeholders)))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def _check(kind: str, found: Sequence[torch.Tensor], expected: Sequence[torch.Tensor], exact: bool) -> None:
    if len(found) != len(expected):
        raise Different(f"{len(found)} {kind}s, eager has {len(expected)}")
    for n, (x, y) in enumerate(zip(found, expected, strict=True)):
        if (x.shape, x.dtype) != (y.shape, y.dtype):
            raise Different(f"{kind} {n}: {tuple(x.shape)} of {x.dtype}, eager has {tuple(y.shape)} of {y.dtype}")
        if exact and not _close(x.detach().resolve_conj(), y.detach().resolve_conj()):
            raise Different(f"{kind} {n}: {_text(x)}, eager has {_text(y)}")


def _close(x: torch.Tensor, y: torch.Tensor) -> bool:
    if not x.numel():
        return True
    if x.dtype not in TOLERANCES:
        return torch.equal(x, y) or (x.is_floating_point() and torch.allclose(x, y, 2e-2, 2e-2, equal_nan=True))
    finite = torch.where(torch.isfinite(y), y, torch.zeros_like(y)).abs().max().item()
    tolerance = TOLERANCES[x.dtype]
    return torch.allclose(x, y, rtol=tolerance, atol=tolerance * max(1.0, finite), equal_nan=True)


def _text(x: torch.Tensor) -> str:
    return str(x.detach().flatten()[:6].tolist())
