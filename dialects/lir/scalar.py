"""
Scalar functions inside kernels that upstream's `arith` and `math` lack.

Functions without an instruction are defined in `lowering/backend/math`.
"""

import abc
from typing import ClassVar

from xdsl.dialects.builtin import Float32Type, Float64Type, IndexType, bf16, f32, f64, i8, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    eq,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

SMALL: dict[Attribute, float] = {f32: 2.0**16, f64: 2.0**30}
"""The greatest |operand| of the functions that are for small ones, by its type."""


class ScalarOp(IRDLOperation, abc.ABC):
    """`result = f(operand)` on a scalar, f32 or f64."""

    T: ClassVar = VarConstraint("T", base(Float32Type) | base(Float64Type))

    operand = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict `:` type($result)"

    def __init__(self, operand: SSAValue):
        super().__init__(operands=[operand], result_types=[operand.type])


@irdl_op_definition
class SigmoidOp(ScalarOp):
    """`result = 1 / (1 + e^-operand)`, without overflow."""

    name = "lir.sigmoid"


@irdl_op_definition
class ErfcOp(ScalarOp):
    """`result = 1 - erf(operand)`."""

    name = "lir.erfc"


@irdl_op_definition
class GaussianOp(ScalarOp):
    """`result = e^(-operand^2 / 2)`."""

    name = "lir.gaussian"


@irdl_op_definition
class NdtrOp(ScalarOp):
    """`result = 1/sqrt(2 pi) integral_-inf^operand e^(-t^2/2) dt`."""

    name = "lir.ndtr"


@irdl_op_definition
class GeluOp(ScalarOp):
    """`result = operand ndtr(operand)`; at -inf the limit, 0."""

    name = "lir.gelu"


@irdl_op_definition
class ErfcxOp(ScalarOp):
    """`result = e^(operand^2) (1 - erf(operand))`."""

    name = "lir.erfcx"


@irdl_op_definition
class ErfInvOp(ScalarOp):
    """`erf(result) = operand`."""

    name = "lir.erf_inv"


@irdl_op_definition
class NdtriOp(ScalarOp):
    """`ndtr(result) = operand`."""

    name = "lir.ndtri"


@irdl_op_definition
class LgammaOp(ScalarOp):
    """`result = ln |gamma(operand)|`."""

    name = "lir.lgamma"


@irdl_op_definition
class DigammaOp(ScalarOp):
    """`result` is the derivative of `ln |gamma|` at the operand."""

    name = "lir.digamma"


@irdl_op_definition
class SinSmallOp(ScalarOp):
    """`result = sin(operand)` where |operand| is at most 2^16 (f32) or 2^30 (f64), otherwise unspecified."""

    name = "lir.sin_small"


@irdl_op_definition
class CosSmallOp(ScalarOp):
    """`result = cos(operand)` where |operand| is at most 2^16 (f32) or 2^30 (f64), otherwise unspecified."""

    name = "lir.cos_small"


@irdl_op_definition
class TanSmallOp(ScalarOp):
    """`result = tan(operand)` where |operand| is at most 2^16 (f32) or 2^30 (f64), otherwise unspecified."""

    name = "lir.tan_small"


@irdl_op_definition
class FreezeOp(IRDLOperation):
    """
    `result = operand` of an index, by an instruction whose result LLVM knows nothing of.

    Addresses that begin with it are computed where they are used, not all in advance in registers of their own.
    """

    name = "lir.freeze"

    operand = operand_def(IndexType())
    result = result_def(IndexType())

    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict"

    def __init__(self, operand: SSAValue):
        super().__init__(operands=[operand], result_types=[IndexType()])


@irdl_op_definition
class FmodOp(IRDLOperation):
    """`result = lhs - trunc(lhs / rhs) rhs` of two scalars, f32 or f64, exactly: `fmod` of C."""

    T: ClassVar = VarConstraint("T", base(Float32Type) | base(Float64Type))

    name = "lir.fmod"

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])


@irdl_op_definition
class PackBf16Op(IRDLOperation):
    """
    `result = low | high << 16` of the bits of two bf16: two neighbours in memory, loaded as one i32.

    Of two loads of neighbours from a buffer that is not written, LLVM gets one load.
    """

    name = "lir.pack_bf16"

    low = operand_def(eq(bf16))
    high = operand_def(eq(bf16))
    result = result_def(eq(i32))

    traits = traits_def(Pure())
    assembly_format = "$low `,` $high attr-dict"

    def __init__(self, low: SSAValue, high: SSAValue):
        super().__init__(operands=[low, high], result_types=[i32])


@irdl_op_definition
class DotBf16Op(IRDLOperation):
    """
    `result = acc + lhs.high * rhs.high + lhs.low * rhs.low` of two pairs of bf16 (`lir.pack_bf16`), in f32.

    It is one instruction of processors with AVX512-BF16, `vdpbf16ps`, and needs such a processor. That instruction
    rounds to nearest even, reads subnormal numbers as zeros and writes zeros for them.
    """

    name = "lir.dot_bf16"

    acc = operand_def(eq(f32))
    lhs = operand_def(eq(i32))
    rhs = operand_def(eq(i32))
    result = result_def(eq(f32))

    traits = traits_def(Pure())
    assembly_format = "$acc `,` $lhs `,` $rhs attr-dict"

    def __init__(self, acc: SSAValue, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[acc, lhs, rhs], result_types=[f32])


@irdl_op_definition
class RoundBf16Op(IRDLOperation):
    """
    `result` is `operand` rounded to the nearest bf16, ties to even; a subnormal number is zero.

    It is one instruction of processors with AVX512-BF16, `vcvtneps2bf16`, and needs such a processor. Of sums by
    `lir.dot_bf16`, which are not subnormal, it is `arith.truncf`.
    """

    name = "lir.round_bf16"

    operand = operand_def(eq(f32))
    result = result_def(eq(bf16))

    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict"

    def __init__(self, operand: SSAValue):
        super().__init__(operands=[operand], result_types=[bf16])


@irdl_op_definition
class PackI8Op(IRDLOperation):
    """
    `result = a | b << 8 | c << 16 | d << 24` of the bits of four i8: neighbours in memory, loaded as one i32.

    Of four loads of neighbours from a buffer that is not written, LLVM gets one load.
    """

    name = "lir.pack_i8"

    a = operand_def(eq(i8))
    b = operand_def(eq(i8))
    c = operand_def(eq(i8))
    d = operand_def(eq(i8))
    result = result_def(eq(i32))

    traits = traits_def(Pure())
    assembly_format = "$a `,` $b `,` $c `,` $d attr-dict"

    def __init__(self, a: SSAValue, b: SSAValue, c: SSAValue, d: SSAValue):
        super().__init__(operands=[a, b, c, d], result_types=[i32])


@irdl_op_definition
class DotI8Op(IRDLOperation):
    """
    `result = acc + sum over n < 4 of lhs[n] rhs[n]` of the bytes of two i32, those of `rhs` unsigned; it wraps.

    It is one instruction of processors with AVX512-VNNI, `vpdpbusd`, and needs such a processor.
    """

    name = "lir.dot_i8"

    acc = operand_def(eq(i32))
    lhs = operand_def(eq(i32))
    rhs = operand_def(eq(i32))
    result = result_def(eq(i32))

    traits = traits_def(Pure())
    assembly_format = "$acc `,` $lhs `,` $rhs attr-dict"

    def __init__(self, acc: SSAValue, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[acc, lhs, rhs], result_types=[i32])
