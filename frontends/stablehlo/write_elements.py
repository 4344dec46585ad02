"""Elementwise ops as StableHLO: operations of the same meaning, or the operations of an op's scalar rule on tensors."""

# Types of xDSL are generic in their attributes.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import math as numbers
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    ComplexType,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
    UnrealizedConversionCastOp,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.lir import scalar as lir
from xdsl_rlx.dialects.lir.scalar_builder import ScalarBuilder
from xdsl_rlx.dialects.locations import named
from xdsl_rlx.dialects.mir import bits, elementwise, fake_quantize, rounding, special, transcendental
from xdsl_rlx.dialects.mir import cast as casts
from xdsl_rlx.dialects.mir import complex as complexes
from xdsl_rlx.dialects.mir.core import Elementwise
from xdsl_rlx.dialects.shapes import COMPLEXES, FLOATS, element_of, shape_of
from xdsl_rlx.frontends.stablehlo.write_idioms import quotient, remainder
from xdsl_rlx.frontends.stablehlo.writer import ELEMENTWISE, ROWS, Writer, row
from xdsl_rlx.transforms.int_ranges import IntRanges
from xdsl_rlx.transforms.rules import SCALAR

_SAME: dict[type[Operation], str] = {
    elementwise.AbsOp: "abs",
    elementwise.AddOp: "add",
    complexes.Atan2Op: "atan2",
    transcendental.CbrtOp: "cbrt",
    rounding.CeilOp: "ceil",
    bits.ClzOp: "count_leading_zeros",
    complexes.ComplexOp: "complex",
    elementwise.CosOp: "cosine",
    special.ErfInvOp: "chlo.erf_inv",
    elementwise.ErfOp: "chlo.erf",
    transcendental.ErfcOp: "chlo.erfc",
    elementwise.ExpOp: "exponential",
    transcendental.Expm1Op: "exponential_minus_one",
    rounding.FloorOp: "floor",
    complexes.ImagOp: "imag",
    transcendental.Log1pOp: "log_plus_one",
    elementwise.LogOp: "log",
    elementwise.MaxOp: "maximum",
    elementwise.MinOp: "minimum",
    elementwise.NegOp: "negate",
    bits.PopulationCountOp: "popcnt",
    elementwise.PowOp: "power",
    complexes.RealOp: "real",
    elementwise.RoundOp: "round_nearest_even",
    elementwise.RsqrtOp: "rsqrt",
    rounding.ShiftLeftOp: "shift_left",
    elementwise.SigmoidOp: "logistic",
    elementwise.SinOp: "sine",
    elementwise.SqrtOp: "sqrt",
    elementwise.SubOp: "subtract",
    elementwise.TanOp: "tan",
    elementwise.TanhOp: "tanh",
    rounding.XorOp: "xor",
    elementwise.AndOp: "and",
    rounding.OrOp: "or",
}
"""Ops that are one operation of StableHLO, of CHLO with its name in front."""

_FLOAT_ONLY = (elementwise.PowOp, elementwise.RoundOp)
"""Those of which integers have a meaning of their own."""

_IDENTITIES = (elementwise.AbsOp, rounding.CeilOp, rounding.FloorOp)
"""Those that leave integers, or unsigned ones, as they are."""


def _spread(op: Operation, w: Writer) -> list[SSAValue]:
    """The operands, broadcast to the shape of the result."""
    return [w.expand(w[x], shape_of(op.results[0])) for x in op.operands]


def _same(op: Operation, w: Writer) -> Sequence[SSAValue]:
    element = element_of(op.results[0])
    is_integer, is_unsigned = isinstance(element, IntegerType), kind_of(element) == "UNSIGNED"
    # StableHLO has no such operation of integers, or none of unsigned ones
    if type(op) in _IDENTITIES and is_integer and (is_unsigned or type(op) is not elementwise.AbsOp):
        return [w[op.operands[0]]]
    if type(op) in _FLOAT_ONLY and element not in (*FLOATS, *COMPLEXES):
        return by_scalars(op, w)
    return [w.op(_SAME[type(op)], _spread(op, w), op.results[0].type)]


