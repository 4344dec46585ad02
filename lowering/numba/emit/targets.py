"""The targets: `-t numba`, a planned program as one standalone Python module, `-t llvm` and `-t asm`, what becomes
of its kernels, `-t html`, a page to look at. The texts are made in `python_module.py`, `llvm_module.py`, `page.py`."""

from dataclasses import dataclass
from typing import IO

from xdsl.backend.llvm.convert import LLVMTarget
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from xdsl_rlx.lowering.numba.emit.listing import asm_listing, llvm_listing
from xdsl_rlx.lowering.numba.emit.python_module import emit_python
from xdsl_rlx.lowering.numba.machine import cpu
from xdsl_rlx.lowering.numba.machine.llvm import target
from xdsl_rlx.lowering.page.page import page_of

_DIALECTS = ("hir", "mir", "lir")


@dataclass(frozen=True)
class NumbaTarget(Target):
    """
    A `lir` program as a readable Python module of Numba loop nests, which needs NumPy, Numba and SciPy only.

    The function of the program's name takes the inputs and params as keywords and returns the outputs. `threads` share
    out the pieces that `convert-mir-to-lir{threads=n}` has made of a launch.
    """

    name = "numba"

    threads: int = 1

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(emit_python(module, self.threads))


@dataclass(frozen=True)
class LlvmTarget(Target):
    """
    The LLVM IR of a `lir` program's kernels, as `rlx.compile` gives it to LLVM.

    A module without ops of this package goes to xDSL's target of the same name, which is for its llvm dialect.
    """

    name = "llvm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        if any(op.dialect_name() in _DIALECTS for op in module.walk()):
            output.write(llvm_listing(module))
        else:
            LLVMTarget().emit(ctx, module, output)


@dataclass(frozen=True)
class HtmlTarget(Target):
    """
    One HTML file to look at a program with, which needs nothing else: its graph and kernels, the text of each stage on
    the way to them, each line with what it comes from, and its memory.

    What is given, at any stage, is lowered for `threads` threads.
    """

    name = "html"

    threads: int = 1

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(page_of(module, self.threads, cpu.registers(target())))


@dataclass(frozen=True)
class AsmTarget(Target):
    """The assembly listing of a `lir` program's kernels for the target processor, after LLVM's optimisation."""

    name = "asm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(asm_listing(module))
