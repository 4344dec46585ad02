"""`compile_module`: from a module at any stage to a callable, through the cache. The passes are elsewhere."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import SupportsIndex

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_rlx.collector import paused_collector
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.dialects.lir import KernelOp, ProgramOp
from xdsl_rlx.lowering import cache as disk_cache
from xdsl_rlx.lowering.backend.driver.manifest import Program, pack, unpack
from xdsl_rlx.lowering.backend.driver.process import begin_driver, thread_count
from xdsl_rlx.lowering.backend.machine.llvm import (
    Compilation,
    Effort,
    LoadedObject,
    environment_key,
    load_object,
    provide_library,
)
from xdsl_rlx.lowering.backend.machine.model import cost_model, model_key
from xdsl_rlx.lowering.backend.machine.workers import brisk_turns
from xdsl_rlx.lowering.backend.runtime import shared_code
from xdsl_rlx.lowering.backend.runtime.binding import Array
from xdsl_rlx.lowering.backend.runtime.build_program import build_program
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph, Origin
from xdsl_rlx.lowering.backend.runtime.weights import Weights
from xdsl_rlx.lowering.fingerprint import fingerprint
from xdsl_rlx.lowering.kernel_pass import kernels_of, lower_by_kernel
from xdsl_rlx.lowering.pipelines import checks_bounds, compile_passes
from xdsl_rlx.lowering.progress import Progress
from xdsl_rlx.lowering.run_errors import RlxError
from xdsl_rlx.lowering.target import CostModel
from xdsl_rlx.transforms.driver import verify_dominance

provide_library(shared_code.addresses_of)


class Backend(StrEnum):
    """Who makes LLVM text of kernels; all that runs them is the same."""

    LLVM = "llvm"
    """`llvm_module.py`, from lir."""
    NUMBA = "numba"
    """Numba, from the module that `-t numba` prints."""

    def texts(self, module: ModuleOp, kernels: Iterator[KernelOp]) -> Iterator[str]:
        """LLVM modules, independent of each other, of the kernels of a module, which is lowered as these are taken."""
        if self is Backend.NUMBA:
            from xdsl_rlx.lowering.backend.numba.numba_llvm import numba_llvm

            deque(kernels, maxlen=0)
            yield numba_llvm(module)
            return
        from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm_parts

        yield from emit_llvm_parts(kernels)


def compile_module(
    module: ModuleOp,
    threads: int | None = None,
    effort: Effort = Effort.FULL,
    backend: Backend = Backend.LLVM,
    checked: bool = False,
) -> CompiledGraph:
    """
    Compile a hir, mir or lir module, which is not changed, for `threads` threads (default: the environment's).

    `checked`: with checks of bounds, which are always made where the environment asks.

    The program and its machine code come from the cache on disk when the same module was compiled before, whatever its
    names of values; then no pass runs.
    """
    return compile_source(fingerprint(module), module.clone, threads, effort, backend, checked=checked)


def compile_text(
    text: str,
    threads: int,
    params: Mapping[str, Array] | None = None,
    effort: int = Effort.FULL,
    backend: str = Backend.LLVM,
    checked: bool = False,
) -> CompiledGraph:
    """As `compile_module`, for the text of a module and the values of params: those that the program still has."""
    module = Parser(context(), text).parse_module()
    compiled = compile_module(module, threads, Effort(effort), Backend(backend), checked)
    for name in compiled.params:
        if params and name in params:
            compiled.set_param(name, params[name])
    return compiled


def compile_source(
    source: str,
    module: Callable[[], ModuleOp],
    threads: SupportsIndex | None = None,
    effort: Effort = Effort.FULL,
    backend: Backend = Backend.LLVM,
    weights: Weights | None = None,
    checked: bool = False,
) -> CompiledGraph:
    """As `compile_module`, for a module with the fingerprint `source`; each call of `module` gives a new one."""
    count, checked = thread_count(threads), checked or checks_bounds()

    @paused_collector()
    @brisk_turns()
    def build() -> tuple[Program, bytes]:
        begin_driver()
        lowered = module()
        with Progress("compiling") as progress, Compilation(effort, partial(_say_parts, progress)) as compilation:
            for text in backend.texts(lowered, _counted(lowered, _kernels_of(lowered, count, checked), progress)):
                compilation.add(text)
            return build_program(lowered), compilation.code()

    text = " ".join(
        [source, str(count), backend, *(["checked"] if checked else []), effort.name, environment_key(), model_key()]
    )
    key = hashlib.sha256(text.encode()).hexdigest()
    program, code, from_cache = _compiled(key, build)
    lowered = partial(_lowered_again, program, module, count, checked)
    origin = Origin(module, lowered, compile_text, effort, backend, checked)
    return CompiledGraph(program, code, count, from_cache=from_cache, weights=weights, origin=origin, key=key)


def _counted(module: ModuleOp, kernels: Iterator[KernelOp], progress: Progress) -> Iterator[KernelOp]:
    for number, kernel in enumerate(kernels, 1):
        progress.say(f"{number} of {len(kernels_of(module))} kernels lowered")
        yield kernel


def _say_parts(progress: Progress, done: int, known: int) -> None:
    progress.say(f"{done} of {known} parts of machine code")


def _lowered_again(program: Program, module: Callable[[], ModuleOp], threads: int, checked: bool) -> ModuleOp:
    with suppress(PassFailedException, VerifyException):
        again = lower_to_lir(module(), threads, checked)
        if build_program(again) == program:
            return again
    raise RlxError(f"graph {program.name!r} has changed since it was compiled: compile it again to inspect it")


def _compiled(key: str, build: Callable[[], tuple[Program, bytes]]) -> tuple[Program, LoadedObject, bool]:
    """A program, its machine code, and whether they are the cache's; else `build` gives the program and its code."""

    def load(payload: bytes) -> tuple[Program, LoadedObject]:
        program, code = unpack(payload)
        return program, load_object(code, program.kernels)

    if (found := disk_cache.load_as(key, load)) is not None:
        return *found, True
    program, code = build()
    disk_cache.store(key, pack(program, code))
    return program, load_object(code, program.kernels), False


def lower_to_lir(module: ModuleOp, threads: int = 1, checked: bool = False, model: CostModel | None = None) -> ModuleOp:
    """
    The planned `lir` module of a module at any stage, which is not changed, with checks as `compile_module` has them.

    `model` is that of the processor that code is compiled for, by default of `cost_model`.

    VerifyException for a `lir` module that does not verify: from elsewhere, it is as likely wrong as text is.
    """
    lowered = module.clone()
    deque(_kernels_of(lowered, threads, checked, model), maxlen=0)
    return lowered


def _kernels_of(module: ModuleOp, threads: int, checked: bool, model: CostModel | None = None) -> Iterator[KernelOp]:
    """The kernels of a module, which `lower_to_lir` lowers, as they come."""
    if any(isinstance(op, ProgramOp) for op in module.ops):
        module.verify()
        verify_dominance(module)
    return lower_by_kernel(context(), module, compile_passes(module, threads, model or cost_model(), checked))