for _op in _SAME:
    ROWS[_op] = _same


@row(elementwise.DivOp)
def _div(op: elementwise.DivOp, w: Writer) -> Sequence[SSAValue]:
    return [w.op("divide", _spread(op, w), op.result.type)]


@row(elementwise.RecipOp)
def _recip(op: elementwise.RecipOp, w: Writer) -> Sequence[SSAValue]:
    x = w[op.operands[0]]
    return [w.op("divide", [w.like(1.0, x), x], x.type)]


@row(elementwise.StopGradientOp, fake_quantize.StraightThroughOp)
def _first(op: Operation, w: Writer) -> Sequence[SSAValue]:
    return [w[op.operands[0]]]


@row(elementwise.ConstantOp)
def _constant(op: elementwise.ConstantOp, w: Writer) -> Sequence[SSAValue]:
    return [w.dense(op.value)]


@row(elementwise.WhereOp)
def _where(op: elementwise.WhereOp, w: Writer) -> Sequence[SSAValue]:
    if (known := quotient(op, w) or remainder(op, w)) is not None:
        return [known]
    predicate, *values = _spread(op, w)
    return [w.op("select", [truth_of(w, predicate), *values], op.results[0].type)]


@row(rounding.FloordivOp)
def _floordiv_row(op: rounding.FloordivOp, w: Writer) -> Sequence[SSAValue]:
    known = quotient(op, w)
    return by_scalars(op, w) if known is None else [known]


@row(rounding.RemOp)
def _rem(op: rounding.RemOp, w: Writer) -> Sequence[SSAValue]:
    known = remainder(op, w)
    return by_scalars(op, w) if known is None else [known]


@row(rounding.ShiftRightOp)
def _shift_right(op: rounding.ShiftRightOp, w: Writer) -> Sequence[SSAValue]:
    """By the width or more, StableHLO's shifts too leave 0 or the sign."""
    is_unsigned = kind_of(element_of(op.result)) == "UNSIGNED"
    return [w.op(f"shift_right_{'logical' if is_unsigned else 'arithmetic'}", _spread(op, w), op.result.type)]


@row(elementwise.ShiftRightLogicalOp)
def _shift_right_logical(op: elementwise.ShiftRightLogicalOp, w: Writer) -> Sequence[SSAValue]:
    """By an amount modulo the width."""
    x, by = _spread(op, w)
    element = element_of(op.result)
    assert isinstance(element, IntegerType)
    low, high = IntRanges().known(op.operands[1])
    if not 0 <= low <= high < element.width.data:
        by = w.op("and", [by, w.like(element.width.data - 1, by)], by.type)
    return [w.op("shift_right_logical", [x, by], op.result.type)]


def truth_of(w: Writer, x: SSAValue) -> SSAValue:
    """Where a tensor is not 0."""
    if element_of(x) == i1:
        return x
    return w.compare("NE", x, w.like(0, x), kind_of(element_of(x)))


def kind_of(element: Attribute) -> str:
    """The kind of comparison of an element type."""
    if isinstance(element, IntegerType):
        is_unsigned = element.signedness.data is Signedness.UNSIGNED or element == i1
        return "UNSIGNED" if is_unsigned else "SIGNED"
    return "FLOAT"


_DIRECTIONS: dict[type[Operation], str] = {
    elementwise.EqOp: "EQ",
    elementwise.NeOp: "NE",
    elementwise.LtOp: "LT",
    elementwise.LeOp: "LE",
    elementwise.GtOp: "GT",
    elementwise.GeOp: "GE",
}


def _compare(op: Operation, w: Writer) -> Sequence[SSAValue]:
    a, b = _spread(op, w)
    return [w.compare(_DIRECTIONS[type(op)], a, b, kind_of(element_of(a)))]


for _op in _DIRECTIONS:
    ROWS[_op] = _compare


