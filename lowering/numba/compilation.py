"""`compile_module`: from a module at any stage to a callable, through the cache. The passes are elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import SupportsIndex

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline

from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.dialects.lir import ProgramOp
from xdsl_rlx.lowering.numba import cpu
from xdsl_rlx.lowering.numba.build import build_program, fingerprint
from xdsl_rlx.lowering.numba.compile import Effort, target
from xdsl_rlx.lowering.numba.driver import begin_driver, thread_count
from xdsl_rlx.lowering.numba.program import Program
from xdsl_rlx.lowering.numba.runtime import CompiledGraph, compile_cached
from xdsl_rlx.lowering.pipelines import checks_bounds, compile_passes
from xdsl_rlx.transforms.driver import verify_dominance


class Backend(StrEnum):
    """Who makes LLVM text of kernels; all that runs them is the same."""

    LLVM = "llvm"
    """`emit_llvm.py`, from lir."""
    NUMBA = "numba"
    """Numba, from the module that `-t numba` prints."""

    def texts(self, lowered: ModuleOp) -> Sequence[str]:
        """LLVM modules, independent of each other, that hold the kernels of a planned module."""
        if self is Backend.NUMBA:
            from xdsl_rlx.lowering.numba.numba_kernels import numba_llvm

            return [numba_llvm(lowered)]
        from xdsl_rlx.lowering.numba.emit_llvm import emit_llvm_parts

        return emit_llvm_parts(lowered)


def compile_module(
    module: ModuleOp, threads: int | None = None, effort: Effort = Effort.FULL, backend: Backend = Backend.LLVM
) -> CompiledGraph:
    """
    Compile a hir, mir or lir module, which is not changed, for `threads` threads (default: the environment's).

    The program and its machine code come from the cache on disk when the same module was compiled before, whatever its
    names of values; then no pass runs.
    """
    return compile_source(fingerprint(module), lambda: module, threads, effort, backend)


def compile_source(
    source: str,
    module: Callable[[], ModuleOp],
    threads: SupportsIndex | None = None,
    effort: Effort = Effort.FULL,
    backend: Backend = Backend.LLVM,
) -> CompiledGraph:
    """As `compile_module`, for the module of which `source` is the fingerprint; it is made only where it is needed."""
    count = thread_count(threads)
    checked = ["checked"] if checks_bounds() else []

    def build() -> tuple[Program, Sequence[str]]:
        begin_driver()
        lowered = lower_to_lir(module(), count)
        return build_program(lowered), backend.texts(lowered)

    key = " ".join([source, str(count), backend, *checked])
    program, code, from_cache = compile_cached(key, build, effort)
    return CompiledGraph(program, code, count, from_cache=from_cache)


def lower_to_lir(module: ModuleOp, threads: int = 1) -> ModuleOp:
    """
    The planned `lir` module of a module at any stage, which is not changed, with checks where the environment asks.

    VerifyException for a `lir` module that does not verify: from elsewhere, it is as likely wrong as text is.
    """
    lowered = module.clone()
    if any(isinstance(op, ProgramOp) for op in lowered.ops):
        lowered.verify()
        verify_dominance(lowered)
    PassPipeline(tuple(compile_passes(lowered, threads, cpu.registers(target())))).apply(context(), lowered)
    return lowered
