"""Graphs as programs: compiled, lowered, printed, reported on. Derivatives are in `derivatives.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_rlx.builder import AnyGraph, GraphModule, as_graph_module
from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.shapes import integers
from xdsl_rlx.lowering.backend.driver.process import thread_count
from xdsl_rlx.lowering.backend.machine.model import cost_model
from xdsl_rlx.lowering.backend.runtime.compile_module import Backend, compile_source
from xdsl_rlx.lowering.backend.runtime.rlx_to_lir import RlxToLirPass
from xdsl_rlx.lowering.backend.runtime.weights import Weights
from xdsl_rlx.lowering.pass_costs import with_costs
from xdsl_rlx.lowering.pipeline_passes.mir_fit_memory import MirFitMemoryPass
from xdsl_rlx.lowering.reports.fusion_report import FusionReport, report_of
from xdsl_rlx.lowering.reports.memory_report import MemoryReport
from xdsl_rlx.lowering.reports.memory_report import memory_report as report_of_memory
from xdsl_rlx.passes import above_lir, check_stage, derived, hir_lowering, with_signature
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.mir_donate import MirDonatePass

if TYPE_CHECKING:
    from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph


@checked
def fusion_report(graph: AnyGraph) -> FusionReport:
    """
    Return a report on the fusion of a graph at stage hir or mir: raised composite ops, kernels and missed fusions.

    A missed fusion has the structure of a composite op, but is not raised. Its reason says why: for example, an
    intermediate value is also an output. `str` of the report is a table, and `summary` its first line. Raises
    GraphError for a graph that cannot be fused.
    """
    return _fusion_of(above_lir(graph, "fusion_report"))


def _fusion_of(source: GraphModule) -> FusionReport:
    try:
        return report_of(_verified(source.module), cost_model())
    except (PassFailedException, VerifyException) as error:
        raise GraphError(str(error)) from error


@checked
def assert_fusion_clean(graph: AnyGraph) -> None:
    """
    Raise GraphError if `fusion_report` lists missed fusions in the graph; the message lists them with their reasons.

    Check the graph of the loss, not its gradient graph. A backward pass may read an intermediate value of a composite
    op, which prevents the fusion there.
    """
    source = above_lir(graph, "fusion_report")
    report = _fusion_of(source)
    if report.missed_fusions:
        lines = "".join(f"\n  {miss}" for miss in report.missed_fusions)
        found = "1 missed fusion" if len(report.missed_fusions) == 1 else f"{len(report.missed_fusions)} missed fusions"
        raise GraphError(f"{found} in '{source.name}':{lines}")


@checked
def lower(graph: AnyGraph, threads: int = 1) -> GraphModule:
    """
    Return the graph as a planned `lir` program, with large launches split into chunks for `threads` threads.

    The pass is `rlx-to-lir`. `compile` runs it before LLVM, and for the same processor. Raises GraphError if `threads`
    is less than 1.
    """
    return lowered(as_graph_module(graph), threads)


def lowered(source: GraphModule, threads: int) -> GraphModule:
    """As `lower`, for a graph that is normalised."""
    return derived(source, [RlxToLirPass(threads)])


def compile(
    graph: GraphModule,
    threads: SupportsIndex | None = None,
    backend: Literal["llvm", "numba"] = "llvm",
    donate: Mapping[str, SupportsIndex] | None = None,
    weights: Weights | None = None,
    memory_budget: SupportsIndex | None = None,
    strict_donation: bool = False,
    unchecked: bool = False,
    scratch: Sequence[str] = (),
) -> CompiledGraph:
    """
    Compile a graph at any stage into a callable on NumPy arrays, or compile a Python function of trees of arrays.

    A Python function is traced and compiled once for each signature, of which the values of `static` arguments, by name
    or position, are a part. With keywords alone, as in `@rlx.compile(static="n")`, this is a decorator.

    `donate` names the arguments, by name or position, that results of the same tree and types overwrite:
    `donate="state"`, `donate=("params", "state")`. The first item of the returned tuple that fits is taken, else the
    whole result; `donate={"state": 1}` takes item 1. A call returns the overwritten arrays. The rest is about graphs.

    `threads` is the maximum number of threads of a call, of which no more run than there are available cores. The
    default is XDSL_RLX_NUM_THREADS, else one per core. Programs that any process compiled before are loaded from the
    cache on disk. The backend "numba" compiles the kernels that `numba_source` prints with Numba; calls, threads and
    cache are the same.

    `donate` maps argument names to the indices of the outputs that overwrite them; both have the same type. A donated
    param has its new value in the next call, and the array passed for a donated input is overwritten. Calls return the
    other outputs only. An output that cannot be computed in place, because an op reads the argument later, is computed
    in another buffer and copied at the end. `memory_report` counts these copies; with `strict_donation` they raise
    GraphError. The values of params are kept in `weights`, which several graphs may share.

    After an interrupt or a failed check, donated arguments may be partly written, and others are unchanged.

    `memory_budget` limits the size of the arena in bytes. The arena holds all buffers that are neither arguments nor
    results. Activations saved for the backward pass are rematerialised, as few as needed to fit the budget. The memory
    of `scratch` arguments may store intermediate values after its last read; the contents are undefined after a call.

    A graph at stage lir is compiled with bounds checks, as it may come from any source. An access outside of a buffer
    raises `OutOfBoundsError` in the call, unless it is rejected at compile time. `unchecked` omits the checks; such an
    access then reads or overwrites other memory. Programs from hir and mir are checked only with XDSL_RLX_CHECK=1.

    Raises GraphError for an unknown backend, a graph that cannot be lowered, a donated output whose type differs from
    that of its argument, and a budget that cannot be met. The message about a budget states the minimum.
    """
    _check_options(backend, weights)
    if unchecked and graph.stage != "lir":
        raise GraphError(f"unchecked=: expected a graph at stage lir, got '{graph.name}' at {graph.stage}; omit it")
    source = _donated(graph, donate, strict_donation, scratch)
    if memory_budget is not None:
        source = fitted(check_stage(source, "memory_budget"), memory_budget, threads)
    try:
        module, checked = lambda: _verified(source.copy()), source.stage == "lir" and not unchecked
        made_by = Backend(backend)
        return compile_source(source.fingerprint, module, threads, backend=made_by, weights=weights, checked=checked)
    except (PassFailedException, VerifyException) as error:
        raise GraphError(str(error)) from error


def _check_options(backend: str, weights: Weights | None) -> None:
    if backend not in list(Backend):
        raise GraphError(f"backend: expected one of {', '.join(map(repr, map(str, Backend)))}, got {backend!r}")
    if not isinstance(weights, Weights | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphTypeError(f"compile: weights: expected rlx.Weights, got {shown(weights)}; pass rlx.Weights(..)")


def _donated(
    source: GraphModule, donate: Mapping[str, SupportsIndex] | None, strict: bool, scratch: Sequence[str]
) -> GraphModule:
    """The graph with arguments whose memory may be overwritten; as it is where none may."""
    names = (scratch,) if isinstance(scratch, str) else tuple(scratch)
    if not (found := donations(donate)) and not strict and not names:
        return source
    change = MirDonatePass(tuple(found), tuple(found.values()), bool(strict), names)
    return with_signature(check_stage(source, "donate"), change)


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
    if isinstance(memory_budget, bool) or not hasattr(memory_budget, "__index__"):
        raise GraphTypeError(f"memory_budget: expected a whole number of bytes, got {shown(memory_budget)}")
    fit = with_costs(MirFitMemoryPass, cost_model(), budget=index(memory_budget), threads=thread_count(threads))
    return derived(source, [hir_lowering("direct"), fit])


@checked
def memory_report(graph: AnyGraph, threads: SupportsIndex | None = None) -> MemoryReport:
    """
    Return the memory use of the program that `compile` makes of a graph, buffer by buffer; `str` of it is a table.
    """
    return report_of_memory(lowered(as_graph_module(graph), thread_count(threads)).module)


def _verified(module: ModuleOp) -> ModuleOp:
    verify_dominance(module)
    return module


@checked
def numba_source(graph: AnyGraph, threads: SupportsIndex = 1) -> str:
    """
    Return the graph as one Python module of Numba kernels that needs NumPy, Numba and SciPy, but not this package.

    It runs on at most `threads` threads. Raises GraphError for a graph that cannot be lowered.
    """
    # programs of the cache need no emitter
    from xdsl_rlx.lowering.backend.numba.python_module import emit_python

    return _printed(lambda module: emit_python(module, index(threads)), graph, threads)


@checked
def llvm_source(graph: AnyGraph, threads: SupportsIndex = 1) -> str:
    """
    Return the LLVM IR, before optimisation, of the kernels that `compile` makes of the graph for `threads` threads.
    """
    # programs of the cache need no emitter
    from xdsl_rlx.lowering.backend.llvm.listing import llvm_listing

    return _printed(llvm_listing, graph, threads)


@checked
def asm_source(graph: AnyGraph, threads: SupportsIndex = 1) -> str:
    """Return the assembly of the kernels of `llvm_source` for the processor that `compile` compiles for."""
    # programs of the cache need no emitter
    from xdsl_rlx.lowering.backend.llvm.listing import asm_listing

    return _printed(asm_listing, graph, threads)


def _printed(emit: Callable[[ModuleOp], str], graph: AnyGraph, threads: SupportsIndex) -> str:
    try:
        return emit(lowered(as_graph_module(graph), thread_count(threads)).module)
    except (PassFailedException, VerifyException) as error:
        raise GraphError(str(error)) from error