@row(casts.CastOp)
def _cast(op: casts.CastOp, w: Writer) -> Sequence[SSAValue]:
    """Of floats as integers, `convert` saturates in XLA, and gives 0 for NaN, as `mir.cast` does."""
    x, to = w[op.operand], element_of(op.result)
    element = element_of(x)
    if to == i1:
        return [truth_of(w, x)]
    if isinstance(to, ComplexType) and not isinstance(element, ComplexType):
        part = w.convert(x, to.element_type)
        return [w.op("complex", [part, w.like(0.0, part)], op.result.type)]
    return [w.convert(x, to)]


@row(bits.BitcastConvertTypeOp)
def _bitcast(op: Operation, w: Writer) -> Sequence[SSAValue]:
    return [w.op("bitcast_convert", [w[op.operands[0]]], op.results[0].type)]


@row(bits.ReducePrecisionOp)
def _reduce_precision(op: Any, w: Writer) -> Sequence[SSAValue]:
    from xdsl.dialects.builtin import i32

    bits = {name: IntegerAttr(op.properties[name].value.data, i32) for name in ("exponent_bits", "mantissa_bits")}
    return [w.op("reduce_precision", [w[op.operands[0]]], op.results[0].type, **bits)]


@row(special.SpecialFunctionOp)
def _special(op: Any, w: Writer) -> Sequence[SSAValue]:
    xs = [w[x] for x in op.parts]
    type_, name = op.result.type, op.function.data.value
    match name:
        case "zeta" | "bessel_i1e":
            return [w.op(f"chlo.{name}", xs, type_)]
        case "trigamma":
            return [w.op("chlo.zeta", [w.like(2.0, xs[0]), xs[0]], type_)]
        case "betaln":
            a, b = xs
            logs = [w.op("chlo.lgamma", [x], type_) for x in (a, b, w.op("add", [a, b], type_))]
            return [w.op("subtract", [w.op("add", logs[:2], type_), logs[2]], type_)]
        case _:
            raise PassFailedException(
                f"{named(op)} cannot be written as StableHLO: it has no function {name}; compute it with rlx.compile"
            )


# Scalar rules


def by_scalars(op: Operation, w: Writer) -> Sequence[SSAValue]:
    """An elementwise op by its scalar rule, whose scalar ops become operations on tensors."""
    if not op.has_trait(Elementwise) or any(element_of(x) in COMPLEXES for x in (*op.operands, *op.results)):
        raise PassFailedException(f"{named(op)} cannot be written as StableHLO: it has no row")
    (result,) = op.results
    shape = shape_of(result)
    block = Block(arg_types=[_scalar(element_of(x)) for x in op.operands])
    b = ScalarBuilder(Builder(InsertPoint.at_end(block)))
    found = SCALAR.lookup(op)(op, b, *map(b.of, block.args)).value
    env: dict[SSAValue, SSAValue] = {}
    for arg, x in zip(block.args, op.operands, strict=True):
        env[arg] = _as(w, w.expand(w[x], shape), arg.type)
    for inner in block.ops:
        env[inner.results[0]] = _written(inner, w, env, shape)
    return [_as(w, env[found], element_of(result))]


ELEMENTWISE.append(by_scalars)


def _scalar(element: Attribute) -> Attribute:
    """The type of an element in scalar rules: half floats are wider there, and no integer has a sign."""
    if element in (f16, bf16):
        return f32
    return _signless(element) if isinstance(element, IntegerType) else element


def _signless(element: IntegerType) -> IntegerType:
    return IntegerType(element.width.data)


def _as(w: Writer, x: SSAValue, element: Attribute) -> SSAValue:
    """A value in an element type: integers of another sign are the same bits."""
    before = element_of(x)
    if isinstance(before, IntegerType) and isinstance(element, IntegerType) and before.width == element.width:
        return w.bits(x, element)
    return w.convert(x, element)


