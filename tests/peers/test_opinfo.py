"""Forward and gradient of PyTorch's own sample inputs, compiled, against PyTorch. Run by `make peers`.

`PYTHONPATH=tests python -m peers.test_opinfo` prints how many samples of each op are compared.
"""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from peers import opinfo, opinfo_blocks, opinfo_linalg, opinfo_shape, opinfo_spectral
from peers.opinfo import Adapter, NotOurs, dtype_name
from torch.testing._internal.common_methods_invocations import op_db

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]

MOST = 40
"""Samples compared of one op in f64, PyTorch has hundreds of some; in other types a third of that."""

TOLERANCE = {
    "float64": 1e-11,
    "complex128": 1e-11,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float16": 2e-3,
    "bfloat16": 1e-2,
}
"""The largest difference of two results, relative to the largest element or 1."""

STRAIGHT_THROUGH = {"round"}
"""Ops whose gradient is 1 here and 0 in PyTorch."""

ADAPTERS: dict[str, Adapter] = {
    **opinfo.ADAPTERS,
    **opinfo_shape.ADAPTERS,
    **opinfo_linalg.ADAPTERS,
    **opinfo_blocks.ADAPTERS,
    **opinfo_spectral.ADAPTERS,
}

OTHER_TYPES = {
    torch.complex128: """
        __rdiv__ abs add addmm addmv addr angle baddbmm bmm cat cdouble cfloat conj div dot einsum eq exp expand fft.fft
        fft.fftn fft.hfft fft.ifft fft.ifftn fft.irfft fft.irfftn gather imag index_add index_select inner
        linalg.multi_dot linalg.vecdot log masked_fill matmul mean mH mm mul mv narrow ne neg nn.functional.linear outer
        permute real reshape rsub scatter_add sqrt square stack sub sum tensordot transpose vdot where
    """,
    torch.float32: """
        abs add atan2 cos cumsum div double einsum erf exp fft.fft fft.irfft half hypot linalg.solve log logsumexp
        matmul mean mul nn.functional.conv2d nn.functional.gelu nn.functional.group_norm
        nn.functional.linear nn.functional.max_pool2d nn.functional.scaled_dot_product_attention pow prod rsqrt sigmoid
        sin softmax sqrt sum tan tanh
    """,
    torch.int64: """
        __rand__ abs add amax amin bfloat16 bitwise_and bitwise_right_shift bool byte cat cdouble char clamp cumsum
        double einsum eq float gather ge gt half index_add index_select int le long lt matmul maximum minimum mul ne neg
        prod scatter scatter_add short sort sub sum topk where
    """,
    torch.bool: """
        bfloat16 bitwise_and byte cat cdouble char double eq float gather half int logical_and long ne short
        where
    """,
}
"""The ops that are compared on other types than f64."""

NOT_REAL = {"real", "imag", "__rand__", "bitwise_and", "bitwise_right_shift", "logical_and", "scatter"}
"""Ops that have no samples in f64, or none that is ours."""

ROWS = [(name, torch.float64) for name in ADAPTERS if name not in NOT_REAL] + [
    (name, dtype) for dtype, names in OTHER_TYPES.items() for name in names.split()
]
"""The ops with the element types of their samples."""


def samples(name: str, dtype: torch.dtype) -> Iterator[tuple[Any, Any]]:
    """Each OpInfo of that name, all variants, with each of its samples of that type."""
    for info in op_db:
        if info.name == name:
            torch.manual_seed(0)
            differentiated = info.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
            for sample in info.sample_inputs("cpu", dtype, requires_grad=differentiated):
                yield info, sample


class Case:
    """One sample as a graph of ours; `NotOurs` if mir has no such form."""

    def __init__(self, name: str, sample: Any):
        self.graph = rlx.Graph("sample")
        self.tensors: list[torch.Tensor] = []
        args = self._ours(list(sample.args))
        kwargs = {key: self._ours(item) for key, item in sample.kwargs.items()}
        result = ADAPTERS[name](self.graph, self._ours(sample.input), *args, **kwargs)
        self.graph.set_outputs(result)

    def _ours(self, item: Any) -> Any:
        if isinstance(item, torch.Tensor):
            self.tensors.append(item)
            return self.graph.input(f"x{len(self.tensors) - 1}", tuple(item.shape), dtype=dtype_name(item.dtype))
        if isinstance(item, list | tuple):
            return type(item)(self._ours(inner) for inner in item)
        return item

    def arrays(self) -> list[Array]:
        """The inputs."""
        return [np.array(array_of(t), order="C") for t in self.tensors]


