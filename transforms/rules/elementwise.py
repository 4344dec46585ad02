"""Rows of elementwise ops: partial derivatives (VJP and JVP) and the scalar expression that lowering emits.
Conversions are in `cast.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import pi, sqrt
from typing import NamedTuple, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder, int_width
from xdsl_rlx.dialects.mir import elementwise as mir
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.transcendental import ErfcOp
from xdsl_rlx.dialects.shapes import FLOATS, element_of, shape_of, u8, u32
from xdsl_rlx.transforms.rules.raise_table import RAISE, Raised
from xdsl_rlx.transforms.rules.rows import diagonal, pointwise, zero
from xdsl_rlx.transforms.rules.rule_table import JVP, NARROW, SCALAR, VJP, VMAP, Cotangent
from xdsl_rlx.transforms.rules.terms import (
    Powers,
    Term,
    bare,
    either_way,
    is_polynomial,
    negated,
    number,
    parts,
    polynomial,
    quotients,
    reciprocal,
    same,
    term,
)

NORMAL_DENSITY = 1 / sqrt(2 * pi)
"""Of the standard normal distribution at 0."""
GELU_LINEAR = 2 * sqrt(2 / pi)
GELU_CUBIC = 0.044715
GELU_BOUND = 40.0
"""Where the approximate gelu is 0 or `x`, in f64 too."""
SILU_BOUND = 1e3
"""Below its negative silu is 0, in f64 too."""


def is_unsigned(type_: Attribute) -> bool:
    """Whether scalars of this element type are compared and widened as unsigned integers."""
    return type_ in (i1, u8, u32)


def _vanishing(b: MirBuilder, factor: Value, x: Value) -> Value:
    """
    `factor x` for a factor that goes to 0 faster than `x` grows: 0 where it is 0, though `x` be infinite.

    Selects `x`, not the product: the product rule multiplies `x` with the derivative of the factor, which is 0 too.
    """
    return factor * b.where(b.eq(factor, 0.0), 0.0, x)


def gelu_slope(b: MirBuilder, x: Value) -> Value:
    """The derivative of x Phi(x): `Phi(x) + x phi(x)` of the standard normal distribution."""
    return b.ndtr(x) + _vanishing(b, b.gaussian(x), x * NORMAL_DENSITY)


def gelu_approx_slope(b: MirBuilder, x: Value) -> Value:
    """
    With `u = 2 sqrt(2/pi) (x + a x^3)` and `s = sigmoid u`: `s + x s (1 - s) u'`.

    Beyond the bound `s` is 0 or 1, and cubes of larger numbers overflow.
    """
    c = GELU_LINEAR
    x = b.where(x > GELU_BOUND, GELU_BOUND, b.where(x < -GELU_BOUND, -GELU_BOUND, x))
    square = x * x
    s = b.sigmoid(x * (c + c * GELU_CUBIC * square))
    return s + s * (1.0 - s) * (x * (c + 3 * c * GELU_CUBIC * square))


def gelu_approx_scalar(b: ScalarBuilder, x: Scalar) -> Scalar:
    """
    `x s`, since `1 + tanh u = 2 sigmoid 2u`.

    The s is that of the slope, bounded operand included: a loop over both computes it once.
    """
    c = GELU_LINEAR
    above = b.select(x < -GELU_BOUND, -GELU_BOUND, x)
    bounded = b.select(x > GELU_BOUND, GELU_BOUND, above)
    return above * b.sigmoid(bounded * (c + (c * GELU_CUBIC) * (bounded * bounded)))


def silu_scalar(b: ScalarBuilder, x: Scalar) -> Scalar:
    """`x sigmoid(x)`, and -0 at -inf. The sigmoid is that of the slope."""
    return b.select(x < -SILU_BOUND, -SILU_BOUND, x) * b.sigmoid(x)


def erf_slope(b: MirBuilder, x: Value) -> Value:
    """`2 / sqrt(pi) e^(-x^2)` as a square: the rounding of `x^2` would show in the tail, and its overflow beyond."""
    root = b.gaussian(x)
    return root * root * (2 / sqrt(pi))


def silu_slope(b: MirBuilder, x: Value) -> Value:
    """With `s = sigmoid x`: `s + x s (1 - s)`."""
    s = b.sigmoid(x)
    return s + _vanishing(b, s * (1.0 - s), x)


def _atan_slope(b: MirBuilder, x: Value) -> Value:
    """`1 / (1 + x^2)`, as the square of what does not overflow."""
    root = b.recip(b.hypot(x, 1.0))
    return root * root


def _abs_map(b: MirBuilder, g: Value, x: Value, y: Value) -> Value:
    return b.where(x > 0.0, g, b.where(x < 0.0, -g, b.where(b.eq(x, 0.0), 0.0, b.stop_gradient(x))))


diagonal(
    mir.GeluOp,
    lambda b, g, x, y: g * gelu_slope(b, x),
    scalar=lambda b, x: b.gelu(x),
)
diagonal(
    mir.GeluApproxOp,
    lambda b, g, x, y: g * gelu_approx_slope(b, x),
    scalar=gelu_approx_scalar,
)
diagonal(
    mir.SiluOp,
    lambda b, g, x, y: g * silu_slope(b, x),
    scalar=silu_scalar,
)
diagonal(
    # y > 0 where x > 0, and y is what the next op keeps anyway.
    mir.ReluOp,
    lambda b, g, x, y: b.where(y > 0.0, g, 0.0),
    scalar=lambda b, x: b.maximum(x, 0.0),
)
diagonal(mir.SigmoidOp, lambda b, g, x, y: g * (y * (1.0 - y)), scalar=lambda b, x: b.sigmoid(x))
diagonal(mir.TanhOp, lambda b, g, x, y: g * (1.0 - y * y), scalar=lambda b, x: b.tanh(x))
diagonal(mir.ExpOp, lambda b, g, x, y: g * y, scalar=lambda b, x: b.exp(x))
diagonal(mir.LogOp, lambda b, g, x, y: g / x, scalar=lambda b, x: b.log(x))
diagonal(
    mir.ErfOp,
    lambda b, g, x, y: g * erf_slope(b, x),
    scalar=lambda b, x: b.erf(x),
)
diagonal(mir.NdtrOp, lambda b, g, x, y: g * (b.gaussian(x) * NORMAL_DENSITY), scalar=lambda b, x: b.ndtr(x))
diagonal(mir.GaussianOp, lambda b, g, x, y: -(g * _vanishing(b, y, x)), scalar=lambda b, x: b.gaussian(x))
diagonal(mir.SqrtOp, lambda b, g, x, y: g * 0.5 / y, scalar=lambda b, x: b.sqrt(x))
diagonal(mir.RsqrtOp, lambda b, g, x, y: g * (y * y * y * -0.5), scalar=lambda b, x: b.rsqrt(x))
diagonal(mir.RecipOp, lambda b, g, x, y: -(g * (y * y)), scalar=lambda b, x: 1.0 / x)
diagonal(mir.NegOp, lambda b, g, x, y: -g, scalar=lambda b, x: -x)
diagonal(mir.AbsOp, _abs_map)
diagonal(mir.SinOp, lambda b, g, x, y: g * b.cos(x), scalar=lambda b, x: b.sin(x))
diagonal(mir.CosOp, lambda b, g, x, y: -(g * b.sin(x)), scalar=lambda b, x: b.cos(x))
diagonal(mir.TanOp, lambda b, g, x, y: g * (1.0 + y * y), scalar=lambda b, x: b.tan(x))
diagonal(mir.AtanOp, lambda b, g, x, y: g * _atan_slope(b, x), scalar=lambda b, x: b.atan(x))
diagonal(mir.RoundOp, lambda b, g, x, y: g, scalar=lambda b, x: b.round_even(x))

zero(mir.StopGradientOp, "it stops gradients")
pointwise(mir.StopGradientOp)


@SCALAR.rule(mir.StopGradientOp)
def stop_gradient_scalar(op: mir.StopGradientOp, b: ScalarBuilder, x: Scalar) -> Scalar:
    return x


@SCALAR.rule(mir.AbsOp)
def abs_scalar(op: mir.AbsOp, b: ScalarBuilder, x: Scalar) -> Scalar:
    return x if is_unsigned(element_of(op.operand)) else b.abs(x)


def _tie(b: MirBuilder, g: Value, lhs: Value, rhs: Value) -> Value:
    return b.where(b.eq(lhs, rhs), g * 0.5, 0.0)


def _splat(value: Value) -> float | None:
    """The number that a constant holds everywhere, if it does."""
    owner = value.ssa.owner if isinstance(value.ssa, OpResult) else None
    if not isinstance(owner, mir.ConstantOp) or 0 in value.shape or not owner.value.is_splat():
        return None
    # complex ones are pairs
    number = cast("object", owner.value.get_values()[0])
    return float(number) if isinstance(number, int | float) else None


def _pow_base(b: MirBuilder, g: Value, lhs: Value, rhs: Value, y: Value) -> Value:
    """
    `rhs lhs^(rhs-1)`, and 0 for `0^0`, where this is `0 inf`.

    The exponent is guarded there: a selection alone would be right once, but not when it is differentiated again.
    """
    match _splat(rhs):
        case 0.0:
            return b.zeros_like(g)
        case 1.0:
            return g
        case 2.0:
            return g * (2.0 * lhs)
        case float(exponent):
            return g * (exponent * lhs ** (exponent - 1.0))
        case _:
            constant = b.eq(lhs, 0.0) & b.eq(rhs, 0.0)
            return b.where(constant, 0.0, g * (rhs * lhs ** (b.where(constant, 1.0, rhs) - 1.0)))


def _pow_exponent(b: MirBuilder, g: Value, lhs: Value, rhs: Value, y: Value) -> Value:
    """
    `y ln lhs`, and its limit 0 where lhs is 0 and rhs is not negative.

    The power is computed again, of a guarded base like the logarithm: the slope of `y` at 0 may be infinite.
    """
    limit = b.eq(lhs, 0.0) & (rhs >= 0.0)
    base = b.where(limit, 1.0, lhs)
    return b.where(limit, 0.0, g * (base**rhs * b.log(base)))


def _div_rhs(b: MirBuilder, g: Value, lhs: Value, rhs: Value, y: Value) -> Value:
    """`-g y / rhs`, with the quotient of the other derivative; a divisor that broadcasts divides sums instead."""
    if g.shape == y.shape != rhs.shape:
        return -(b.unbroadcast(g * y, rhs.shape) / rhs)
    return -(g / rhs * y)


diagonal(
    mir.AddOp,
    lambda b, g, lhs, rhs, y: g,
    lambda b, g, lhs, rhs, y: g,
    scalar=lambda b, lhs, rhs: lhs + rhs,
)
diagonal(
    mir.SubOp,
    lambda b, g, lhs, rhs, y: g,
    lambda b, g, lhs, rhs, y: -g,
    scalar=lambda b, lhs, rhs: lhs - rhs,
)
diagonal(
    mir.MulOp,
    lambda b, g, lhs, rhs, y: g * rhs,
    lambda b, g, lhs, rhs, y: g * lhs,
    scalar=lambda b, lhs, rhs: lhs * rhs,
)
diagonal(
    mir.DivOp,
    lambda b, g, lhs, rhs, y: g / rhs,
    _div_rhs,
    scalar=lambda b, lhs, rhs: lhs / rhs,
)
diagonal(
    mir.MaxOp,
    lambda b, g, lhs, rhs, y: b.where(lhs > rhs, g, _tie(b, g, lhs, rhs)),
    lambda b, g, lhs, rhs, y: b.where(lhs < rhs, g, _tie(b, g, lhs, rhs)),
)
diagonal(
    mir.MinOp,
    lambda b, g, lhs, rhs, y: b.where(lhs < rhs, g, _tie(b, g, lhs, rhs)),
    lambda b, g, lhs, rhs, y: b.where(lhs > rhs, g, _tie(b, g, lhs, rhs)),
)
diagonal(mir.PowOp, _pow_base, _pow_exponent, scalar=lambda b, lhs, rhs: b.pow(lhs, rhs))

zero(mir.AndOp, "the operands are integers")
pointwise(mir.AndOp)


@SCALAR.rule(mir.AndOp)
def and_scalar(op: mir.AndOp, b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> Scalar:
    return lhs & rhs


zero(mir.ShiftRightLogicalOp, "the operands are integers")
pointwise(mir.ShiftRightLogicalOp)


@SCALAR.rule(mir.ShiftRightLogicalOp)
def shift_right_logical_scalar(op: mir.ShiftRightLogicalOp, b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> Scalar:
    return b.shift_right_logical(lhs, rhs & ((int_width(lhs.type) or 64) - 1))


@SCALAR.rule(mir.MaxOp)
def max_scalar(op: mir.MaxOp, b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> Scalar:
    return b.integer(arith.MaxUIOp, lhs, rhs) if is_unsigned(element_of(op.lhs)) else b.maximum(lhs, rhs)


@SCALAR.rule(mir.MinOp)
def min_scalar(op: mir.MinOp, b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> Scalar:
    return b.integer(arith.MinUIOp, lhs, rhs) if is_unsigned(element_of(op.lhs)) else b.minimum(lhs, rhs)


def _compare_scalar(
    float_predicate: str,
    signed: str,
    unsigned: str,
    op: mir.CompareOp,
    b: ScalarBuilder,
    lhs: Scalar,
    rhs: Scalar,
) -> Scalar:
    return b.compare(float_predicate, unsigned if is_unsigned(element_of(op.lhs)) else signed, lhs, rhs)


_COMPARE: tuple[tuple[type[mir.CompareOp], str, str, str], ...] = (
    (mir.EqOp, "oeq", "eq", "eq"),
    (mir.NeOp, "une", "ne", "ne"),
    (mir.LtOp, "olt", "slt", "ult"),
    (mir.LeOp, "ole", "sle", "ule"),
    (mir.GtOp, "ogt", "sgt", "ugt"),
    (mir.GeOp, "oge", "sge", "uge"),
)
for _op, *_predicates in _COMPARE:
    zero(_op, "it is piecewise constant")
    pointwise(_op)
    SCALAR.add(_op, partial(_compare_scalar, *_predicates))


pointwise(mir.WhereOp)


@VJP.rule(mir.WhereOp)
def where_vjp(op: mir.WhereOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """
    The branch that was not taken gets an exact 0, yet `0 inf` further back is NaN: guard its input as well.

    `where(x > 0, log(where(x > 0, x, 1)), 0)` has a finite gradient everywhere; `where(x > 0, log(x), 0)` has not.
    """
    on_true, on_false = b.value(op.on_true), b.value(op.on_false)
    return (
        None,
        lambda: b.unbroadcast(b.where(op.cond, g, 0.0), on_true.shape),
        lambda: b.unbroadcast(b.where(op.cond, 0.0, g), on_false.shape),
    )


@JVP.rule(mir.WhereOp)
def where_jvp(
    op: mir.WhereOp, b: MirBuilder, cond: None, on_true: Value | None, on_false: Value | None
) -> Sequence[Value | None]:
    chosen = b.where(op.cond, 0.0 if on_true is None else on_true, 0.0 if on_false is None else on_false)
    return [b.expand(chosen, b.value(op.result).shape)]


@SCALAR.rule(mir.WhereOp)
def where_scalar(op: mir.WhereOp, b: ScalarBuilder, cond: Scalar, on_true: Scalar, on_false: Scalar) -> Scalar:
    return b.select(cond, on_true, on_false)


zero(mir.ConstantOp, "it has no operands")
VMAP.exempt(mir.ConstantOp, "it has no operands")


def _of_one_shape(op: Operation) -> bool:
    return all(shape_of(x) == shape_of(op.results[0]) for x in op.operands)


NARROW.add(mir.AddOp, mir.SubOp, mir.NegOp, mir.ReluOp, mir.MaxOp, mir.MinOp, mir.WhereOp, mir.RoundOp)
# What broadcasting repeats is summed: of the products before they are rounded.
NARROW.add(mir.MulOp, when=_of_one_shape)


def _over_one_plus_exp(divisor: Term) -> Term | None:
    """The `x` of `1 + exp(-x)`."""
    for one, other in either_way(divisor, mir.AddOp):
        for exponent in parts(other, mir.ExpOp) if number(one) == 1.0 else ():
            return negated(exponent)
    return None


@RAISE.rule(mir.SigmoidOp, mir.DivOp, mir.RecipOp, among=(mir.ExpOp,))
def sigmoid_raise(op: mir.DivOp | mir.RecipOp) -> Raised | None:
    divisor = reciprocal(term(op.result))
    x = None if divisor is None else _over_one_plus_exp(divisor)
    return None if x is None else _of(mir.SigmoidOp, x, op.result)


def _of(kind: type[mir.UnaryOp], x: Term, result: SSAValue) -> Raised | None:
    """An op of one operand that gives a result, if the operand has its type."""
    if x.value.type != result.type or x != term(x.value):
        return None
    return Raised((x.value,), lambda b: b.op(kind, x.value))


@RAISE.rule(mir.SiluOp, mir.MulOp, mir.DivOp, among=(mir.ExpOp, mir.TanhOp, mir.SigmoidOp))
def silu_raise(op: mir.MulOp | mir.DivOp) -> Raised | None:
    """`x sigmoid(x)` or `x / (1 + exp(-x))`, which at -inf are NaN, and 0 as an op."""
    y = term(op.result)
    for x, divisor in quotients(y):
        inner = _over_one_plus_exp(divisor)
        if inner is not None and same(inner, x):
            return _of(mir.SiluOp, x, op.result)
    for x, gate in either_way(y, mir.MulOp):
        for inner in parts(gate, mir.SigmoidOp):
            if same(inner, x):
                return _of(mir.SiluOp, x, op.result)
    return None


class _Curve(NamedTuple):
    """An op as a polynomial in its operand and a function of a polynomial in that, by their exponents."""

    kind: type[mir.UnaryOp]
    curve: type[Operation]
    inner: Powers
    outer: Powers


_HALF_OF_EACH: Powers = {(1, 0): 0.5, (1, 1): 0.5}
_CUBIC: Powers = {(1,): sqrt(2 / pi), (3,): sqrt(2 / pi) * GELU_CUBIC}
_ERF = _Curve(mir.GeluOp, mir.ErfOp, {(1,): sqrt(0.5)}, _HALF_OF_EACH)
_ERFC = _Curve(mir.GeluOp, ErfcOp, {(1,): -sqrt(0.5)}, {(1, 1): 0.5})
_TANH = _Curve(mir.GeluApproxOp, mir.TanhOp, _CUBIC, _HALF_OF_EACH)
_LOGISTIC = _Curve(mir.SigmoidOp, mir.TanhOp, {(1,): 0.5}, {(0, 0): 0.5, (0, 1): 0.5})


_SWISH = _Curve(mir.SiluOp, mir.TanhOp, {(1,): 0.5}, _HALF_OF_EACH)


@RAISE.rule(mir.SiluOp, mir.MulOp, mir.DivOp, mir.AddOp, among=(mir.TanhOp,))
def silu_of_tanh_raise(op: mir.MulOp | mir.DivOp | mir.AddOp) -> Raised | None:
    """`x (1 + tanh(x / 2)) / 2`."""
    return _by_curve(op.result, _SWISH)


@RAISE.rule(mir.SigmoidOp, mir.MulOp, mir.DivOp, mir.AddOp, among=(mir.TanhOp,))
def sigmoid_of_tanh_raise(op: mir.MulOp | mir.DivOp | mir.AddOp) -> Raised | None:
    """`(1 + tanh(x / 2)) / 2`."""
    return _by_curve(op.result, _LOGISTIC)


@RAISE.rule(mir.GeluOp, mir.MulOp, mir.DivOp, mir.AddOp, among=(mir.ErfOp, ErfcOp, mir.NdtrOp))
def gelu_raise(op: mir.MulOp | mir.DivOp | mir.AddOp) -> Raised | None:
    """
    `x / 2 (1 + erf(x / sqrt 2))` or `x / 2 erfc(-x / sqrt 2)`, whatever is multiplied first, or `x ndtr(x)`.

    At -inf they are NaN, and 0 as an op.
    """
    y = term(op.result)
    for x, share in either_way(y, mir.MulOp):
        for inner in parts(share, mir.NdtrOp):
            if same(inner, x):
                return _of(mir.GeluOp, x, op.result)
    return _by_curve(op.result, _ERF) or _by_curve(op.result, _ERFC)


@RAISE.rule(mir.GeluApproxOp, mir.MulOp, mir.DivOp, mir.AddOp, among=(mir.TanhOp,))
def gelu_approx_raise(op: mir.MulOp | mir.DivOp | mir.AddOp) -> Raised | None:
    """`x / 2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`, whatever is multiplied first."""
    return _by_curve(op.result, _TANH)


def _by_curve(result: SSAValue, seen: _Curve) -> Raised | None:
    """The op that has this curve, if a value is it."""
    leaves = list(_factors(term(result), 4))
    curved = next((t for t in leaves if type(t.value.owner) is seen.curve), None)
    if curved is None or (element := element_of(result)) not in FLOATS:
        return None
    inside = parts(curved, seen.curve)[0]
    for x in dict.fromkeys((*leaves, *_factors(inside, 2), inside)):
        inner = polynomial(inside, [x])
        if is_polynomial(inner, seen.inner, element) and is_polynomial(
            polynomial(term(result), [x, curved]), seen.outer, element
        ):
            return _of(seen.kind, x, result)
    return None


def _factors(x: Term, depth: int) -> Iterator[Term]:
    """What a sum of products is made of, and parts of it."""
    for part in parts(x, mir.MulOp, mir.DivOp, mir.AddOp) if depth else ():
        if number(part) is None:
            part = bare(part)
            yield part
            yield from _factors(part, depth - 1)
