"""The targets: `-t numba`, a planned program as one standalone Python module, `-t rlx-llvm` and `-t asm`, what becomes
of its kernels, `-t html`, a page to look at. The texts are made in `python_module.py`, `llvm_module.py`, `page.py`."""

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from xdsl_rlx.lowering.backend.llvm.listing import asm_listing, llvm_listing
from xdsl_rlx.lowering.backend.machine.model import cost_model
from xdsl_rlx.lowering.backend.numba.python_module import emit_python
from xdsl_rlx.lowering.reports.page.page import page_of


@dataclass(frozen=True)
class NumbaTarget(Target):
    """
    Print a `lir` program as a readable Python module of Numba kernels, which needs only NumPy, Numba and SciPy.

    The function with the program's name takes inputs and params as keywords and returns the outputs. `threads` threads
    share the chunks that `convert-mir-to-lir{threads=n}` made of each launch.
    """

    name = "numba"

    threads: int = 1
    """Threads of the program."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(emit_python(module, self.threads))


@dataclass(frozen=True)
class RlxLlvmTarget(Target):
    """
    Print the LLVM IR of the kernels of a `lir` program, as `rlx.compile` passes it to LLVM.

    xDSL's target `llvm` prints modules of the `llvm` dialect.
    """

    name = "rlx-llvm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(llvm_listing(module))


@dataclass(frozen=True)
class HtmlTarget(Target):
    """
    Print a self-contained HTML report: graph, kernels, the IR of each stage with links between lines, and memory.

    A module at any stage is lowered for `threads` threads.
    """

    name = "html"

    threads: int = 1
    """Threads of the program."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(page_of(module, self.threads, cost_model()))


@dataclass(frozen=True)
class AsmTarget(Target):
    """Print the optimised assembly of the kernels of a `lir` program for the target processor."""

    name = "asm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(asm_listing(module))
