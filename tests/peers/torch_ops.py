"""Runs the samples of an operator of PyTorch's OpInfo database through the backend of `torch.compile`, and eagerly."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any
from unittest.mock import patch

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from xdsl_rlx.frontends.hosts.torch_backend import xdsl_rlx

TYPES = (torch.float64, torch.float32)
"""Element types that operators are run in; one that supports neither runs in the first of `OTHER_TYPES`."""

OTHER_TYPES = (torch.int64, torch.bool, torch.complex128, torch.bfloat16)

TOLERANCES = {torch.float64: 1e-9, torch.complex128: 1e-9, torch.float32: 2e-4, torch.complex64: 2e-4}
"""Largest difference from eager, relative to the largest element or 1; exact in other types."""

ROUNDED: dict[str, dict[torch.dtype, float]] = {
    "linalg.pinv.singular": {torch.float32: 1e-2},
    "logcumsumexp": {torch.float32: 1e-2},
    "nn.functional.hardsigmoid": {torch.float64: 1e-7},
    "special.bessel_j0": {torch.float64: 1e-6},
    "special.bessel_j1": {torch.float64: 1e-6},
}
"""
Tolerances of operators that eager itself computes with fewer digits.

The slope of hardsigmoid is rounded to f32, and the polynomials of Bessel functions have eight digits. The gradient of
logcumsumexp is a difference of logarithms, and that of a singular pseudoinverse one of reciprocals.
"""

UNDEFINED = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
}
"""Operators whose elements have any values: shapes and element types are compared."""

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


def run(info: Any, dtype: torch.dtype, most: int) -> Outcome:
    """
    Run samples of an operator until one fails, and compare with eager.

    Of samples that draw random numbers shapes and element types are compared.
    """
    forward = backward = 0
    for sample in samples_of(info, dtype, most):
        try:
            with _quiet():
                backward += _compared(info, sample)
        except Exception as error:  # any error of torch or of the backend is the outcome
            return Outcome(forward, backward, f"{type(error).__name__}: {error}")
        forward += 1
    return Outcome(forward, backward)


@contextmanager
def _quiet() -> Generator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _compared(info: Any, sample: Any) -> bool:
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
    tolerance = None if _is_drawn(info, call, tensors) else _tolerance(info)
    compiled = xdsl_rlx(_graph(call, len(tensors)), _copies(tensors), options={"strict": True})
    given, own = _copies(tensors), _copies(tensors)
    expected, found = call(*own), compiled(*given)
    _check("result", found, expected, tolerance)
    asked = [n for n, x in enumerate(tensors) if x.requires_grad]
    outputs = [n for n, x in enumerate(expected) if x.requires_grad]
    if not asked or not outputs:
        return False
    torch.manual_seed(1)
    weights = [torch.randn_like(expected[n]) for n in outputs]
    options: dict[str, Any] = {"allow_unused": True, "materialize_grads": True}
    wanted = torch.autograd.grad([expected[n] for n in outputs], [own[n] for n in asked], weights, **options)
    got = torch.autograd.grad([found[n] for n in outputs], [given[n] for n in asked], weights, **options)
    _check("gradient", got, wanted, tolerance)
    return True


def _is_drawn(info: Any, call: Callable[..., tuple[torch.Tensor, ...]], tensors: Sequence[torch.Tensor]) -> bool:
    """Whether results differ from seed to seed, or are not determined."""
    if info.name in UNDEFINED:
        return True
    found: list[tuple[torch.Tensor, ...]] = []
    for seed in range(3):
        torch.manual_seed(seed)
        # OpInfo's own wrapper sets a seed before each call
        with patch("torch.manual_seed"):
            found.append(call(*_copies(tensors)))
    first, *others = found
    return any(not _close(x, y, TOLERANCES) for other in others for x, y in zip(first, other, strict=True))


def _tolerance(info: Any) -> dict[torch.dtype, float]:
    return {**TOLERANCES, **ROUNDED.get(name_of(info), {})}


def _copies(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [x.detach().clone().requires_grad_(x.requires_grad) for x in tensors]


def _graph(call: Callable[..., Any], count: int) -> torch.fx.GraphModule:
    """A graph as Dynamo makes it, with one node that calls the function: AOTAutograd traces what is in it."""
    graph = torch.fx.Graph()
    placeholders = [graph.placeholder(f"x{n}") for n in range(count)]
    graph.output(graph.call_function(call, tuple(placeholders)))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def _check(
    kind: str,
    found: Sequence[torch.Tensor],
    expected: Sequence[torch.Tensor],
    tolerance: dict[torch.dtype, float] | None,
) -> None:
    if len(found) != len(expected):
        raise Different(f"{len(found)} {kind}s, eager has {len(expected)}")
    for n, (x, y) in enumerate(zip(found, expected, strict=True)):
        if (x.shape, x.dtype) != (y.shape, y.dtype):
            raise Different(f"{kind} {n}: {tuple(x.shape)} of {x.dtype}, eager has {tuple(y.shape)} of {y.dtype}")
        if tolerance is not None and not _close(x.detach(), y.detach(), tolerance):
            raise Different(f"{kind} {n}: {_text(x)}, eager has {_text(y)}")


def _close(x: torch.Tensor, y: torch.Tensor, tolerances: dict[torch.dtype, float]) -> bool:
    if not x.numel():
        return True
    x, y = x.resolve_conj().resolve_neg(), y.resolve_conj().resolve_neg()
    if x.dtype not in tolerances:
        return torch.equal(x, y) or (x.is_floating_point() and torch.allclose(x, y, 2e-2, 2e-2, equal_nan=True))
    finite = torch.where(torch.isfinite(y), y, torch.zeros_like(y)).abs().max().item()
    tolerance = tolerances[x.dtype]
    return torch.allclose(x, y, rtol=tolerance, atol=tolerance * max(1.0, finite), equal_nan=True)


def _text(x: torch.Tensor) -> str:
    return str(x.detach().flatten()[:6].tolist())
