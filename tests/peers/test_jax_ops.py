"""Rows of JAX's primitives: values in all element types, at ties and zeros, for no elements; derivatives in f64."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import pytest
from peers import jax_compare
from peers.jax_ops import CASES, Case


def run(case: Case) -> None:
    """Compare all that a case has."""
    jax_compare.values(case.f, *case.args, tolerance=case.tolerance, x64=case.x64)
    if case.orders:
        jax_compare.derivatives(case.f, *case.args, orders=case.orders, tolerance=case.slack)


@pytest.mark.parametrize("name", sorted(CASES))
def test_primitive_is_as_in_jax(name: str) -> None:
    run(CASES[name])
