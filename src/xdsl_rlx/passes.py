"""Text as modules, and passes as functions on graphs: each clones what it is given and returns a new module."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from os import PathLike

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass, PassPipeline
from xdsl.transforms import get_all_passes
from xdsl.universe import Universe
from xdsl.utils.arg_spec import parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError, ParseError, PassFailedException, VerifyException

from xdsl_rlx.builder import AnyGraph, GraphModule, as_graph_module, stage_of
from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.lowering import UNIVERSE as LOWERING
from xdsl_rlx.pass_cache import Derivation, Outcome, apply_passes, known_outcome, note_outcome, outcome_key
from xdsl_rlx.transforms import UNIVERSE as TRANSFORMS
from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.signature import argument_attributes

_COMMENT_OR_STRING = re.compile(r'//[^\n]*|("(?:[^"\\\n\v\f]|\\.)*+("?))')


_BRACKET_OR_QUOTED = re.compile(
    r'//[^\n]*|"(?:[^"\\\n\v\f]|\\.)*+"|->|(?P<open>[({\[]|(?<=[\w.])<)|(?P<close>[)}\]]|(?<![-=\s])>(?!=))'
)

MOST_NESTED = 100
"""Brackets around each other in the text of a module. A region takes two, in the generic form, a type one or two."""


@lru_cache(maxsize=1)
def _passes() -> dict[str, Callable[[], type[ModulePass]]]:
    return {**get_all_passes(), **TRANSFORMS.all_passes, **LOWERING.all_passes}


def _parsed(pipeline: str) -> Sequence[ModulePass]:
    """The passes of a pipeline, also those of other packages; ValueError for an unknown one or a wrong option."""
    known = _passes()
    if any(spec.name not in known for spec in parse_pipeline(pipeline)):
        known = {**Universe.get_multiverse().all_passes, **known}
    return PassPipeline.parse_spec(known, pipeline).passes


@checked
def parse(text: str | PathLike[str]) -> ModuleOp:
    """Return the module of a text, parsed and verified. Raises GraphError, with the line, for an invalid text."""
    if isinstance(text, PathLike) or ("\n" not in str(text) and str(text).endswith(".mlir")):
        raise GraphError(f"parse: expected the text of a module, got a path: parse(Path({str(text)!r}).read_text())")
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphError(f"parse: expected the text of a module, got {shown(text)}")
    check_text(text)
    try:
        module = _parse_module(Parser(context(), text))
        module.verify()
        verify_dominance(module)
        for op in module.ops:
            if isinstance(op, FuncOp):
                argument_attributes(op)
    except (ParseError, VerifyException, PassFailedException, ValueError) as error:
        raise GraphError(str(error)) from error
    except (AttributeError, TypeError) as error:
        # upstream's parser and verifiers use properties as what they have to be, before these are checked
        raise GraphError(f"an attribute has a kind that its op does not accept: {error}") from error
    except Exception as error:
        # some of upstream's verifiers raise no VerifyException
        if type(error) is not Exception:
            raise
        raise GraphError(str(error)) from error
    return module


def check_text(text: str) -> None:
    """GraphError for a text that takes upstream's lexer or parser too long or too deep."""
    _check_quotes(text)
    _check_depth(text)


def _check_quotes(text: str) -> None:
    """GraphError for a string that its line does not end; upstream's lexer would take time exponential in the rest."""
    for match in _COMMENT_OR_STRING.finditer(text):
        if match[1] is not None and not match[2]:
            line = text.count("\n", 0, match.start()) + 1
            raise GraphError(f"<unknown>:{line}: unterminated string: {match[1][:40]}")


def _check_depth(text: str) -> None:
    """
    GraphError for brackets within more than `MOST_NESTED` others.

    The parser and many passes call themselves for what is inside of something, and Python limits the depth of calls.
    """
    depth = 0
    for match in _BRACKET_OR_QUOTED.finditer(text):
        if match["open"]:
            depth += 1
            if depth > MOST_NESTED:
                line = text.count("\n", 0, match.start()) + 1
                raise GraphError(f"<unknown>:{line}: brackets are nested more than {MOST_NESTED} deep")
        elif match["close"]:
            depth -= 1


