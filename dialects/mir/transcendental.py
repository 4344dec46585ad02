"""
Logarithms, exponentials, hyperbolic and inverse functions, and their builder methods.

Further functions are in `elementwise.py`.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import traits_def
from xdsl.traits import Commutative

from xdsl_rlx.dialects.mir.elementwise import BinaryOp, UnaryOp
from xdsl_rlx.dialects.mir.value import BuilderCore, method
from xdsl_rlx.dialects.shapes import FLOATS


class Log1pOp(UnaryOp, name="mir.log1p"):
    """`result = ln(1 + x)`, accurate near 0: -inf at -1, NaN below."""


class Expm1Op(UnaryOp, name="mir.expm1"):
    """`result = e^x - 1`, accurate near 0."""


class Log2Op(UnaryOp, name="mir.log2"):
    """`result` is the logarithm of `x` to base 2: -inf at 0, NaN below; exact of powers of 2."""


class Log10Op(UnaryOp, name="mir.log10"):
    """`result` is the logarithm of `x` to base 10: -inf at 0, NaN below; exact of powers of 10."""


class Exp2Op(UnaryOp, name="mir.exp2"):
    """`result = 2^x`, exact of integers."""


class CbrtOp(UnaryOp, name="mir.cbrt"):
    """`result` is the cube root of `x`, negative below 0. The derivative at 0 is +inf."""


class AsinOp(UnaryOp, name="mir.asin"):
    """`result = asin x`: NaN outside of [-1, 1]. The derivative on its ends is +inf."""


class AcosOp(UnaryOp, name="mir.acos"):
    """`result = acos x`, from 0 to pi: NaN outside of [-1, 1]. The derivative on its ends is -inf."""


class SinhOp(UnaryOp, name="mir.sinh"):
    """`result = (e^x - e^-x) / 2`."""


class CoshOp(UnaryOp, name="mir.cosh"):
    """`result = (e^x + e^-x) / 2`."""


class AsinhOp(UnaryOp, name="mir.asinh"):
    """`result = asinh x`, `ln(x + sqrt(x^2 + 1))` without its cancellation."""


class AcoshOp(UnaryOp, name="mir.acosh"):
    """`result = acosh x`, from 0 on: NaN below 1. The derivative at 1 is +inf."""


class AtanhOp(UnaryOp, name="mir.atanh"):
    """`result = atanh x`: infinite at -1 and 1, NaN beyond."""


class ErfcOp(UnaryOp, name="mir.erfc"):
    """`result = 1 - erf(x)`, accurate where that is small."""


class SoftplusOp(UnaryOp, name="mir.softplus"):
    """`result = ln(1 + e^x)`, without overflow."""


class LogaddexpOp(BinaryOp, name="mir.logaddexp"):
    """`result = ln(e^lhs + e^rhs)`, without overflow; of two equal infinities that infinity, as in NumPy."""

    traits = traits_def(Commutative())

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = FLOATS


class TranscendentalBuilder(BuilderCore):
    """Builder methods of this family."""

    log1p = method(Log1pOp)
    expm1 = method(Expm1Op)
    log2 = method(Log2Op)
    log10 = method(Log10Op)
    exp2 = method(Exp2Op)
    cbrt = method(CbrtOp)
    asin = method(AsinOp)
    acos = method(AcosOp)
    sinh = method(SinhOp)
    cosh = method(CoshOp)
    asinh = method(AsinhOp)
    acosh = method(AcoshOp)
    atanh = method(AtanhOp)
    erfc = method(ErfcOp)
    softplus = method(SoftplusOp)
    logaddexp = method(LogaddexpOp)
