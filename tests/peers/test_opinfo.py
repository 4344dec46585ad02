"""Forward and gradient of PyTorch's own sample inputs, compiled, against PyTorch. Run by `make peers`.

`PYTHONPATH=tests python -m peers.test_opinfo` prints how many samples of each op are compared.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from peers.opinfo import NotOurs, dtype_name
from peers.opinfo_blocks import ADAPTERS
from torch.testing._internal.common_methods_invocations import op_db

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]

MOST = 40
"""Samples compared of one op; PyTorch has hundreds of some."""

STRAIGHT_THROUGH = {"round"}
"""Ops whose gradient is 1 here and 0 in PyTorch."""


def infos(name: str) -> list[Any]:
    """The OpInfo of that name, all variants."""
    return [info for info in op_db if info.name == name]


def samples(name: str) -> Iterator[tuple[Any, Any]]:
    """Each OpInfo with each of its samples in f64."""
    for info in infos(name):
        torch.manual_seed(0)
        for sample in info.sample_inputs("cpu", torch.float64, requires_grad=info.supports_autograd):
            yield info, sample


class Case:
    """One sample as a graph of ours; `NotOurs` if mir has no such form."""

    def __init__(self, name: str, sample: Any):
        self.graph = rlx.Graph("sample")
        self.tensors: list[torch.Tensor] = []
        args = self._ours(list(sample.args))
        kwargs = {key: self._ours(item) for key, item in sample.kwargs.items()}
        self.output = ADAPTERS[name](self.graph, self._ours(sample.input), *args, **kwargs)
        self.graph.set_outputs([self.output])

    def _ours(self, item: Any) -> Any:
        if isinstance(item, torch.Tensor):
            self.tensors.append(item)
            return self.graph.input(f"x{len(self.tensors) - 1}", tuple(item.shape), dtype=dtype_name(item.dtype))
        if isinstance(item, list | tuple):
            return [self._ours(inner) for inner in item]
        if isinstance(item, complex | torch.dtype | slice):
            raise NotOurs("a complex number, a type or a slice")
        return item

    def arrays(self) -> list[Array]:
        """The inputs."""
        return [np.array(t.detach().numpy(), order="C") for t in self.tensors]


def cases(name: str) -> list[tuple[Any, Any, Case]]:
    """The samples that have a form of ours, thinned to at most `MOST`."""
    found: list[tuple[Any, Any, Case]] = []
    for info, sample in samples(name):
        try:
            found.append((info, sample, Case(name, sample)))
        except (NotOurs, TypeError):
            continue
    step = -(-len(found) // MOST)
    return found[:: max(step, 1)]


@pytest.mark.parametrize("name", ADAPTERS)
def test_samples_of_pytorch_give_pytorchs_values_and_gradients(name: str) -> None:
    compared = cases(name)
    assert compared, f"no sample of {name} has a form of ours"
    for info, sample, case in compared:
        expected = info(sample.input, *sample.args, **sample.kwargs)
        expected = expected if isinstance(expected, torch.Tensor) else expected[0]
        arrays = case.arrays()
        wrt = [i for i, t in enumerate(case.tensors) if t.requires_grad and t.is_leaf]
        if name in STRAIGHT_THROUGH or not (expected.requires_grad and wrt):
            (value,) = rlx.compile(case.graph)(*arrays)
            _check(value, expected, sample)
            continue
        seed = torch.randn_like(expected)
        leaves = [case.tensors[i] for i in wrt]
        gradients = torch.autograd.grad(expected, leaves, seed, allow_unused=True)
        program = rlx.grad_with_loss(case.graph, wrt=[f"x{i}" for i in wrt], zero_missing_wrt=True)
        value, *ours = rlx.compile(program)(*arrays, seed.numpy())
        _check(value, expected, sample)
        for got, gradient, leaf in zip(ours, gradients, leaves, strict=True):
            _check(got, torch.zeros_like(leaf) if gradient is None else gradient, sample)


def _check(got: Array, expected: torch.Tensor, sample: Any) -> None:
    right = expected.detach().numpy()
    assert got.shape == right.shape and got.dtype == right.dtype, sample
    scale = max(1.0, float(np.abs(right[np.isfinite(right)]).max(initial=0.0))) if right.dtype.kind == "f" else 1.0
    np.testing.assert_allclose(got, right, rtol=0, atol=1e-11 * scale, err_msg=str(sample))


def main() -> None:
    """Print the table of docs/testing.md."""
    print("| op | samples |\n| --- | --- |")
    for name in sorted(ADAPTERS):
        print(f"| `{name}` | {len(cases(name))} |")


if __name__ == "__main__":
    main()
