"""The `lir` dialect: a program over planned buffers, and the kernels it launches.

Loop bodies are upstream scf, memref, arith and math, and the functions of `scalar.py`; what a tensor op means is not
known here any more (see `mir`).
"""

from xdsl.ir import Dialect

from xdsl_rlx.dialects.lir.blas import BlockGemmOp, GemmOp
from xdsl_rlx.dialects.lir.control_flow import IfOp, LoopOp, StepOp, WhileOp
from xdsl_rlx.dialects.lir.debug import DebugPrintOp
from xdsl_rlx.dialects.lir.kernel import CheckOp, KernelOp, PollOp, ReturnOp
from xdsl_rlx.dialects.lir.lapack import (
    LAPACK_OPS,
    GeqrfOp,
    GesddOp,
    GetrfOp,
    GetrsOp,
    LapackOp,
    OrgqrOp,
    PotrfOp,
    SyevdOp,
)
from xdsl_rlx.dialects.lir.prefetch import PrefetchOp
from xdsl_rlx.dialects.lir.program import (
    ConstantOp,
    InputOp,
    LaunchOp,
    OutputOp,
    ParamOp,
    ProgramOp,
    SlotOp,
    ViewOp,
)
from xdsl_rlx.dialects.lir.scalar import (
    CosSmallOp,
    DigammaOp,
    DotBf16Op,
    ErfcOp,
    ErfcxOp,
    ErfInvOp,
    FmodOp,
    GaussianOp,
    GeluOp,
    LgammaOp,
    NdtriOp,
    NdtrOp,
    PackBf16Op,
    SigmoidOp,
    SinSmallOp,
    TanSmallOp,
)

Lir = Dialect(
    "lir",
    [
        ProgramOp,
        InputOp,
        ParamOp,
        ConstantOp,
        SlotOp,
        OutputOp,
        ViewOp,
        LaunchOp,
        LoopOp,
        StepOp,
        IfOp,
        WhileOp,
        KernelOp,
        ReturnOp,
        CheckOp,
        PollOp,
        DebugPrintOp,
        PrefetchOp,
        GemmOp,
        BlockGemmOp,
        *LAPACK_OPS,
        FmodOp,
        DigammaOp,
        ErfcOp,
        ErfcxOp,
        ErfInvOp,
        GaussianOp,
        NdtrOp,
        GeluOp,
        LgammaOp,
        NdtriOp,
        SigmoidOp,
        SinSmallOp,
        CosSmallOp,
        TanSmallOp,
        PackBf16Op,
        DotBf16Op,
    ],
)

LIBRARY_OPS = (GemmOp, BlockGemmOp, *LAPACK_OPS)
"""The ops that are calls of BLAS and LAPACK."""

__all__ = [
    "LAPACK_OPS",
    "LIBRARY_OPS",
    "BlockGemmOp",
    "CheckOp",
    "ConstantOp",
    "CosSmallOp",
    "DebugPrintOp",
    "DigammaOp",
    "DotBf16Op",
    "ErfInvOp",
    "ErfcOp",
    "ErfcxOp",
    "FmodOp",
    "GaussianOp",
    "GeluOp",
    "GemmOp",
    "GeqrfOp",
    "GesddOp",
    "GetrfOp",
    "GetrsOp",
    "IfOp",
    "InputOp",
    "KernelOp",
    "LapackOp",
    "LaunchOp",
    "LgammaOp",
    "Lir",
    "LoopOp",
    "NdtrOp",
    "NdtriOp",
    "OrgqrOp",
    "OutputOp",
    "PackBf16Op",
    "ParamOp",
    "PollOp",
    "PotrfOp",
    "PrefetchOp",
    "ProgramOp",
    "ReturnOp",
    "SigmoidOp",
    "SinSmallOp",
    "SlotOp",
    "StepOp",
    "SyevdOp",
    "TanSmallOp",
    "ViewOp",
    "WhileOp",
]
