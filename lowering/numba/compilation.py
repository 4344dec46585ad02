"""`compile_module`: from a module at any stage to a callable, through the cache. The passes are elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache as cache_once

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline
from xdsl.universe import Universe

from xdsl_rlx.lowering.numba import cache
from xdsl_rlx.lowering.numba.build import build_program, fingerprint
from xdsl_rlx.lowering.numba.driver import thread_count
from xdsl_rlx.lowering.numba.program import pack, unpack
from xdsl_rlx.lowering.numba.runtime import CompiledGraph
from xdsl_rlx.lowering.pipeline import remaining_passes


def compile_module(module: ModuleOp, threads: int | None = None) -> CompiledGraph:
    """
    Compile a hir, mir or lir module, which is not changed, for `threads` threads (default: the environment's).

    The program and its machine code come from the cache on disk when the same module was compiled before, whatever its
    names of values; then no pass runs.
    """
    return compile_source(fingerprint(module), lambda: module, threads)


def compile_source(source: str, module: Callable[[], ModuleOp], threads: int | None = None) -> CompiledGraph:
    """As `compile_module`, for the module of which `source` is the fingerprint; it is made only where it is needed."""
    count = thread_count(threads)
    key = hashlib.sha256(f"{source} {cache.environment_key()} {count}".encode()).hexdigest()
    payload = cache.load(key)
    if payload is not None:
        program, code = unpack(payload)
        return CompiledGraph(program, code, count, from_cache=True)
    lowered = lower_to_lir(module(), count)
    program = build_program(lowered)
    from xdsl_rlx.lowering.numba.compile import compile_llvm
    from xdsl_rlx.lowering.numba.emit_llvm import emit_llvm

    code = compile_llvm(emit_llvm(lowered))
    cache.store(key, pack(program, code))
    return CompiledGraph(program, code, count)


def lower_to_lir(module: ModuleOp, threads: int = 1) -> ModuleOp:
    """The planned `lir` module of a module at any stage, which is not changed."""
    lowered = module.clone()
    PassPipeline(tuple(remaining_passes(lowered, threads))).apply(_context(), lowered)
    return lowered


@cache_once
def _context() -> Context:
    context = Context()
    for name, dialect in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, dialect)
    return context
