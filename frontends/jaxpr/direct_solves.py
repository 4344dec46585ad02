"""`custom_linear_solve` whose solver is the LU factors of the matrix in the product: one op that solves, by mir."""

# Objects of jax, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import OpResult, SSAValue

from xdsl_rlx.dialects.mir.elementwise import StopGradientOp
from xdsl_rlx.dialects.mir.shape import TransposeOp
from xdsl_rlx.dialects.mir.solve import LuOp
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.frontends.shared.values import traced

_MOVES = ("broadcast_in_dim", "reshape", "transpose", "squeeze", "gather", "lt", "add", "select_n")
"""What a solver by LU factors does beside substitution: it moves the right sides, and permutes their rows."""


@dataclass(frozen=True)
class Product:
    """A product `a x` of one dot_general: labels of dimensions, which `a` and `x` have in common or not."""

    a: tuple[str, ...]
    x: tuple[str, ...]

    @property
    def right_sides(self) -> tuple[str, ...]:
        """Labels of the dimensions that count right sides."""
        return tuple(label for label in self.x if label not in self.a)

    def solve(self, a: Any, b: Any) -> Any:
        """Return the `x` whose product is `b`, laid out as `x` is."""
        batch = [label for label in self.a if label[0] == "b"]
        a = np.transpose(a, [self.a.index(label) for label in (*batch, "row", "column")])
        sides = self.right_sides
        order = [self.x.index(label) for label in (*batch, "column", *sides)]
        moved = np.transpose(traced(b), order)
        columns = moved.reshape(*moved.shape[: len(batch) + 1], -1)
        found = np.linalg.solve(traced(a), columns)
        return np.transpose(found.reshape(moved.shape), [int(n) for n in np.argsort(order)])


def product(closed: Any) -> Product | None:
    """Return the product of the first operand, a matrix, with the second one, if a jaxpr is that and no more."""
    jaxpr = closed.jaxpr
    if closed.consts or len(jaxpr.invars) != 2 or len(jaxpr.outvars) != 1:
        return None
    found: Product | None = None
    labels: list[str] = []
    last: Any = None
    for eqn in jaxpr.eqns:
        match eqn.primitive.name:
            case "dot_general" if found is None and {*eqn.invars} == {*jaxpr.invars}:
                found, labels = _labelled(eqn, swapped=eqn.invars[0] is jaxpr.invars[1])
            case "transpose" if eqn.invars[0] is last:
                labels = [labels[int(n)] for n in eqn.params["permutation"]]
            case _:
                return None
        last = eqn.outvars[0]
    if found is None or last is not jaxpr.outvars[0] or last.aval.dtype != jaxpr.invars[1].aval.dtype:
        return None
    same = ["row" if label == "column" else label for label in found.x]
    square = sum(label == "row" for label in found.a) == sum(label == "column" for label in found.a) == 1
    return found if square and labels == same else None


def _labelled(eqn: Any, swapped: bool) -> tuple[Product, list[str]]:
    """Labels of the operands of a dot_general, and of its result."""
    contracted, batch = eqn.params["dimension_numbers"]
    sides: list[list[str]] = []
    for n, operand in enumerate(eqn.invars):
        of_matrix = (n == 0) is not swapped
        names = ["row" if of_matrix else f"side {axis}" for axis in range(operand.aval.ndim)]
        for axis in contracted[n]:
            names[axis] = "column"
        for number, axis in enumerate(batch[n]):
            names[axis] = f"b{number}"
        sides.append(names)
    free = [label for names in sides for label in names if label[0] != "b" and label != "column"]
    x, a = sides if swapped else reversed(sides)
    return Product(tuple(a), tuple(x)), [*(f"b{number}" for number in range(len(batch[0]))), *free]


def by_factors(closed: Any) -> bool:
    """Whether a jaxpr solves by the LU factors and the order of rows that are its first two operands."""
    eqns = list(_flat(closed.jaxpr))
    solves = [eqn.params for eqn in eqns if eqn.primitive.name == "triangular_solve"]
    if (
        closed.consts
        or len(closed.jaxpr.invars) != 3
        or any(eqn.primitive.name not in (*_MOVES, "triangular_solve") for eqn in eqns)
    ):
        return False
    kinds = [(one["lower"], one["unit_diagonal"], one["left_side"], one["transpose_a"]) for one in solves]
    return kinds == [(True, True, True, False), (False, False, True, False)]


def _flat(jaxpr: Any) -> Iterator[Any]:
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "jit":
            yield from _flat(eqn.params["jaxpr"].jaxpr)
        else:
            yield eqn


def factors_of(packed: Any, a: Any) -> bool:
    """Whether a value is the LU factors of a matrix, both of which were built in this graph."""
    if not isinstance(packed, Value) or not isinstance(a, Value):
        return False
    factors, order = _source(packed.ssa)
    swapped = _swapped(tuple(range(packed.ndim)))
    if not isinstance(factors, OpResult) or not isinstance(factors.op, LuOp) or order != swapped:
        return False
    # `mir.lu` has the transpose for its operand, and returns the factors transposed
    matrix, order = _source(factors.op.operands[0])
    same, wanted = _source(a.ssa)
    return matrix is same and _swapped(order) == wanted


def _source(value: SSAValue) -> tuple[SSAValue, tuple[int, ...]]:
    """A value before it was transposed and kept from derivatives, and the order of its dimensions since then."""
    order = tuple(range(len(shape_of(value))))
    while isinstance(value, OpResult):
        match value.op:
            case StopGradientOp():
                pass
            case TransposeOp() as op:
                order = tuple(op.perm_list[n] for n in order)
            case _:
                break
        value = value.op.operands[0]
    return value, order


def _swapped(order: tuple[int, ...]) -> tuple[int, ...]:
    return (*order[:-2], order[-1], order[-2])
