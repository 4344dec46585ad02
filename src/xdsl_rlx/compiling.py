"""Graphs as programs: compiled, lowered, printed, reported on. Derivatives are in `derivatives.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_rlx.builder import AnyGraph, GraphModule, as_graph_module
from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.shapes import integers
from xdsl_rlx.dispatch import as_decorator, of_functions
from xdsl_rlx.lowering.fusion_report import FusionReport, report_of
from xdsl_rlx.passes import above_lir, hir_lowering, run_passes
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.mir_donate import MirDonatePass

if TYPE_CHECKING:
    from xdsl_rlx.jit import CompiledFunction
    from xdsl_rlx.lowering.memory_report import MemoryReport
    from xdsl_rlx.lowering.numba.runtime.compiled_graph import CompiledGraph
    from xdsl_rlx.lowering.numba.runtime.weights import Weights


@checked
def fusion_report(graph: AnyGraph) -> FusionReport:
    """
    What becomes of the ops of a graph at stage hir or mir: composite ops that it spells out, kernels, what was missed.

    Missed is what has the structure of a composite op but for a reason that it names, such as a value inside that is an
    output as well. The report can be printed; `summary` is its first line. GraphError for a graph that cannot be fused.
    """
    source = above_lir(graph, "fusion_report")
    try:
        return report_of(_verified(source.module))
    except (PassFailedException, VerifyException) as error:
        raise GraphError(str(error)) from error


@checked
def assert_fusion_clean(graph: AnyGraph) -> None:
    """
    GraphError that lists what `fusion_report` has missed in the graph, and why; nothing if that is nothing.

    In a gradient graph, what the backward pass reads beside a composite op is no miss: ask the graph of the loss.
    """
    report = fusion_report(graph)
    if report.missed:
        lines = "".join(f"\n  {miss}" for miss in report.missed)
        found = "1 composite op was" if len(report.missed) == 1 else f"{len(report.missed)} composite ops were"
        raise GraphError(f"{found} missed in '{as_graph_module(graph).name}':{lines}")


@checked
def lower(graph: AnyGraph, threads: int = 1) -> GraphModule:
    """
    Return the graph as a planned `lir` program, with large launches split into chunks for `threads` threads.

    Runs the pass `rlx-to-lir`: what `compile` runs before LLVM, for the same processor. A GraphError if `threads` is
    less than 1.
    """
    from xdsl_rlx.lowering.numba.runtime.rlx_to_lir import RlxToLirPass

    return run_passes(graph, [RlxToLirPass(threads)])


@overload
def compile(
    graph: AnyGraph,
    threads: SupportsIndex | None = None,
    backend: Literal["llvm", "numba"] = "llvm",
    donate: Mapping[str, SupportsIndex] | None = None,
    weights: Weights | None = None,
    memory_budget: SupportsIndex | None = None,
    strict_donation: bool = False,
    unchecked: bool = False,
) -> CompiledGraph: ...
@overload
def compile(
    graph: Callable[..., Any],
    static: str | int | Sequence[str | int] = (),
    donate: Mapping[str | int, int] | None = None,
    *,
    threads: SupportsIndex | None = None,
    backend: Literal["llvm", "numba"] = "llvm",
    memory_budget: SupportsIndex | None = None,
    strict_donation: bool = False,
) -> CompiledFunction: ...
@overload
def compile(
    *,
    static: str | int | Sequence[str | int] = (),
    donate: Mapping[str | int, int] | None = None,
    threads: SupportsIndex | None = None,
    backend: Literal["llvm", "numba"] = "llvm",
    memory_budget: SupportsIndex | None = None,
    strict_donation: bool = False,
) -> Callable[[Callable[..., Any]], CompiledFunction]: ...
@as_decorator
@of_functions
@checked
def compile(
    graph: AnyGraph,
    threads: SupportsIndex | None = None,
    backend: Literal["llvm", "numba"] = "llvm",
    donate: Mapping[str, SupportsIndex] | None = None,
    weights: Weights | None = None,
    memory_budget: SupportsIndex | None = None,
    strict_donation: bool = False,
    unchecked: bool = False,
) -> CompiledGraph:
    """
    Compile a graph at any stage into a callable on NumPy arrays, or a Python function of trees of arrays.

    A function is traced and compiled for each signature; `static` names arguments, or positions, whose values belong to
    that, and `donate` the arguments that results are written over. With keywords alone, as in
    `@rlx.compile(static="n")`, this is a decorator. The rest of this text is about graphs.

    `threads` are at most used by a call: by default those of XDSL_RLX_NUM_THREADS, else one per available core. What
    was compiled before, in any process, comes from the cache on disk. With the backend "numba" the kernels that
    `numba_source` prints are compiled by Numba; calls, threads and cache are the same.

    `donate` maps names of arguments to numbers of outputs of the same type, which are written over them: a param so
    updated has its new value in the next call, an array given for an input is overwritten, and calls return the other
    outputs only. The values of params are kept in `weights`, which several graphs may share. An output that cannot be
    computed in place, because something reads the argument later, is computed into other memory and copied at the end;
    `memory_report` counts these. With `strict_donation` that is a GraphError instead.

    A call that ends by an interrupt or by a failed check leaves each donated argument old, new, or partly written, and
    other arguments as they were. Keep a copy of the donated state to continue from after such a call.

    `memory_budget` is the most bytes that the arena takes, which holds all that is neither argument nor result.
    Activations saved for the backward pass are rematerialised, as few as needed to fit the budget.

    A graph at stage lir may come from anywhere, so it is compiled with checks of bounds: an access outside of a buffer
    that is not seen before is an `OutOfBoundsError` in the call. With `unchecked` there are none, and such an access
    reads or overwrites other memory. What this package lowers from hir and mir has no checks but with XDSL_RLX_CHECK=1.

    GraphError for another backend, for a graph that cannot be lowered, for an output that is not of the type of the
    argument that it is written over, and for a budget that cannot be kept, which says what the least is.
    """
    from xdsl_rlx.lowering.numba.runtime.compile_module import Backend, compile_source
    from xdsl_rlx.lowering.numba.runtime.weights import Weights

    if backend not in list(Backend):
        raise GraphError(f"backend is one of {', '.join(map(repr, map(str, Backend)))}, got {backend!r}")
    if not isinstance(weights, Weights | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphTypeError(f"compile: weights: expected an rlx.Weights, which takes a dict, got {shown(weights)}")
    source = as_graph_module(graph)
    if unchecked and source.stage != "lir":
        raise GraphError(f"unchecked is for graphs at stage lir, '{source.name}' is at {source.stage}: leave it out")
    source = _donated(source, donate, strict_donation)
    if memory_budget is not None:
        source = fitted(above_lir(source, "memory_budget"), memory_budget, threads)
    try:
        module, checked = lambda: _verified(source.module), source.stage == "lir" and not unchecked
        return compile_source(
            source.fingerprint, module, threads, backend=Backend(backend), weights=weights, checked=checked
        )
    except (PassFailedException, VerifyException) as error:
        raise GraphError(str(error)) from error


def _donated(source: GraphModule, donate: Mapping[str, SupportsIndex] | None, strict: bool) -> GraphModule:
    """The graph with results that take the memory of arguments; as it is where none does."""
    if not (found := donations(donate)) and not strict:
        return source
    passes = [MirDonatePass(tuple(found), tuple(found.values()), bool(strict))]
    return run_passes(above_lir(source, "donate"), passes)


def donations(donate: Mapping[Any, SupportsIndex] | None, keys: Any = str) -> dict[Any, int]:
    """
    The numbers of results by the arguments that they replace, which are named by values of the types `keys`.

    GraphError for what is none.
    """
    given: Mapping[Any, SupportsIndex] = {} if donate is None else donate
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphTypeError(f"donate: expected a dict from argument names to result numbers, got {shown(donate)}")
    if strange := [name for name in given if not isinstance(name, keys) or isinstance(name, bool)]:
        raise GraphTypeError(f"donate: expected the name of an argument, got {shown(strange[0])}")
    return dict(zip(given, integers("donate", tuple(given.values())), strict=True))


def fitted(source: GraphModule, memory_budget: SupportsIndex, threads: SupportsIndex | None) -> GraphModule:
    from xdsl_rlx.lowering.mir_fit_memory import MirFitMemoryPass
    from xdsl_rlx.lowering.numba.driver.process import thread_count
    from xdsl_rlx.lowering.numba.machine import cpu
    from xdsl_rlx.lowering.numba.machine.llvm import target

    if isinstance(memory_budget, bool) or not hasattr(memory_budget, "__index__"):
        raise GraphTypeError(f"memory_budget: expected a whole number of bytes, got {shown(memory_budget)}")
    registers = cpu.registers(target())
    fit = MirFitMemoryPass(index(memory_budget), thread_count(threads), registers.lanes, registers.count)
    return run_passes(source, [hir_lowering("direct"), fit])


@checked
def memory_report(graph: AnyGraph, threads: SupportsIndex | None = None) -> MemoryReport:
    """What the program that `compile` makes of a graph takes in memory, buffer by buffer; printed, a table."""
    from xdsl_rlx.lowering.memory_report import memory_report as report
    from xdsl_rlx.lowering.numba.driver.process import thread_count

    return report(lower(graph, thread_count(threads)).module)


def _verified(module: ModuleOp) -> ModuleOp:
    verify_dominance(module)
    return module


@checked
def numba_source(graph: AnyGraph, threads: SupportsIndex = 1) -> str:
    """
    The graph as one Python module of Numba loop nests that needs NumPy, Numba and SciPy, not this package.

    It runs on at most `threads` threads. GraphError for a graph that cannot be lowered.
    """
    from xdsl_rlx.lowering.numba.emit.python_module import emit_python

    return _printed(lambda module: emit_python(module, index(threads)), graph, threads)


@checked
def llvm_source(graph: AnyGraph, threads: SupportsIndex = 1) -> str:
    """The LLVM IR of the kernels that `compile` makes of the graph for so many threads, before optimisation."""
    from xdsl_rlx.lowering.numba.emit.listing import llvm_listing

    return _printed(llvm_listing, graph, threads)


@checked
def asm_source(graph: AnyGraph, threads: SupportsIndex = 1) -> str:
    """The assembly of the same kernels for the processor that `compile` compiles for."""
    from xdsl_rlx.lowering.numba.emit.listing import asm_listing

    return _printed(asm_listing, graph, threads)


def _printed(emit: Callable[[ModuleOp], str], graph: AnyGraph, threads: SupportsIndex) -> str:
    from xdsl_rlx.lowering.numba.driver.process import thread_count

    try:
        return emit(lower(graph, thread_count(threads)).module)
    except (PassFailedException, VerifyException) as error:
        raise GraphError(str(error)) from error