_ARITHMETIC: dict[type[Operation], str] = {
    arith.AddfOp: "add",
    arith.AddiOp: "add",
    arith.AndIOp: "and",
    arith.DivSIOp: "divide",
    arith.DivfOp: "divide",
    arith.MaxSIOp: "maximum",
    arith.MaximumfOp: "maximum",
    arith.MinSIOp: "minimum",
    arith.MinimumfOp: "minimum",
    arith.MulfOp: "multiply",
    arith.MuliOp: "multiply",
    arith.NegfOp: "negate",
    arith.OrIOp: "or",
    arith.RemSIOp: "remainder",
    arith.ShLIOp: "shift_left",
    arith.ShRSIOp: "shift_right_arithmetic",
    arith.ShRUIOp: "shift_right_logical",
    arith.SelectOp: "select",
    arith.SubfOp: "subtract",
    arith.SubiOp: "subtract",
    arith.XOrIOp: "xor",
    lir.DigammaOp: "chlo.digamma",
    lir.ErfInvOp: "chlo.erf_inv",
    lir.ErfcOp: "chlo.erfc",
    lir.FmodOp: "remainder",
    lir.LgammaOp: "chlo.lgamma",
    lir.SigmoidOp: "logistic",
    math.AbsFOp: "abs",
    math.AbsIOp: "abs",
    math.AcosOp: "chlo.acos",
    math.AcoshOp: "chlo.acosh",
    math.AsinOp: "chlo.asin",
    math.AsinhOp: "chlo.asinh",
    math.AtanhOp: "chlo.atanh",
    math.CbrtOp: "cbrt",
    math.CeilOp: "ceil",
    math.CosOp: "cosine",
    math.CoshOp: "chlo.cosh",
    math.CountLeadingZerosOp: "count_leading_zeros",
    math.CtPopOp: "popcnt",
    math.ErfOp: "chlo.erf",
    math.ExpM1Op: "exponential_minus_one",
    math.ExpOp: "exponential",
    math.FloorOp: "floor",
    math.Log1pOp: "log_plus_one",
    math.LogOp: "log",
    math.PowFOp: "power",
    math.RoundEvenOp: "round_nearest_even",
    math.SinOp: "sine",
    math.SinhOp: "chlo.sinh",
    math.SqrtOp: "sqrt",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
}
"""Scalar ops that are one operation."""

_CONVERSIONS = (arith.ExtFOp, arith.TruncFOp, arith.SIToFPOp, arith.ExtSIOp, arith.TruncIOp)
_UNSIGNED = (arith.UIToFPOp, arith.ExtUIOp)

_ORDERED = {"oeq": "EQ", "olt": "LT", "ole": "LE", "ogt": "GT", "oge": "GE", "une": "NE"}
_OPPOSITE = {"ult": "GE", "ule": "GT", "ugt": "LE", "uge": "LT"}
"""Comparisons that are true of NaN: none of them holds where this ordered one does."""
_INTEGERS = {
    "eq": "EQ",
    "ne": "NE",
    "slt": "LT",
    "sle": "LE",
    "sgt": "GT",
    "sge": "GE",
    "ult": "LT",
    "ule": "LE",
    "ugt": "GT",
    "uge": "GE",
}


def _written(op: Operation, w: Writer, env: dict[SSAValue, SSAValue], shape: Sequence[int]) -> SSAValue:
    """A scalar op on tensors."""
    operands = [env[x] for x in op.operands]
    element = op.results[0].type
    type_ = TensorType(element, shape)
    kind = type(op)
    if (name := _ARITHMETIC.get(kind)) is not None:
        return w.op(name, operands, type_)
    if isinstance(op, arith.ConstantOp):
        value = op.value
        assert isinstance(value, FloatAttr | IntegerAttr)
        return w.full(value.value.data, shape, element)
    if kind in _CONVERSIONS:
        return w.convert(operands[0], element)
    if kind in _UNSIGNED:
        return _from_unsigned(w, operands[0], element)
    if kind in (arith.FPToSIOp, arith.FPToUIOp):
        assert isinstance(element, IntegerType)
        to = element if kind is arith.FPToSIOp else IntegerType(element.width.data, Signedness.UNSIGNED)
        return w.bits(w.convert(operands[0], to), element)
    if kind in (arith.BitcastOp, UnrealizedConversionCastOp):
        return w.op("bitcast_convert", operands, type_)
    if isinstance(op, arith.CmpfOp | arith.CmpiOp):
        return _comparison(op, w, operands)
    if (formula := _FORMULAS.get(kind)) is not None:
        return formula(w, *operands)
    raise PassFailedException(f"scalar op {op.name} cannot be written as StableHLO")