def array_of(tensor: torch.Tensor) -> Array:
    """The numbers of a tensor."""
    plain = tensor.detach().resolve_conj().resolve_neg()
    if plain.dtype == torch.bfloat16:
        return plain.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return plain.numpy()


def cases(name: str, dtype: torch.dtype) -> list[tuple[Any, Any, Case]]:
    """The samples that have a form of ours, thinned to at most `MOST`, or a third of it."""
    found: list[tuple[Any, Any, Case]] = []
    for info, sample in samples(name, dtype):
        try:
            found.append((info, sample, Case(name, sample)))
        except (NotOurs, TypeError):
            continue
    step = -(-len(found) // (MOST if dtype == torch.float64 else MOST // 3))
    return found[:: max(step, 1)]


@pytest.mark.parametrize(("name", "dtype"), [pytest.param(*row, id=f"{row[0]}-{dtype_name(row[1])}") for row in ROWS])
def test_samples_of_pytorch_give_pytorchs_values_and_gradients(name: str, dtype: torch.dtype) -> None:
    compared = cases(name, dtype)
    assert compared, f"no sample of {name} has a form of ours"
    for info, sample, case in compared:
        _compare(info, sample, case)


def _compare(info: Any, sample: Any, case: Case) -> None:
    whole = info(sample.input, *sample.args, **sample.kwargs)
    results = [whole] if isinstance(whole, torch.Tensor) else list(whole)
    wrt = [i for i, t in enumerate(case.tensors) if t.requires_grad and t.is_leaf]
    if info.name in STRAIGHT_THROUGH or not (results[0].requires_grad and wrt):
        _check_all(rlx.compile(case.graph)(*case.arrays()), results, sample)
        return
    seed = torch.randn_like(results[0])
    leaves = [case.tensors[i] for i in wrt]
    gradients = torch.autograd.grad(results[0], leaves, seed, allow_unused=True, materialize_grads=True)
    program = rlx.grad_with_loss(case.graph, wrt=[f"x{i}" for i in wrt], zero_missing_wrt=True)
    both = rlx.compile(program)(*case.arrays(), array_of(seed))
    _check_all(both[: -len(wrt)], results, sample)
    _check_all(both[-len(wrt) :], gradients, sample)


def _check_all(got: Sequence[Array], expected: Sequence[torch.Tensor], sample: Any) -> None:
    """All that we compute; PyTorch may have more, as positions or a code of errors."""
    for ours, theirs in zip(got, expected, strict=False):
        _check(ours, array_of(theirs), sample)


def _check(got: Array, right: Array, sample: Any) -> None:
    assert got.shape == right.shape and got.dtype == right.dtype, sample
    if right.dtype.kind in "biu":
        np.testing.assert_array_equal(got, right, err_msg=str(sample))
        return
    wide = np.complex128 if right.dtype.kind == "c" else np.float64
    exact = right.astype(wide)
    scale = max(1.0, float(np.abs(exact[np.isfinite(exact)]).max(initial=0.0)))
    atol = TOLERANCE[right.dtype.name] * scale
    np.testing.assert_allclose(got.astype(wide), exact, rtol=0, atol=atol, err_msg=str(sample))


def main() -> None:
    """Print the list of docs/testing.md."""
    total = 0
    for dtype in dict.fromkeys(dtype for _, dtype in ROWS):
        counts = {name: len(cases(name, dtype)) for name in sorted(name for name, of in ROWS if of == dtype)}
        total += sum(counts.values())
        print(f"{dtype_name(dtype)}: {sum(counts.values())} samples of {len(counts)} ops\n")
        print(textwrap.fill(", ".join(f"`{name}` {count}" for name, count in counts.items()) + ".", 150) + "\n")
    print(f"{total} samples of {len({name for name, _ in ROWS})} ops")


if __name__ == "__main__":
    main()
