"""The `lir` dialect: a program over planned buffers, and the kernels it launches.

Loop bodies are upstream scf, memref, arith and math; what a tensor op means is not known here any more (see `mir`).
"""

from xdsl.ir import Dialect

from xdsl_rlx.dialects.lir.kernel import BlockGemmOp, GemmOp, KernelOp, ReturnOp
from xdsl_rlx.dialects.lir.lapack import GetrfOp, GetrsOp
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
        KernelOp,
        ReturnOp,
        GemmOp,
        BlockGemmOp,
        GetrfOp,
        GetrsOp,
    ],
)

__all__ = [
    "BlockGemmOp",
    "ConstantOp",
    "GemmOp",
    "GetrfOp",
    "GetrsOp",
    "InputOp",
    "KernelOp",
    "LaunchOp",
    "Lir",
    "OutputOp",
    "ParamOp",
    "ProgramOp",
    "ReturnOp",
    "SlotOp",
    "ViewOp",
]
