"""Constructors of rows that fill several tables at once: `diagonal`, `linear`, `zero`, `decompose`.
The tables are in `table.py`; the rows in the files of the op families."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar, overload

from xdsl.builder import Builder
from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.mir.builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.core import Elementwise
from xdsl_rlx.dialects.mir.elementwise import BinaryOp, ConstantOp, UnaryOp
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.transforms.rules.table import DECOMPOSE, JVP, SCALAR, VJP, Cotangent, DecomposeRule
from xdsl_rlx.transforms.scalar import Scalar, ScalarBuilder

OpT = TypeVar("OpT", bound=Operation)

UnaryMap: TypeAlias = Callable[[MirBuilder, Value, Value, Value], Value]
"""`(b, g, x, y) -> g dy/dx`."""
BinaryMap: TypeAlias = Callable[[MirBuilder, Value, Value, Value, Value], Value]
"""`(b, g, lhs, rhs, y) -> g dy/dlhs`, or rhs."""


@overload
def diagonal(
    op: type[UnaryOp], operand: UnaryMap, /, *, scalar: Callable[[ScalarBuilder, Scalar], Scalar] | None = None
) -> None: ...


@overload
def diagonal(
    op: type[BinaryOp],
    lhs: BinaryMap,
    rhs: BinaryMap,
    /,
    *,
    scalar: Callable[[ScalarBuilder, Scalar, Scalar], Scalar] | None = None,
) -> None: ...


def diagonal(op: type[Operation], /, *maps: Callable[..., Value], scalar: Callable[..., Scalar] | None = None) -> None:
    """
    An elementwise op by its partial derivatives: one map per operand takes a cotangent or a tangent to the other end.

    A map may use that `g` is the cotangent of the result or the tangent of its operand, of either shape; summing over
    and repeating along broadcast dimensions is done here. `scalar` is the op itself on scalars.
    """

    def values(this: Operation, b: MirBuilder) -> list[Value]:
        return [b.value(x) for x in (*this.operands, *this.results)]

    def pull(this: Operation, b: MirBuilder, g: Value, index: int) -> Value:
        xs = values(this, b)
        return b.unbroadcast(maps[index](b, g, *xs), xs[index].shape)

    def vjp(this: Operation, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
        return [partial(pull, this, b, g, index) for index in range(len(maps))]

    def jvp(this: Operation, b: MirBuilder, *tangents: Value | None) -> Sequence[Value | None]:
        xs = values(this, b)
        parts = [f(b, t, *xs) for f, t in zip(maps, tangents, strict=True) if t is not None]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return [b.expand(total, xs[-1].shape)]

    _DERIVATIVES[op] = maps
    VJP.add(op, vjp)
    JVP.add(op, jvp)
    if scalar is not None:

        def of_operands(_: Operation, b: ScalarBuilder, *operands: Scalar) -> Scalar:
            return scalar(b, *operands)

        SCALAR.add(op, of_operands)


_DERIVATIVES: dict[type[Operation], tuple[Callable[..., Value], ...]] = {}


def derivative(op: type[UnaryOp]) -> UnaryMap:
    """The map that `diagonal` was given for `op`."""
    (operand,) = _DERIVATIVES[op]
    return operand


def linear(op: type[OpT], transpose: Callable[[OpT, MirBuilder, Value], Sequence[Cotangent]]) -> None:
    """An op that is linear in all its operands together: its tangent is the op itself, its cotangent the transpose."""

    def jvp(this: Any, b: MirBuilder, *tangents: Value | None) -> Sequence[Value | None]:
        copy: Operation = this.clone()
        for index, (x, t) in enumerate(zip(this.operands, tangents, strict=True)):
            copy.operands[index] = b.zeros_like(x).ssa if t is None else t.ssa
        for result in copy.results:
            result.name_hint = None
        b.builder.insert(copy)
        return [b.value(result) for result in copy.results]

    VJP.add(op, transpose)
    JVP.add(op, jvp)


def zero(op: type[Operation], reason: str) -> None:
    """An op whose derivative is zero or that has none: nothing flows through it in either mode."""
    VJP.exempt(op, reason)
    JVP.exempt(op, reason)


def decompose(op: type[OpT]) -> Callable[[DecomposeRule[OpT]], DecomposeRule[OpT]]:
    """
    Decorator: the function defines `op` by simpler ops.

    It stands for `op` in every table that has no direct row. That of an elementwise op is made of elementwise ops and
    numbers, and gives its scalar row.
    """

    def register(function: DecomposeRule[OpT]) -> DecomposeRule[OpT]:
        DECOMPOSE.add(op, function)
        if op.has_trait(Elementwise):
            SCALAR.add(op, partial(_scalar_by_decomposition, function))
        return function

    return register


def _scalar_by_decomposition(rule: DecomposeRule[Any], op: Operation, b: ScalarBuilder, *operands: Scalar) -> Scalar:
    block = Block(arg_types=[x.type for x in op.operands])
    apart = type(op).create(
        operands=block.args, result_types=[result.type for result in op.results], properties=dict(op.properties)
    )
    (result,) = rule(apart, MirBuilder(Builder(InsertPoint.at_end(block))))
    element = element_of(result.ssa)
    known: dict[SSAValue, Scalar] = dict(zip(block.args, operands, strict=True))

    def scalar(x: SSAValue) -> Scalar:
        if x not in known:
            owner = x.owner
            assert isinstance(owner, Operation)
            if isinstance(owner, ConstantOp):
                number = owner.value.get_values()[0]
                assert isinstance(number, int | float)
                known[x] = b.const(number, f32 if element in (f16, bf16) else element)
            else:
                known[x] = SCALAR.lookup(owner)(owner, b, *[scalar(operand) for operand in owner.operands])
        return known[x]

    return scalar(result.ssa)
