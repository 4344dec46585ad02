"""Passes as functions on graphs: each clones what it is given and returns a new module. Building is in `builder.py`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass, PassPipeline
from xdsl.transforms import get_all_passes
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from xdsl.utils.exceptions import ArgSpecParseError, ParseError, PassFailedException, VerifyException

from xdsl_rlx.builder import AnyGraph, GraphModule, as_graph_module, stage_of
from xdsl_rlx.derive import Derivation, Outcome, apply_passes, context, known_outcome, note_outcome, outcome_key
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.lowering import UNIVERSE as LOWERING
from xdsl_rlx.lowering.pipeline import remaining_passes
from xdsl_rlx.transforms import UNIVERSE as TRANSFORMS
from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.mir_grad import MirGradPass
from xdsl_rlx.transforms.mir_prepare_for_ad import MirPrepareForAdPass

if TYPE_CHECKING:
    from xdsl_rlx.lowering.numba.runtime import CompiledGraph


_COMMENT_OR_STRING = re.compile(r'//[^\n]*|("(?:[^"\\\n\v\f]|\\.)*+("?))')


@lru_cache(maxsize=1)
def _passes() -> dict[str, Callable[[], type[ModulePass]]]:
    return {**get_all_passes(), **TRANSFORMS.all_passes, **LOWERING.all_passes}


def parse(text: str) -> ModuleOp:
    """The module that the text describes, verified; GraphError says where it is wrong."""
    _check_quotes(text)
    try:
        module = _parse_module(Parser(context(), text))
        module.verify()
        verify_dominance(module)
    except (ParseError, VerifyException, ValueError) as error:
        raise GraphError(str(error)) from error
    return module


def _check_quotes(text: str) -> None:
    """GraphError for a string that its line does not end; upstream's lexer would take time exponential in the rest."""
    for match in _COMMENT_OR_STRING.finditer(text):
        if match[1] is not None and not match[2]:
            line = text.count("\n", 0, match.start()) + 1
            raise GraphError(f"<unknown>:{line}: a string starts here that does not end: {match[1][:40]}")


def _parse_module(parser: Parser) -> ModuleOp:
    try:
        return parser.parse_module()
    except (ValueError, VerifyException) as error:
        # what upstream raises, without a place, for an attribute that cannot be: a number out of range
        parser.raise_error(str(error))


def run_passes(graph: AnyGraph, passes: str | Sequence[ModulePass]) -> GraphModule:
    """
    Run passes, or a pipeline as `xdsl-opt -p` reads it, on a copy, and verify the result.

    Where the cache on disk says that the same passes succeeded on the same graph before, they run when the module of
    the result is looked at, which `compile` does not.

    GraphError for an unknown pass or option, and for a graph that a pass cannot do.
    """
    source = as_graph_module(graph)
    if isinstance(passes, str):
        try:
            passes = PassPipeline.parse_spec(_passes(), passes).passes
        except (ArgSpecParseError, ValueError) as error:
            raise GraphError(str(error)) from error
    key = outcome_key(source.fingerprint, passes)
    if key is not None and (outcome := known_outcome(key)) is not None:
        return GraphModule(_derivation(source, passes, outcome), outcome.stage)
    module = apply_passes(source.module, passes)
    result = GraphModule(module, stage_of(module))
    if key is not None:
        note_outcome(key, Outcome(result.stage, result.fingerprint))
    return result


def _derivation(source: GraphModule, passes: Sequence[ModulePass], outcome: Outcome) -> Derivation:
    if (pending := source.pending) is not None:
        return Derivation(pending.origin, (*pending.passes, *passes), outcome)
    # a copy, because a graph under construction goes on to change
    return Derivation(source.module.clone(), tuple(passes), outcome)


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
    return run_passes(_above_lir(graph, "grad"), _gradient(wrt, zero_missing_wrt, True))


def grad(graph: AnyGraph, wrt: Sequence[str] | str = (), zero_missing_wrt: bool = False) -> GraphModule:
    """As `grad_with_loss`, but the gradients alone."""
    return run_passes(_above_lir(graph, "grad"), [*_gradient(wrt, zero_missing_wrt, False), DeadCodeElimination()])


def _gradient(wrt: Sequence[str] | str, zero_missing_wrt: bool, loss: bool) -> list[ModulePass]:
    grad_pass = MirGradPass(wrt=_names(wrt), zero_missing_wrt=zero_missing_wrt, loss=loss)
    return [_lowering("fusable"), MirPrepareForAdPass(), grad_pass]


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
    from xdsl_rlx.lowering.numba.compilation import compile_source

    source = as_graph_module(graph)
    try:
        return compile_source(source.fingerprint, lambda: _verified(source.module), threads)
    except (PassFailedException, VerifyException) as error:
        raise GraphError(str(error)) from error


def _verified(module: ModuleOp) -> ModuleOp:
    verify_dominance(module)
    return module


def numba_source(graph: AnyGraph) -> str:
    """The graph as one Python module of Numba loop nests that needs NumPy, Numba and SciPy, not this package."""
    from xdsl_rlx.lowering.numba.emit_python import emit_python

    return emit_python(lower(graph).module)


def _names(wrt: object) -> tuple[str, ...]:
    if isinstance(wrt, str):
        return (wrt,)
    names = list(cast("Iterable[object]", wrt)) if isinstance(wrt, Iterable) else [wrt]
    if not all(isinstance(name, str) for name in names):
        raise GraphError(f"wrt is the name of an argument or a list of names, got {wrt!r}")
    return tuple(cast("list[str]", names))


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
