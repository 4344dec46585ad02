"""The scalar ops that are functions of many operations: what they are called, and which have a variant for small
arguments. What the functions are is defined in `backend/math`."""

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

SHORTEST, MASKED_LOOP = 16, 128
"""Iterations of loops with functions whose rest is a masked vector, if it is long. Rows of 31 take 0.35 to 0.65 of the
time; with rests of 1 to 4 elements they would take up to 1.7 times as long."""

SHORT_VECTOR, MOST_SINGLE = 8, 4
"""Elements of the vectors that LLVM computes a rest in, and how many others it computes one by one at most."""


def ends_in_mask(count: int) -> bool:
    """Whether the rest of a loop of so many iterations, with functions, is a masked vector."""
    return SHORTEST <= count < MASKED_LOOP and count % SHORT_VECTOR > MOST_SINGLE
