"""The scalar ops that are functions of many operations: what they are called, and which have a variant for small
arguments. What the functions are is defined in `numba/math`."""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.ir import Operation

from xdsl_rlx.dialects.lir.scalar import (
    CosSmallOp,
    DigammaOp,
    ErfcOp,
    ErfcxOp,
    ErfInvOp,
    FmodOp,
    GaussianOp,
    GeluOp,
    LgammaOp,
    NdtriOp,
    NdtrOp,
    ScalarOp,
    SigmoidOp,
    SinSmallOp,
    TanSmallOp,
)

FUNCTIONS: dict[type[Operation], str] = {
    math.ExpOp: "exp",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.LogOp: "log",
    math.Log2Op: "log2",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.SinhOp: "sinh",
    math.CoshOp: "cosh",
    math.TanhOp: "tanh",
    math.AsinhOp: "asinh",
    math.AcoshOp: "acosh",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.ErfOp: "erf",
    SigmoidOp: "sigmoid",
    ErfcOp: "erfc",
    GaussianOp: "gaussian",
    NdtrOp: "ndtr",
    GeluOp: "gelu",
    ErfcxOp: "erfcx",
    ErfInvOp: "erf_inv",
    NdtriOp: "ndtri",
    LgammaOp: "lgamma",
    DigammaOp: "digamma",
    math.SinOp: "sin",
    math.CosOp: "cos",
    math.TanOp: "tan",
    SinSmallOp: "sin_small",
    CosSmallOp: "cos_small",
    TanSmallOp: "tan_small",
    math.AsinOp: "asin",
    math.AcosOp: "acos",
    math.AtanOp: "atan",
    math.RsqrtOp: "rsqrt",
    math.PowFOp: "pow",
    FmodOp: "fmod",
}
"""Ops that are calls, and of what."""

SMALL_VARIANTS: dict[type[Operation], type[ScalarOp]] = {
    math.SinOp: SinSmallOp,
    math.CosOp: CosSmallOp,
    math.TanOp: TanSmallOp,
}
"""Ops for any argument, and those that do the same in less time for small ones: see `lir_guard_range.py`."""