def _erfcx(w: Writer, x: SSAValue) -> SSAValue:
    """Below 0, `2 e^(x^2)` less that of `|x|`; the square is in two parts, of which the first is exact."""
    element, x = element_of(x), w.convert(x, f64)
    ratio = _by_arithmetic(w, w.op("abs", [x], x.type), "erfcx")
    bits = w.bits(x, i64)
    high = w.bits(w.op("and", [bits, w.like(-1 << 27, bits)], bits.type), f64)
    lost, total = (w.op(name, [x, high], x.type) for name in ("subtract", "add"))
    squares = [w.op("multiply", pair, x.type) for pair in ([high, high], [lost, total])]
    factors = [w.op("exponential", [one], x.type) for one in squares]
    twice = _times(w, w.op("multiply", factors, x.type), 2.0)
    below = w.op("subtract", [twice, ratio], x.type)
    negative = w.compare("LT", x, w.like(0.0, x), "FLOAT")
    return w.convert(w.op("select", [negative, below, ratio], x.type), element)


def _by_arithmetic(w: Writer, x: SSAValue, name: str) -> SSAValue:
    """A function of numbers by the additions and products of compiled programs, in double precision."""
    block, found = import_module("xdsl_rlx.frontends.hosts.scalar_functions").body_of(name)
    env: dict[SSAValue, SSAValue] = {block.args[0]: w.convert(x, f64)}
    for inner in block.ops:
        env[inner.results[0]] = _written(inner, w, env, shape_of(x))
    return w.convert(env[found], element_of(x))


def _from_unsigned(w: Writer, x: SSAValue, element: Attribute) -> SSAValue:
    own = element_of(x)
    assert isinstance(own, IntegerType)
    if own == i1:
        return w.convert(x, element)
    wide = w.bits(x, IntegerType(own.width.data, Signedness.UNSIGNED))
    if not isinstance(element, IntegerType):
        return w.convert(wide, element)
    return w.bits(w.convert(wide, IntegerType(element.width.data, Signedness.UNSIGNED)), element)


def _comparison(op: arith.CmpfOp | arith.CmpiOp, w: Writer, operands: Sequence[SSAValue]) -> SSAValue:
    a, b = operands
    number = op.predicate.value.data
    if isinstance(op, arith.CmpiOp):
        name = arith.CMPI_COMPARISON_OPERATIONS[number]
        element = element_of(a)
        assert isinstance(element, IntegerType)
        if element == i1:
            return w.compare(_INTEGERS[name], a, b, "UNSIGNED")
        if name.startswith("u"):
            unsigned = IntegerType(element.width.data, Signedness.UNSIGNED)
            return w.compare(_INTEGERS[name], w.bits(a, unsigned), w.bits(b, unsigned), "UNSIGNED")
        return w.compare(_INTEGERS[name], a, b, "SIGNED")
    name = arith.CMPF_COMPARISON_OPERATIONS[number]
    if name in _ORDERED:
        return w.compare(_ORDERED[name], a, b, "FLOAT")
    if name in _OPPOSITE:
        found = w.compare(_OPPOSITE[name], a, b, "FLOAT")
        return w.op("not", [found], found.type)
    nan = [w.compare("NE", x, x, "FLOAT") for x in (a, b)]
    either = w.op("or", nan, nan[0].type)
    if name == "uno":
        return either
    if name == "ord":
        return w.op("not", [either], either.type)
    if name == "one":
        ordered = w.op("not", [either], either.type)
        return w.op("and", [ordered, w.compare("NE", a, b, "FLOAT")], either.type)
    if name == "ueq":
        return w.op("or", [either, w.compare("EQ", a, b, "FLOAT")], either.type)
    raise PassFailedException(f"comparison {name} cannot be written as StableHLO")


