"""The `lir` dialect: a program over planned buffers, and the kernels it launches.

Loop bodies are upstream scf, memref, arith and math, and the functions of `scalar.py`; what a tensor op means is not
known here any more (see `mir`).
"""

from xdsl.ir import Dialect

from xdsl_rlx.dialects.lir.blas import BlockGemmOp, GemmOp
from xdsl_rlx.dialects.lir.buffers import ConstantOp, InputOp, OutputOp, ParamOp, SlotOp, ViewOp
from xdsl_rlx.dialects.lir.call_function import CallFunctionOp
from xdsl_rlx.dialects.lir.collectives import (
    CollectiveAttr,
    CollectiveOp,
    CollectivePollOp,
    CollectiveStartOp,
    CollectiveWaitOp,
)
from xdsl_rlx.dialects.lir.control_flow import IfOp, LoopOp, StepOp, WhileOp
from xdsl_rlx.dialects.lir.debug import DebugPrintOp
from xdsl_rlx.dialects.lir.fourier import FftOp, FourierAttr
from xdsl_rlx.dialects.lir.kernel import CheckOp, KernelOp, PollOp, ReturnOp
from xdsl_rlx.dialects.lir.lapack import (
    LAPACK_OPS,
    GeqrfOp,
    GesddOp,
    GetrfOp,
    GetrsOp,
    LapackOp,
    OrgqrOp,
    SyevdOp,
    TrsvOp,
)
from xdsl_rlx.dialects.lir.launch import LaunchOp
from xdsl_rlx.dialects.lir.prefetch import PrefetchOp
from xdsl_rlx.dialects.lir.program import ProgramOp
from xdsl_rlx.dialects.lir.scalar import (
    CosSmallOp,
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
        CollectiveOp,
        CollectiveStartOp,
        CollectiveWaitOp,
        CollectivePollOp,
        PrefetchOp,
        GemmOp,
        BlockGemmOp,
        *LAPACK_OPS,
        FftOp,
        CallFunctionOp,
        FmodOp,
        FreezeOp,
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
        PackI8Op,
        DotI8Op,
        RoundBf16Op,
    ],
    [CollectiveAttr, FourierAttr],
)

LIBRARY_OPS = (GemmOp, BlockGemmOp, *LAPACK_OPS)
"""The ops that are calls of BLAS and LAPACK."""

__all__ = [
    "LAPACK_OPS",
    "LIBRARY_OPS",
    "BlockGemmOp",
    "CallFunctionOp",
    "CheckOp",
    "ConstantOp",
    "CosSmallOp",
    "DebugPrintOp",
    "DigammaOp",
    "DotBf16Op",
    "DotI8Op",
    "ErfInvOp",
    "ErfcOp",
    "ErfcxOp",
    "FftOp",
    "FmodOp",
    "FreezeOp",
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
    "PackI8Op",
    "ParamOp",
    "PollOp",
    "PrefetchOp",
    "ProgramOp",
    "ReturnOp",
    "RoundBf16Op",
    "SigmoidOp",
    "SinSmallOp",
    "SlotOp",
    "StepOp",
    "SyevdOp",
    "TanSmallOp",
    "TrsvOp",
    "ViewOp",
    "WhileOp",
]
