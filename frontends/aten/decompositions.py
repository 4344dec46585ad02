"""PyTorch's own decompositions, for operators that have no row."""

# Objects of torch, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false

from __future__ import annotations

from functools import cache
from typing import Any

from xdsl_rlx.frontends.aten.lists import on_lists
from xdsl_rlx.frontends.aten.table import ROWS


@cache
def without_rows() -> dict[Any, Any]:
    """Return the decompositions of all operators that have no row, by operator."""
    return {op: found for op, found in decomposed().items() if ROWS.get(str(op)) is None and str(op) not in _KEPT}


@cache
def decomposed() -> dict[Any, Any]:
    """Return all decompositions, by operator."""
    from torch._decomp import core_aten_decompositions, decomposition_table

    return {**decomposition_table, **dict(core_aten_decompositions().items()), **_by_factors(), **on_lists()}


_KEPT = ("aten.lift.default", "aten.lift_fresh.default")
"""Marks of constants, which functionalization removes: their decompositions see tensors that are none of a graph."""


def _by_factors() -> dict[Any, Any]:
    """
    Decompositions of determinants and of solving, which return factors that their gradients read.

    As in PyTorch the factors of determinants are those of the transpose where a matrix is contiguous.
    """
    import torch

    aten = torch.ops.aten

    def factors(a: Any) -> tuple[Any, Any]:
        transposed = a.is_contiguous() and not a.is_complex()
        return aten.linalg_lu_factor_ex(a.mT if transposed else a)[:2]

    def sign(pivots: Any, dtype: Any) -> Any:
        numbers = torch.arange(1, pivots.shape[-1] + 1, dtype=pivots.dtype, device=pivots.device)
        swaps = (pivots != numbers).sum(-1)
        return (1 - 2 * (swaps % 2)).to(dtype)

    def det(a: Any) -> tuple[Any, ...]:
        lu, pivots = factors(a)
        return sign(pivots, a.dtype) * lu.diagonal(0, -2, -1).prod(-1), lu, pivots

    def slogdet(a: Any) -> tuple[Any, ...]:
        lu, pivots = factors(a)
        diagonal = lu.diagonal(0, -2, -1)
        return sign(pivots, a.dtype) * diagonal.sgn().prod(-1), diagonal.abs().log().sum(-1), lu, pivots

    def solve_ex(a: Any, b: Any, *, left: bool = True, check_errors: bool = False) -> tuple[Any, ...]:
        # the gradient reads the factors of the matrix itself
        lu, pivots, info = aten.linalg_lu_factor_ex(a)
        is_vector = b.dim() == 1 or (a.dim() - 1 == b.dim() and tuple(b.shape) == tuple(a.shape[:-1]))
        columns = b.unsqueeze(-1) if is_vector else b
        found = aten.linalg_lu_solve(lu, pivots, columns, left=left)
        return found.squeeze(-1) if is_vector else found, lu, pivots, info

    return {
        aten._linalg_det.default: det,
        aten._linalg_slogdet.default: slogdet,
        aten._linalg_solve_ex.default: solve_ex,
    }
