"""What the importer builds for the derivatives of an operation, and for its integers, as that operation again."""

# Types of xDSL are generic in their attributes.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, i1
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xdsl_rlx.dialects.mir import elementwise, factor, fake_quantize, rounding, shape
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.frontends.stablehlo.writer import Writer
from xdsl_rlx.transforms.canonicalize.mir import splat
from xdsl_rlx.transforms.driver import RewritingPass, rewrite
from xdsl_rlx.transforms.int_ranges import IntRanges


class ForgetSlopesPass(RewritingPass):
    """
    Replace ops that have a derivative of their own by ops of the same values: a written module is not differentiated.

    ```
    %0 = mir.add %x, %zero
    %y = mir.copysign %0, %one
    // becomes
    %y = mir.abs %x
    ```
    """

    name = "mir-forget-slopes"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, _Forget())


class _Forget(RewritePattern):
    """Gradients that stop or go straight through, and bounds and sizes with slopes of JAX."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        b = MirBuilder(rewriter)
        if (found := _values(op, b)) is not None:
            rewriter.replace(op, [], [found.ssa])


def _values(op: Operation, b: MirBuilder) -> Value | None:
    match op:
        case elementwise.StopGradientOp() | fake_quantize.StraightThroughOp():
            return b.value(op.operands[0])
        case rounding.CopysignOp():
            return _size(op, b)
        case elementwise.LtOp():
            return _sign_of_vectors(op, b)
        case elementwise.WhereOp():
            return _clamped(op, b) or _triangle(op, b)
        case _:
            return None


def _size(op: rounding.CopysignOp, b: MirBuilder) -> Value | None:
    """`|x|`, whose slope at 0 is 1 in JAX."""
    added, sign = op.operands
    if splat(sign) != 1 or not isinstance(added.owner, elementwise.AddOp):
        return None
    x, zero = added.owner.operands
    return b.expand(b.abs(x), shape_of(op.result)) if splat(zero) == 0 else None


def _clamped(op: elementwise.WhereOp, b: MirBuilder) -> Value | None:
    """`min(max(x, low), high)`, whose slope at the bounds is 0 in JAX."""
    both, least = op.cond.owner, _view(op.on_false).owner
    if not isinstance(both, elementwise.AndOp) or not isinstance(least, elementwise.MinOp):
        return None
    largest, high = least.operands
    if not isinstance(largest.owner, elementwise.MaxOp):
        return None
    x, low = largest.owner.operands
    above, below = (side.owner for side in both.operands)
    is_clamp = (
        op.on_true is x
        and isinstance(above, elementwise.GtOp)
        and isinstance(below, elementwise.LtOp)
        and above.operands[0] is x
        and below.operands[0] is x
        and _is_same(above.operands[1], low)
        and _is_same(below.operands[1], high)
    )
    return b.value(op.on_false) if is_clamp else None


def _sign_of_vectors(op: elementwise.LtOp, b: MirBuilder) -> Value | None:
    """First elements of eigenvectors and of right singular vectors are not negative: LAPACK's are made so."""
    first, zero = op.operands
    if splat(zero) != 0 or not isinstance(first.owner, shape.NarrowOp):
        return None
    vectors, (axis, start, length) = first.owner.operand, first.owner.bounds
    made, rank = vectors.owner, len(shape_of(vectors))
    known = isinstance(made, factor.EighOp) and vectors is made.vectors and axis == rank - 2
    known |= isinstance(made, factor.SvdOp) and vectors is made.vt and axis == rank - 1
    return b.full(shape_of(op.result), False, i1) if known and (start, length) == (0, 1) else None


def _triangle(op: elementwise.WhereOp, b: MirBuilder) -> Value | None:
    """The lower triangle of a Cholesky factor, whose upper one is 0 here and anything in StableHLO."""
    mask = op.cond.owner
    if not isinstance(op.on_true.owner, factor.CholeskyOp) or splat(op.on_false) != 0:
        return None
    if not isinstance(mask, elementwise.ConstantOp):
        return None
    wanted = np.tri(shape_of(op.result)[-1], dtype=bool)
    found = np.array(mask.value.get_values()).reshape(shape_of(op.cond)) != 0
    return b.value(op.on_true) if np.array_equal(found, np.broadcast_to(wanted, found.shape)) else None


def _view(x: SSAValue) -> SSAValue:
    """A value before gradients stop."""
    return _view(x.owner.operand) if isinstance(x.owner, elementwise.StopGradientOp) else x


def _is_same(a: SSAValue, b: SSAValue) -> bool:
    """Whether two operands of an elementwise op are the same numbers."""
    if a is b:
        return True
    number = splat(a)
    return number is not None and number == splat(b)


# Integers


def quotient(op: elementwise.WhereOp | rounding.FloordivOp, w: Writer) -> SSAValue | None:
    """StableHLO's division of integers, rounded towards 0, as the importer builds it: -1 for a divisor of 0."""
    floored, y = _divided(op)
    if not isinstance(floored, rounding.FloordivOp) or not _is_same(floored.operands[1], y):
        return None
    less = floored.operands[0].owner
    if not isinstance(less, elementwise.SubOp):
        return None
    x, rest = less.operands
    rem = rest.owner
    if not isinstance(rem, rounding.RemOp) or rem.operands[0] is not x or not _is_same(rem.operands[1], y):
        return None
    if isinstance(op, elementwise.WhereOp) and splat(op.on_true) != -1:
        return None
    return _pointwise("divide", [x, y], op, w)


def remainder(op: elementwise.WhereOp | rounding.RemOp, w: Writer) -> SSAValue | None:
    """StableHLO's remainder of integers, as the importer builds it: `x` for a divisor of 0."""
    rem, y = _divided(op)
    if not isinstance(rem, rounding.RemOp) or not _is_same(rem.operands[1], y):
        return None
    if isinstance(op, elementwise.WhereOp) and op.on_true is not rem.operands[0]:
        return None
    return _pointwise("remainder", [rem.operands[0], y], op, w)


def _divided(op: Operation) -> tuple[object, SSAValue]:
    """What an op computes where a divisor is not 0, and the divisor."""
    if not isinstance(op, elementwise.WhereOp):
        y = op.operands[1]
        low, high = IntRanges().of(y) or (0, 0)
        return (op if low > 0 or high < 0 else None), y
    zero = op.cond.owner
    if not isinstance(zero, elementwise.EqOp) or splat(zero.operands[1]) != 0:
        return None, op.cond
    return op.on_false.owner, zero.operands[0]


def _pointwise(name: str, xs: Sequence[SSAValue], op: Operation, w: Writer) -> SSAValue | None:
    (result,) = op.results
    element = element_of(result)
    if not isinstance(element, IntegerType) or element == i1 or any(element_of(x) != element for x in xs):
        return None
    return w.op(name, [w.expand(w[x], shape_of(result)) for x in xs], result.type)
