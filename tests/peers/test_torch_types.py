"""
Element types of PyTorch: promotion against `torch.result_type`, and operators in types that are not real numbers.

Promotion is compared for every pair of types, with and without axes, and for numbers.
"""

# pyright: reportMissingImports=false

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from peers.torch_ops import ENTRIES, run

from xdsl_rlx.frontends.aten.values import numpy_dtype, promoted
from xdsl_rlx.frontends.aten.walk import DTYPES

TYPES = {name: getattr(torch, text.removeprefix("torch.")) for text, name in DTYPES.items()}
NUMBERS: tuple[Any, ...] = (True, 3, 2.5, 1 + 2j)
FLOATING = {"f32": torch.float32, "f64": torch.float64}

Operand = tuple[str | None, Any, int]
"""The name of an element type and the number of axes, or a number."""

OPERANDS: list[Operand] = [
    *((name, None, axes) for name in TYPES for axes in (0, 1)),
    *((None, number, 0) for number in NUMBERS),
]


def _ours(one: Operand) -> Any:
    name, number, axes = one
    return number if name is None else np.zeros((2,) * axes, numpy_dtype(name))


def _theirs(one: Operand) -> Any:
    name, number, axes = one
    return number if name is None else torch.zeros((2,) * axes, dtype=TYPES[name])


def _expected(a: Operand, b: Operand) -> str | None:
    """PyTorch's type; None where it has none, or one of complex numbers of two halves, which is not a type here."""
    try:
        found = torch.result_type(_theirs(a), _theirs(b))
    except RuntimeError as error:
        assert "Promotion for" in str(error)
        return None
    return DTYPES.get(str(found))


@pytest.mark.parametrize("floating", FLOATING)
def test_types_of_pairs_are_those_of_pytorch(floating: str):
    before = torch.get_default_dtype()
    torch.set_default_dtype(FLOATING[floating])
    try:
        expected = {(a, b): _expected(a, b) for a, b in product(OPERANDS, OPERANDS)}
    finally:
        torch.set_default_dtype(before)
    compared = {pair: name for pair, name in expected.items() if name is not None}
    assert len(compared) > 800
    wrong = {
        pair: (found, name)
        for pair, name in compared.items()
        if (found := promoted(floating, *map(_ours, pair))) != name
    }
    assert wrong == {}


OTHER_TYPES = {
    torch.complex128: """
        abs addmm angle conj cumsum div.no_rounding_mode dot einsum exp fft.fft2 fft.ifft fft.fftn index_add linalg.norm
        linalg.vector_norm log masked_fill matmul mean mul nn.functional.linear nn.functional.tanhshrink pow prod
        reciprocal rsqrt scatter_add sgn sigmoid sqrt square std std_mean stft sum tanh trace true_divide var var_mean
        vdot view_as_real where
    """,
    torch.int64: """
        __rpow__ abs add amax argmax bitwise_left_shift bitwise_right_shift clamp cummax cumsum diff div.floor_rounding
        div.no_rounding_mode div.trunc_rounding floor_divide fmod gcd index_add lcm max.reduction_with_dim
        median nn.functional.avg_pool2d pow prod remainder scatter_reduce.mean
        searchsorted sign sort sum trapezoid true_divide where
    """,
    torch.bool: """
        add all any bitwise_and bitwise_not cat cumsum logical_xor masked_fill max.binary mul
        nn.functional.unfold scatter_reduce.amax scatter_reduce.amin sum where
    """,
    torch.bfloat16: "add masked.softmax masked.sum mul nn.functional.relu renorm sum",
    torch.uint8: "abs add arange bitwise_not div.floor_rounding max.reduction_with_dim mul neg sub sum",
}
"""Names of entries of PyTorch's database, by the type that they are run in."""


@pytest.mark.parametrize(
    ("dtype", "name"), [(dtype, name) for dtype, names in OTHER_TYPES.items() for name in names.split()]
)
def test_entry_in_other_type_is_as_eager(dtype: torch.dtype, name: str):
    outcome = run(ENTRIES[name], dtype, 2)
    assert (outcome.failure, bool(outcome.forward)) == ("", True)
