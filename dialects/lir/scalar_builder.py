"""Scalar expressions as IR: `ScalarBuilder` inserts scalar ops, `Scalar` is a value with Python's operators.
Loops, memory and the meaning of the transcendental functions (see lowering/backend/math/mathlib.py) are not here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import frexp, isfinite
from typing import TypeAlias, TypeVar, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    UnrealizedConversionCastOp,
    bf16,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.constants import next_below, round_to
from xdsl_rlx.dialects.lir.scalar import (
    DigammaOp,
    DotBf16Op,
    DotI8Op,
    ErfcOp,
    ErfcxOp,
    ErfInvOp,
    FmodOp,
    FreezeOp,
    GaussianOp,
    GeluOp,
    LgammaOp,
    NdtriOp,
    NdtrOp,
    PackBf16Op,
    PackI8Op,
    RoundBf16Op,
    ScalarOp,
    SigmoidOp,
)

INDEX = IndexType()

_FLOATS = frozenset((Float32Type, Float64Type, Float16Type, BFloat16Type))
_NO_FASTMATH = FastMathFlagsAttr("none")
_STRICT: dict[str, Attribute] = {"fastmath": _NO_FASTMATH}
_REASSOC: dict[str, Attribute] = {
    "fastmath": FastMathFlagsAttr([FastMathFlag.REASSOC, FastMathFlag.NO_SIGNED_ZEROS]),
}
_ANY_ZERO: dict[str, Attribute] = {"fastmath": FastMathFlagsAttr([FastMathFlag.NO_SIGNED_ZEROS])}
_CONTRACT: dict[str, Attribute] = {"fastmath": FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])}
_WRAP: dict[str, Attribute] = {"overflowFlags": arith.IntegerOverflowAttr("none")}
_CMPF = {name: IntegerAttr(i, i64) for i, name in enumerate(arith.CMPF_COMPARISON_OPERATIONS)}
_CMPI = {name: IntegerAttr(i, i64) for i, name in enumerate(arith.CMPI_COMPARISON_OPERATIONS)}

PlainNumber: TypeAlias = int | float | bool
OpT = TypeVar("OpT", bound=Operation)


def is_float(type: Attribute) -> bool:
    """Whether `type` is one of f64, f32, f16, bf16."""
    return type.__class__ in _FLOATS


def int_width(type: Attribute) -> int | None:
    """The width in bits of an integer type (64 for index), None for any other type."""
    if type.__class__ is IntegerType:
        return cast("IntegerType", type).width.data
    return 64 if type.__class__ is IndexType else None


@dataclass(slots=True, eq=False)
class Scalar:
    """A scalar SSA value with arithmetic operators that insert ops through its builder.

    `+ - *` and comparisons work on floats (strict IEEE, ordered comparison) and on signless integers (wrapping,
    signed comparison); `/` is for floats; `& | ^ << >>` for integers (`>>` is arithmetic). The other operand may be a
    Python number, which becomes a constant of this operand's type. `==` is object identity: use `ScalarBuilder.eq`.
    """

    value: SSAValue
    b: ScalarBuilder

    @property
    def type(self) -> Attribute:
        return self.value.type

    def __add__(self, other: Scalar | PlainNumber) -> Scalar:
        return self.b.add(self, other)

    def __radd__(self, other: PlainNumber) -> Scalar:
        return self.b.add(self.b.const(other, self.type), self)

    def __sub__(self, other: Scalar | PlainNumber) -> Scalar:
        return self.b.sub(self, other)

    def __rsub__(self, other: PlainNumber) -> Scalar:
        return self.b.sub(self.b.const(other, self.type), self)

    def __mul__(self, other: Scalar | PlainNumber) -> Scalar:
        return self.b.mul(self, other)

    def __rmul__(self, other: PlainNumber) -> Scalar:
        return self.b.mul(self.b.const(other, self.type), self)

    def __truediv__(self, other: Scalar | PlainNumber) -> Scalar:
        return self.b.div(self, other)

    def __rtruediv__(self, other: PlainNumber) -> Scalar:
        return self.b.div(self.b.const(other, self.type), self)

    def __neg__(self) -> Scalar:
        return self.b.neg(self)

    def __lt__(self, other: Scalar | PlainNumber) -> Scalar:
        return self.b.compare("olt", "slt", self, other)

    def __le__(self, other: Scalar | PlainNumber) -> Scalar:
        return self.b.compare("ole", "sle", self, other)

    def __gt__(self, other: Scalar | PlainNumber) -> Scalar:
        return self.b.compare("ogt", "sgt", self, other)

    def __ge__(self, other: Scalar | PlainNumber) -> Scalar:
        return self.b.compare("oge", "sge", self, other)

    def __and__(self, other: Scalar | PlainNumber) -> Scalar:
        return self.b.integer(arith.AndIOp, self, other)

    def __rand__(self, other: PlainNumber) -> Scalar:
        return self.b.integer(arith.AndIOp, self, other)

    def __or__(self, other: Scalar | PlainNumber) -> Scalar:
        return self.b.integer(arith.OrIOp, self, other)

    def __ror__(self, other: PlainNumber) -> Scalar:
        return self.b.integer(arith.OrIOp, self, other)

    def __xor__(self, other: Scalar | PlainNumber) -> Scalar:
        return self.b.integer(arith.XOrIOp, self, other)

    def __rxor__(self, other: PlainNumber) -> Scalar:
        return self.b.integer(arith.XOrIOp, self, other)

    def __lshift__(self, other: Scalar | PlainNumber) -> Scalar:
        return self.b.integer(arith.ShLIOp, self, other, _WRAP)

    def __rlshift__(self, other: PlainNumber) -> Scalar:
        return self.b.integer(arith.ShLIOp, self.b.const(other, self.type), self, _WRAP)

    def __rshift__(self, other: Scalar | PlainNumber) -> Scalar:
        return self.b.integer(arith.ShRSIOp, self, other)

    def __rrshift__(self, other: PlainNumber) -> Scalar:
        return self.b.integer(arith.ShRSIOp, self.b.const(other, self.type), self)


@lru_cache(4096)
def _float_constant(text: str, type: Attribute) -> Attribute:
    """By text, since -0 is not 0 and NaN is not NaN; the attribute is verified when it is made, thus once."""
    return FloatAttr(round_to(float(text), type), cast("AnyFloat", type))


@lru_cache(4096)
def _integer_constant(x: int, type: Attribute) -> Attribute:
    if isinstance(type, IndexType):
        return IntegerAttr(x, type)
    if (width := int_width(type)) is None:
        raise PassFailedException(f"kernels do not compute with numbers of type {type}")
    return IntegerAttr(x, width, truncate_bits=True)


def _reciprocal_of(b: Scalar | PlainNumber, type: Attribute) -> tuple[float, float] | None:
    """Both parts of the reciprocal of a constant, as numbers of a type."""
    if type not in (f32, f64):
        return None
    if not isinstance(b, Scalar):
        return _reciprocal(round_to(float(b), type), type)
    made = b.value.owner
    if not isinstance(made, arith.ConstantOp) or not isinstance(made.value, FloatAttr):
        return None
    return _reciprocal(made.value.value.data, type)


@lru_cache(4096)
def _reciprocal(divisor: float, type: Attribute) -> tuple[float, float] | None:
    """
    `1 / divisor` as `high + low`, rounded to zero and the rest, both normal numbers; None of a power of two.

    `fma(x, high, x low)` is a division to within 2^-23 ulp: a wrong one in 10^7 quotients, none in f64, and 1 ulp of
    those near the smallest normal number (N. Brisebarre and J.-M. Muller, Correctly rounded multiplication by arbitrary
    precision constants, 2008). Both parts have one sign, so that infinities and zeros are right. A division takes a
    processor as long as 5 to 8 such pairs.
    """
    if not isfinite(divisor) or not divisor or abs(frexp(divisor)[0]) == 0.5:
        return None
    smallest = 2.0**-126 if type == f32 else 2.0**-1022
    if abs(divisor) < 8 * smallest:
        # the reciprocal may be infinite
        return None
    exact = 1 / Fraction(divisor)
    high = round_to(float(exact), type)
    if abs(Fraction(high)) > abs(exact):
        high = next_below(high, type) if high > 0 else -next_below(-high, type)
    low = round_to(float(exact - Fraction(high)), type)
    return (high, low) if abs(low) >= smallest else None


def _function(op: type[Operation]) -> Callable[[ScalarBuilder, Scalar], Scalar]:
    """The method of a function of one float."""
    properties = {} if issubclass(op, ScalarOp) else _STRICT

    def apply(b: ScalarBuilder, a: Scalar) -> Scalar:
        made = op.create(operands=[a.value], result_types=[a.value.type], properties=properties)
        return Scalar(b.builder.insert(made).results[0], b)

    return apply


class ScalarBuilder:
    """Inserts scalar ops at the insertion point of `builder`.

    Constants are shared among ops inserted at the same place (same block, same op to insert before), so a builder must
    not move its insertion point backwards within a block.
    """

    __slots__ = ("_constants", "builder")

    def __init__(self, builder: Builder):
        self.builder = builder
        self._constants: dict[tuple[Block, Operation | None, int, str], Scalar] = {}

    def insert(self, op: OpT) -> OpT:
        """Insert any op, and return it."""
        return self.builder.insert(op)

    def of(self, value: SSAValue) -> Scalar:
        """The handle of an existing value."""
        return Scalar(value, self)

    def const(self, x: PlainNumber, type: Attribute) -> Scalar:
        """The constant `x`, rounded to a float `type` or wrapped to the width of an integer `type`."""
        point = self.builder.insertion_point
        key = (point.block, point.insert_before, id(type), repr(x))
        if (found := self._constants.get(key)) is not None:
            return found
        value = (
            _float_constant(repr(float(x)), type)
            if is_float(type)
            else _integer_constant(int(bool(x)) if type == i1 else int(x), type)
        )
        made = self._result(arith.ConstantOp.create(result_types=[type], properties={"value": value}))
        self._constants[key] = made
        return made

    def like(self, x: Scalar | PlainNumber, other: Scalar) -> Scalar:
        """`x` itself, or the constant `x` of the type of `other`."""
        return x if isinstance(x, Scalar) else self.const(x, other.value.type)

    def _result(self, op: Operation) -> Scalar:
        self.builder.insert(op)
        return Scalar(op.results[0], self)

    def _binary(self, op: type[Operation], a: Scalar, b: Scalar | PlainNumber, props: dict[str, Attribute]) -> Scalar:
        """`op(a, b)` with the type of `a`."""
        rhs = b.value if isinstance(b, Scalar) else self.const(b, a.value.type).value
        return self._result(
            op.create(operands=[a.value, rhs], result_types=[a.value.type], properties=props),
        )

    def _arith(
        self,
        float_op: type[Operation],
        int_op: type[Operation],
        a: Scalar,
        b: Scalar | PlainNumber,
        int_props: dict[str, Attribute],
    ) -> Scalar:
        return self._binary(float_op, a, b, _STRICT) if is_float(a.type) else self._binary(int_op, a, b, int_props)

    def _unary(self, op: type[Operation], a: Scalar) -> Scalar:
        return self._result(op.create(operands=[a.value], result_types=[a.value.type], properties=_STRICT))

    def _convert(self, op: type[Operation], a: Scalar, type: Attribute) -> Scalar:
        return self._result(op.create(operands=[a.value], result_types=[type]))

    def integer(
        self, op: type[Operation], a: Scalar, b: Scalar | PlainNumber, props: dict[str, Attribute] | None = None
    ) -> Scalar:
        """The integer op `op(a, b)`."""
        return self._binary(op, a, b, props or {})

    # Arithmetic

    def add(self, a: Scalar, b: Scalar | PlainNumber) -> Scalar:
        return self._arith(arith.AddfOp, arith.AddiOp, a, b, _WRAP)

    def sub(self, a: Scalar, b: Scalar | PlainNumber) -> Scalar:
        return self._arith(arith.SubfOp, arith.SubiOp, a, b, _WRAP)

    def mul(self, a: Scalar, b: Scalar | PlainNumber) -> Scalar:
        return self._arith(arith.MulfOp, arith.MuliOp, a, b, _WRAP)

    def div(self, a: Scalar, b: Scalar | PlainNumber) -> Scalar:
        """
        Float division, or integer division truncating towards zero.

        A float divided by a constant is multiplied by both parts of its reciprocal: see `_reciprocal`.
        """
        if (parts := _reciprocal_of(b, a.type)) is not None:
            high, low = (self.const(x, a.type) for x in parts)
            return self.multiply_add(a, high, a * low)
        return self._arith(arith.DivfOp, arith.DivSIOp, a, b, {})

    def rem(self, a: Scalar, b: Scalar | PlainNumber) -> Scalar:
        """Integer remainder with the sign of the dividend."""
        return self._binary(arith.RemSIOp, a, b, {})

    def fmod(self, a: Scalar, b: Scalar | PlainNumber) -> Scalar:
        """Float remainder with the sign of the dividend, exact; NaN for a divisor of 0 or an infinite dividend."""
        return self._binary(FmodOp, a, b, {})

    def floordiv(self, a: Scalar, b: Scalar | PlainNumber) -> Scalar:
        """Integer division rounding towards minus infinity."""
        return self._binary(arith.FloorDivSIOp, a, b, {})

    def accumulate_add(self, acc: Scalar, x: Scalar | PlainNumber) -> Scalar:
        """`acc + x` of a reduction: may be reassociated (vectorised), unlike every other sum."""
        return self._binary(arith.AddfOp, acc, x, _REASSOC) if is_float(acc.type) else self.add(acc, x)

    def accumulate_mul(self, acc: Scalar, x: Scalar | PlainNumber) -> Scalar:
        """`acc * x` of a reduction: may be reassociated (vectorised)."""
        return self._binary(arith.MulfOp, acc, x, _REASSOC) if is_float(acc.type) else self.mul(acc, x)

    def accumulate_max(self, acc: Scalar, x: Scalar | PlainNumber) -> Scalar:
        """As `maximum`, of a reduction in which one zero is as good as the other: in half the time."""
        return self._binary(arith.MaximumfOp, acc, x, _ANY_ZERO) if is_float(acc.type) else self.maximum(acc, x)

    def accumulate_min(self, acc: Scalar, x: Scalar | PlainNumber) -> Scalar:
        """As `minimum`, of a reduction in which one zero is as good as the other."""
        return self._binary(arith.MinimumfOp, acc, x, _ANY_ZERO) if is_float(acc.type) else self.minimum(acc, x)

    def neg(self, a: Scalar) -> Scalar:
        return self._unary(arith.NegfOp, a) if is_float(a.type) else self.const(0, a.type) - a

    def fma(self, a: Scalar, b: Scalar | PlainNumber, c: Scalar | PlainNumber) -> Scalar:
        """`a * b + c` of floats, rounded once."""
        type = a.value.type
        operands = [a.value, self.like(b, a).value, self.like(c, a).value]
        return self._result(math.FmaOp.create(operands=operands, result_types=[type], properties=_STRICT))

    def multiply_add(self, a: Scalar, b: Scalar, c: Scalar) -> Scalar:
        """`a * b + c` of floats, rounded once where the processor has an instruction for it, else twice."""
        operands = [a.value, b.value, c.value]
        return self._result(math.FmaOp.create(operands=operands, result_types=[a.value.type], properties=_CONTRACT))

    def freeze(self, a: Scalar) -> Scalar:
        """The same index, of which LLVM knows nothing."""
        return self._result(FreezeOp.create(operands=[a.value], result_types=[INDEX]))

    def pack_bf16(self, low: Scalar, high: Scalar) -> Scalar:
        """Two bf16 as one i32, `low` in its low half."""
        return self._result(PackBf16Op.create(operands=[low.value, high.value], result_types=[i32]))

    def dot_bf16(self, acc: Scalar, a: Scalar, b: Scalar) -> Scalar:
        """`acc` and the products of both halves of two packed pairs, by the instruction of AVX512-BF16."""
        return self._result(DotBf16Op.create(operands=[acc.value, a.value, b.value], result_types=[acc.type]))

    def round_bf16(self, a: Scalar) -> Scalar:
        """The nearest bf16 of an f32, zero of a subnormal number, by the instruction of AVX512-BF16."""
        return self._result(RoundBf16Op.create(operands=[a.value], result_types=[bf16]))

    def pack_i8(self, a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> Scalar:
        """Four i8 as one i32, `a` in its lowest byte."""
        return self._result(PackI8Op.create(operands=[x.value for x in (a, b, c, d)], result_types=[i32]))

    def dot_i8(self, acc: Scalar, a: Scalar, b: Scalar) -> Scalar:
        """`acc` and the products of the bytes of packed `a`, signed, and `b`, unsigned, by AVX512-VNNI."""
        return self._result(DotI8Op.create(operands=[acc.value, a.value, b.value], result_types=[acc.type]))

    def abs(self, a: Scalar) -> Scalar:
        if is_float(a.type):
            return self._unary(math.AbsFOp, a)
        return self._result(math.AbsIOp.create(operands=[a.value], result_types=[a.type]))

    def sqrt(self, a: Scalar) -> Scalar:
        return self._unary(math.SqrtOp, a)

    def rsqrt(self, a: Scalar) -> Scalar:
        """`1 / sqrt(a)`, both operations correctly rounded."""
        return 1.0 / self.sqrt(a)

    def round_even(self, a: Scalar) -> Scalar:
        return self._unary(math.RoundEvenOp, a)

    def floor(self, a: Scalar) -> Scalar:
        return self._unary(math.FloorOp, a)

    def ceil(self, a: Scalar) -> Scalar:
        return self._unary(math.CeilOp, a)

    def trunc(self, a: Scalar) -> Scalar:
        return self._unary(math.TruncOp, a)

    def maximum(self, a: Scalar, b: Scalar | PlainNumber) -> Scalar:
        """The larger one; NaN if one is NaN, and +0 is larger than -0. Signed for integers."""
        return self._arith(arith.MaximumfOp, arith.MaxSIOp, a, b, {})

    def minimum(self, a: Scalar, b: Scalar | PlainNumber) -> Scalar:
        """The smaller one; NaN if one is NaN, and -0 is smaller than +0. Signed for integers."""
        return self._arith(arith.MinimumfOp, arith.MinSIOp, a, b, {})

    def copysign(self, magnitude: Scalar, sign: Scalar | PlainNumber) -> Scalar:
        return self._binary(math.CopySignOp, magnitude, sign, _STRICT)

    # Comparison and choice

    def compare(self, float_predicate: str, int_predicate: str, a: Scalar, b: Scalar | PlainNumber) -> Scalar:
        """arith.cmpf or arith.cmpi by the type of `a`."""
        operands = [a.value, self.like(b, a).value]
        if is_float(a.type):
            properties: dict[str, Attribute] = {"predicate": _CMPF[float_predicate], "fastmath": _NO_FASTMATH}
            return self._result(arith.CmpfOp.create(operands=operands, result_types=[i1], properties=properties))
        properties = {"predicate": _CMPI[int_predicate]}
        return self._result(arith.CmpiOp.create(operands=operands, result_types=[i1], properties=properties))

    def eq(self, a: Scalar, b: Scalar | PlainNumber) -> Scalar:
        """Equal; false when one is NaN."""
        return self.compare("oeq", "eq", a, b)

    def ne(self, a: Scalar, b: Scalar | PlainNumber) -> Scalar:
        """Not equal; true when one is NaN."""
        return self.compare("une", "ne", a, b)

    def is_nan(self, a: Scalar) -> Scalar:
        return self.compare("uno", "ne", a, a)

    def select(self, c: Scalar, a: Scalar | PlainNumber, b: Scalar | PlainNumber) -> Scalar:
        """`a` where `c`, else `b`; one of them may be a Python number."""
        if not isinstance(a, Scalar):
            assert isinstance(b, Scalar), "select needs a typed operand"
            a = self.const(a, b.type)
        operands = [c.value, a.value, self.like(b, a).value]
        return self._result(arith.SelectOp.create(operands=operands, result_types=[a.type]))

    def and_(self, a: Scalar, b: Scalar) -> Scalar:
        return a & b

    def or_(self, a: Scalar, b: Scalar) -> Scalar:
        return a | b

    def not_(self, a: Scalar) -> Scalar:
        return a ^ True

    # Conversions

    def bitcast(self, a: Scalar, type: Attribute) -> Scalar:
        return self._convert(arith.BitcastOp, a, type)

    def shift_right_logical(self, a: Scalar, b: Scalar | PlainNumber) -> Scalar:
        return self.integer(arith.ShRUIOp, a, b)

    def population_count(self, a: Scalar) -> Scalar:
        """The number of bits of an integer that are 1."""
        return self._convert(math.CtPopOp, a, a.type)

    def leading_zeros(self, a: Scalar) -> Scalar:
        """The number of bits of an integer above the highest 1; its width for 0."""
        return self._convert(math.CountLeadingZerosOp, a, a.type)

    def cast(self, a: Scalar, type: Attribute, *, signed: bool = True) -> Scalar:
        """Convert the value of `a` to `type`, as NumPy's `astype` where that is defined.

        Float to integer truncates and saturates, NaN becomes 0; anything to i1 is `!= 0` (NaN is true); i1 to a number
        is 0 or 1; integers wrap. `signed=False` reads (or makes) the integer as unsigned.
        """
        source = a.type
        if source == type:
            return a
        if type == i1:
            return self.ne(a, 0)
        if is_float(source):
            if is_float(type):
                return self._float_to_float(a, type)
            wide = self._float_to_float(a, f32) if source != f64 else a
            return self._float_to_int(wide, type, signed)
        if is_float(type):
            return self._int_to_float(a, type, signed and source != i1)
        return self._int_to_int(a, type, signed and source != i1)

    def _float_to_float(self, a: Scalar, type: Attribute) -> Scalar:
        if a.type == type:
            return a
        if isinstance(a.type, Float16Type | BFloat16Type) and isinstance(type, Float16Type | BFloat16Type):
            return self._convert(arith.TruncFOp, self._convert(arith.ExtFOp, a, f32), type)
        widens = type == f64 or (type == f32 and a.type != f64)
        return self._convert(arith.ExtFOp if widens else arith.TruncFOp, a, type)

    def _float_to_int(self, a: Scalar, type: Attribute, signed: bool) -> Scalar:
        op = arith.FPToSIOp if signed else arith.FPToUIOp
        if isinstance(type, IndexType):
            return self._convert(arith.IndexCastOp, self._convert(op, a, i64), type)
        return self._convert(op, a, type)

    def _int_to_float(self, a: Scalar, type: Attribute, signed: bool) -> Scalar:
        if isinstance(a.type, IndexType):
            a = self._convert(arith.IndexCastOp, a, i64)
        op = arith.SIToFPOp if signed else arith.UIToFPOp
        if isinstance(type, Float16Type | BFloat16Type):
            exact = f64 if (int_width(a.type) or 64) > 16 else f32
            return self._convert(arith.TruncFOp, self._convert(op, a, exact), type)
        return self._convert(op, a, type)

    def _int_to_int(self, a: Scalar, type: Attribute, signed: bool) -> Scalar:
        if isinstance(type, IndexType) or isinstance(a.type, IndexType):
            wide = a if isinstance(a.type, IndexType) else self._int_to_int(a, i64, signed)
            cast = self._convert(arith.IndexCastOp, wide, type if isinstance(type, IndexType) else i64)
            return cast if isinstance(type, IndexType) else self._int_to_int(cast, type, signed)
        if a.type == type:
            return a
        if int_width(type) == int_width(a.type):
            # A signed, signless or unsigned integer of the same width: the same bits, which arith sees as signless.
            return self._convert(UnrealizedConversionCastOp, a, type)
        if (int_width(type) or 64) < (int_width(a.type) or 64):
            return self._convert(arith.TruncIOp, a, type)
        return self._convert(arith.ExtSIOp if signed else arith.ExtUIOp, a, type)

    # Functions

    exp = _function(math.ExpOp)
    exp2 = _function(math.Exp2Op)
    expm1 = _function(math.ExpM1Op)
    log = _function(math.LogOp)
    log2 = _function(math.Log2Op)
    log10 = _function(math.Log10Op)
    log1p = _function(math.Log1pOp)
    sinh = _function(math.SinhOp)
    cosh = _function(math.CoshOp)
    tanh = _function(math.TanhOp)
    asinh = _function(math.AsinhOp)
    acosh = _function(math.AcoshOp)
    atanh = _function(math.AtanhOp)
    cbrt = _function(math.CbrtOp)
    sigmoid = _function(SigmoidOp)
    """`1 / (1 + e^-a)`, without overflow."""
    erf = _function(math.ErfOp)
    erfc = _function(ErfcOp)
    """`1 - erf(a)`, accurate where that is small."""
    gaussian = _function(GaussianOp)
    """`e^(-a^2 / 2)`."""
    ndtr = _function(NdtrOp)
    """The cumulative distribution function of the standard normal distribution."""
    gelu = _function(GeluOp)
    """`a ndtr(a)`."""
    erfcx = _function(ErfcxOp)
    """`e^(a^2) erfc(a)`."""
    erf_inv = _function(ErfInvOp)
    """The inverse of `erf`."""
    ndtri = _function(NdtriOp)
    """The inverse of `ndtr`."""
    lgamma = _function(LgammaOp)
    """`ln |gamma(a)|`."""
    digamma = _function(DigammaOp)
    """The derivative of `lgamma`."""
    sin = _function(math.SinOp)
    cos = _function(math.CosOp)
    tan = _function(math.TanOp)
    asin = _function(math.AsinOp)
    acos = _function(math.AcosOp)
    atan = _function(math.AtanOp)

    def pow(self, a: Scalar, b: Scalar | PlainNumber) -> Scalar:
        return self._binary(math.PowFOp, a, b, _STRICT)