def _trunc(w: Writer, x: SSAValue) -> SSAValue:
    below = w.compare("LT", x, w.like(0.0, x), "FLOAT")
    return w.op("select", [below, w.op("ceil", [x], x.type), w.op("floor", [x], x.type)], x.type)


def _copysign(w: Writer, x: SSAValue, sign: SSAValue) -> SSAValue:
    integer = IntegerType(64 if element_of(x) == f64 else 32)
    bits = w.bits(sign, integer)
    negative = w.compare("LT", bits, w.like(0, bits), "SIGNED")
    size = w.op("abs", [x], x.type)
    return w.op("select", [negative, w.op("negate", [size], x.type), size], x.type)


def _times(w: Writer, x: SSAValue, factor: float) -> SSAValue:
    return w.op("multiply", [x, w.like(factor, x)], x.type)


def _ndtr(w: Writer, x: SSAValue) -> SSAValue:
    return _times(w, w.op("chlo.erfc", [_times(w, x, -(0.5**0.5))], x.type), 0.5)


def _gelu(w: Writer, x: SSAValue) -> SSAValue:
    found = w.op("multiply", [x, _ndtr(w, x)], x.type)
    least = w.compare("EQ", x, w.like(-numbers.inf, x), "FLOAT")
    return w.op("select", [least, w.like(0.0, x), found], x.type)


def _gaussian(w: Writer, x: SSAValue) -> SSAValue:
    return w.op("exponential", [_times(w, w.op("multiply", [x, x], x.type), -0.5)], x.type)


def _floordiv(w: Writer, x: SSAValue, y: SSAValue) -> SSAValue:
    """Rounded down, and 0 for a divisor of 0."""
    quotient, rest = (w.op(name, [x, y], x.type) for name in ("divide", "remainder"))
    signs = w.op("xor", [rest, y], x.type)
    apart = w.compare("LT", signs, w.like(0, x), "SIGNED")
    left = w.op("and", [w.compare("NE", rest, w.like(0, x), "SIGNED"), apart], apart.type)
    less = w.op("subtract", [quotient, w.like(1, x)], x.type)
    found = w.op("select", [left, less, quotient], x.type)
    zero = w.like(0, x)
    return w.op("select", [w.compare("EQ", y, zero, "SIGNED"), zero, found], x.type)


_FORMULAS: dict[type[Operation], Callable[..., SSAValue]] = {
    arith.FloorDivSIOp: _floordiv,
    lir.ErfcxOp: _erfcx,
    lir.GaussianOp: _gaussian,
    lir.GeluOp: _gelu,
    lir.NdtrOp: _ndtr,
    lir.NdtriOp: lambda w, x: _by_arithmetic(w, x, "ndtri"),
    math.AtanOp: lambda w, x: w.op("atan2", [x, w.like(1.0, x)], x.type),
    math.CopySignOp: _copysign,
    math.Exp2Op: lambda w, x: w.op("power", [w.like(2.0, x), x], x.type),
    math.FmaOp: lambda w, x, y, z: w.op("add", [w.op("multiply", [x, y], x.type), z], x.type),
    math.Log10Op: lambda w, x: w.op("divide", [w.op("log", [x], x.type), w.like(numbers.log(10), x)], x.type),
    math.Log2Op: lambda w, x: w.op("divide", [w.op("log", [x], x.type), w.like(numbers.log(2), x)], x.type),
    math.TruncOp: _trunc,
}
"""Scalar ops that take several operations."""