def _parse_module(parser: Parser) -> ModuleOp:
    try:
        return parser.parse_module()
    except (ValueError, VerifyException, OverflowError, AssertionError) as error:
        # what upstream raises, without a place, for an attribute that cannot be: a number out of range, or a real one
        # in a constant of complex numbers
        parser.raise_error(str(error) or "a number that the element type cannot hold")


@checked
def run_passes(graph: AnyGraph, passes: str | Sequence[ModulePass]) -> GraphModule:
    """
    Run passes, or a pipeline in the syntax of `xdsl-opt -p`, on a copy, and verify the result.

    A pipeline may name passes of other packages that have an entry point in the group `xdsl.universe`.

    If the cache on disk records that the same passes succeeded on the same graph before, they run only when the
    `module` of the result is read. `compile` does not read it.

    Raises GraphError for an unknown pass or option, and for a graph that a pass rejects.
    """
    source = as_graph_module(graph)
    if isinstance(passes, str):
        try:
            passes = _parsed(passes)
        except (ArgSpecParseError, ValueError) as error:
            raise GraphError(str(error)) from error
    if not_one := [one for one in passes if not isinstance(one, ModulePass)]:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphError(f"expected passes, or the text of a pipeline, got {shown(not_one[0])}")
    return derived(source, passes)


def derived(source: GraphModule, passes: Sequence[ModulePass]) -> GraphModule:
    """As `run_passes`, for a graph that `as_graph_module` has made and passes of this package."""
    key = outcome_key(source.fingerprint, passes)
    if key is not None and (outcome := known_outcome(key)) is not None:
        return GraphModule(_derivation(source, passes, outcome), outcome.stage)
    module = apply_passes(source.module, passes)
    result = GraphModule(module, stage_of(module))
    if key is not None:
        interface = None if result.stage == "lir" else result.interface
        note_outcome(key, Outcome(result.stage, result.fingerprint, interface))
    return result


def with_signature(source: GraphModule, change: ModulePass) -> GraphModule:
    """
    The graph after a pass that changes nothing but the signature; it runs when the module is read.

    The fingerprint is made of those of the graph and the pass: it tells graphs apart as that of the result would.
    """
    key = outcome_key(source.fingerprint, (change,))
    assert key is not None, f"{change.name}: a pass from elsewhere"
    outcome = Outcome(source.stage, key, None)
    if source.pending is not None:
        return GraphModule(_derivation(source, (change,), outcome), source.stage)
    return GraphModule(Derivation(source.module, (change,), outcome, signature_only=True), source.stage)


def _derivation(source: GraphModule, passes: Sequence[ModulePass], outcome: Outcome) -> Derivation:
    if (pending := source.pending) is not None:
        return Derivation(pending.origin, (*pending.passes, *passes), outcome)
    # a copy, because a graph under construction goes on to change
    return Derivation(source.module.clone(), tuple(passes), outcome)


@checked
def lower_hir(graph: AnyGraph, fusion_policy: str = "direct") -> GraphModule:
    """
    Return the graph with blocks replaced by `mir` ops: composite ops with `direct`, primitive ops with `fusable`.

    `for_autodiff` is an alias of `fusable`. Raises GraphError for another policy.
    """
    return derived(above_lir(graph, "lower_hir"), [hir_lowering(fusion_policy)])


def hir_lowering(fusion_policy: str) -> ModulePass:
    try:
        return ConvertHirToMirPass(fusion_policy)
    except ValueError as error:
        raise GraphError(str(error)) from None


def above_lir(graph: AnyGraph, what: str) -> GraphModule:
    """A graph at stage hir or mir; GraphError, in the name of the function `what`, for one at lir."""
    return check_stage(as_graph_module(graph), what)


def check_stage(source: GraphModule, what: str) -> GraphModule:
    """The graph; GraphError, in the name of the function `what`, for one at lir."""
    if source.stage == "lir":
        raise GraphError(f"{what} takes a graph at stage hir or mir, '{source.name}' is at lir")
    return source
