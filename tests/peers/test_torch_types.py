"""Promotion of element types, against `torch.result_type`: every pair of types, with and without axes, and numbers."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

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
