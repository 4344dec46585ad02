"""Passes as functions on graphs: each clones what it is given and returns a new module. Building is in `builder.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass, PassPipeline
from xdsl.transforms import get_all_passes
from xdsl.utils.exceptions import ArgSpecParseError, ParseError, PassFailedException, VerifyException

from xdsl_rlx.builder import AnyGraph, GraphModule, as_graph_module, stage_of
from xdsl_rlx.dialects import UNIVERSE as DIALECTS
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.lowering import UNIVERSE as LOWERING
from xdsl_rlx.lowering.pipeline import remaining_passes
from xdsl_rlx.transforms import UNIVERSE as TRANSFORMS
from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.mir_grad import MirGradPass
from xdsl_rlx.transforms.mir_prepare_for_ad import MirPrepareForAdPass
from xdsl_rlx.transforms.signature import graph_of

if TYPE_CHECKING:
    from xdsl_rlx.lowering.numba.runtime import CompiledGraph


def context() -> Context:
    """A context that knows every dialect of xDSL and ours; none is imported before it is used."""
    ctx = Context()
    for name, get in {**get_all_dialects(), **DIALECTS.all_dialects}.items():
        ctx.register_dialect(name, get)
    return ctx


@lru_cache(maxsize=1)
def _passes() -> dict[str, Callable[[], type[ModulePass]]]:
    return {**get_all_passes(), **TRANSFORMS.all_passes, **LOWERING.all_passes}


def parse(text: str) -> ModuleOp:
    """The module that the text describes, verified; GraphError says where it is wrong."""
    parser = Parser(context(), text)
    try:
        module = _parse_module(parser)
        module.verify()
        verify_dominance(module)
    except (ParseError, VerifyException) as error:
        raise GraphError(str(error)) from error
    return module


def _parse_module(parser: Parser) -> ModuleOp:
    try:
        return parser.parse_module()
    except (ValueError, VerifyException) as error:
        # what upstream raises, without a place, for an attribute that cannot be: a number out of range
        parser.raise_error(str(error))


def run_passes(graph: AnyGraph, passes: str | Sequence[ModulePass]) -> GraphModule:
    """
    Run passes, or a pipeline as `xdsl-opt -p` reads it, on a copy, and verify the result.

    GraphError for an unknown pass or option, and for a graph that a pass cannot do.
    """
    source = as_graph_module(graph)
    module = source.module.clone()
    verify_dominance(module)
    try:
        pipeline = (
            PassPipeline.parse_spec(_passes(), passes) if isinstance(passes, str) else PassPipeline(tuple(passes))
        )
        pipeline.apply(context(), module)
    except (PassFailedException, ArgSpecParseError, ValueError) as error:
        raise GraphError(str(error)) from error
    module.verify()
    return GraphModule(module, stage_of(module))


def lower_hir(graph: AnyGraph, fusion_policy: str = "direct") -> GraphModule:
    """Blocks replaced by what they mean in `mir`: composite ops with `direct`, primitive ones with `fusable`."""
    return run_passes(_above_lir(graph, "lower_hir"), [_lowering(fusion_policy)])


def prepare_for_ad(graph: AnyGraph) -> GraphModule:
    """The graph in `mir`, in ops that have derivatives."""
    return run_passes(_above_lir(graph, "prepare_for_ad"), [_lowering("fusable"), MirPrepareForAdPass()])


def grad_with_loss(graph: AnyGraph, wrt: Sequence[str] | str = (), zero_missing_wrt: bool = False) -> GraphModule:
    """
    Outputs of `graph`, then the gradients of its first one with respect to the arguments named, in that order.

    Without names: of every floating-point param. The new input `d_output` is the cotangent of the first output and is
    ones where a caller leaves it out. An argument that the first output does not depend on is a GraphError, or gets
    zeros with `zero_missing_wrt`.
    """
    grad_pass = MirGradPass(wrt=_names(wrt), zero_missing_wrt=zero_missing_wrt)
    return run_passes(_above_lir(graph, "grad"), [_lowering("fusable"), MirPrepareForAdPass(), grad_pass])


def grad(graph: AnyGraph, wrt: Sequence[str] | str = (), zero_missing_wrt: bool = False) -> GraphModule:
    """As `grad_with_loss`, but the gradients alone."""
    before = len(_above_lir(graph, "grad").signature.outputs)
    result = grad_with_loss(graph, wrt, zero_missing_wrt)
    signature = graph_of(result.module, "grad")
    signature.set_outputs(signature.outputs[before:])
    return run_passes(result, "dce")


def lower(graph: AnyGraph, threads: int = 1) -> GraphModule:
    """The graph as a planned `lir` program, cut up for `threads` threads."""
    source = as_graph_module(graph)
    return run_passes(source, remaining_passes(source.module, threads))


def compile(graph: AnyGraph, threads: int | None = None) -> CompiledGraph:
    """
    Compile a graph at any stage into a callable on NumPy arrays.

    `threads` are at most used by a call: by default those of XDSL_RLX_NUM_THREADS, else one per available core. What
    was compiled before, in any process, comes from the cache on disk. GraphError for a graph that cannot be lowered.
    """
    from xdsl_rlx.lowering.numba.compilation import compile_module

    source = as_graph_module(graph)
    try:
        verify_dominance(source.module)
        return compile_module(source.module, threads)
    except (PassFailedException, VerifyException) as error:
        raise GraphError(str(error)) from error


def numba_source(graph: AnyGraph) -> str:
    """The graph as one Python module of Numba loop nests that needs NumPy, Numba and SciPy, not this package."""
    from xdsl_rlx.lowering.numba.emit_python import emit_python

    return emit_python(lower(graph).module)


def _names(wrt: object) -> tuple[str, ...]:
    several = isinstance(wrt, Iterable) and not isinstance(wrt, str)
    names = tuple(cast("Iterable[object]", wrt)) if several else (wrt,)
    if not all(isinstance(name, str) for name in names):
        raise GraphError(f"wrt is the name of an argument or a list of names, got {wrt!r}")
    return cast("tuple[str, ...]", names)


def _lowering(fusion_policy: str) -> ModulePass:
    try:
        return ConvertHirToMirPass(fusion_policy)
    except ValueError as error:
        raise GraphError(str(error)) from None


def _above_lir(graph: AnyGraph, what: str) -> GraphModule:
    source = as_graph_module(graph)
    if source.stage == "lir":
        raise GraphError(f"{what} takes a graph at stage hir or mir, '{source.name}' is at lir")
    return source
