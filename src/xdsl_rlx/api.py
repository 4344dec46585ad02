"""Passes as functions on graphs: each clones what it is given and returns a new module. Building is in `builder.py`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache, wraps
from operator import index
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass, PassPipeline
from xdsl.transforms import get_all_passes
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from xdsl.universe import Universe
from xdsl.utils.arg_spec import parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError, ParseError, PassFailedException, VerifyException

from xdsl_rlx.builder import AnyGraph, GraphModule, as_graph_module, stage_of
from xdsl_rlx.derive import Derivation, Outcome, apply_passes, known_outcome, note_outcome, outcome_key
from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.dialects.errors import GraphError, GraphIndexError, GraphTypeError
from xdsl_rlx.dialects.shapes import integers
from xdsl_rlx.lowering import UNIVERSE as LOWERING
from xdsl_rlx.lowering.fusion_report import FusionReport, report_of
from xdsl_rlx.lowering.mir_prepare_for_ad import MirPrepareForAdPass
from xdsl_rlx.lowering.pipelines import remaining_passes
from xdsl_rlx.transforms import UNIVERSE as TRANSFORMS
from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass
from xdsl_rlx.transforms.driver import verify_dominance
from xdsl_rlx.transforms.mir_donate import MirDonatePass
from xdsl_rlx.transforms.mir_emit_vjp import MirEmitVjpPass
from xdsl_rlx.transforms.mir_grad import MirGradPass
from xdsl_rlx.transforms.mir_hvp import MirHvpPass
from xdsl_rlx.transforms.mir_jacfwd import MirJacfwdPass
from xdsl_rlx.transforms.mir_jacrev import MirJacrevPass
from xdsl_rlx.transforms.mir_jvp import MirJvpPass
from xdsl_rlx.transforms.mir_partition import MirPartitionPass, Part
from xdsl_rlx.transforms.mir_select_outputs import MirSelectOutputsPass
from xdsl_rlx.transforms.mir_vmap import MirVmapPass

if TYPE_CHECKING:
    import numpy as np

    from xdsl_rlx.jit import CompiledFunction
    from xdsl_rlx.lowering.memory_report import MemoryReport
    from xdsl_rlx.lowering.numba.runtime.compiled_graph import CompiledGraph
    from xdsl_rlx.lowering.numba.runtime.weights import Weights
    from xdsl_rlx.training import TrainingProgram
    from xdsl_rlx.tree_functions import Which


def of_functions(on_graphs: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a function on graphs: given a Python function, it is that of its name in `tree_functions.py`."""

    @wraps(on_graphs)
    def call(graph: object, /, *args: Any, **kwargs: Any) -> Any:
        if callable(graph) and not isinstance(graph, GraphModule) and not hasattr(graph, "program"):
            from xdsl_rlx import tree_functions

            return checked(getattr(tree_functions, on_graphs.__name__))(graph, *args, **kwargs)
        return on_graphs(graph, *args, **kwargs)

    return call


_COMMENT_OR_STRING = re.compile(r'//[^\n]*|("(?:[^"\\\n\v\f]|\\.)*+("?))')


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
    """The module that the text describes, verified; GraphError says where it is wrong."""
    if isinstance(text, PathLike) or ("\n" not in str(text) and str(text).endswith(".mlir")):
        raise GraphError(f"parse takes the text of a module, not a path: parse(Path({str(text)!r}).read_text())")
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphError(f"parse takes the text of a module, got {shown(text)}")
    _check_quotes(text)
    try:
        module = _parse_module(Parser(context(), text))
        module.verify()
        verify_dominance(module)
    except (ParseError, VerifyException, ValueError) as error:
        raise GraphError(str(error)) from error
    except Exception as error:
        # some of upstream's verifiers raise no VerifyException
        if type(error) is not Exception:
            raise
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
    except (ValueError, VerifyException, OverflowError, AssertionError) as error:
        # what upstream raises, without a place, for an attribute that cannot be: a number out of range, or a real one
        # in a constant of complex numbers
        parser.raise_error(str(error) or "a number that the element type cannot hold")


@checked
def run_passes(graph: AnyGraph, passes: str | Sequence[ModulePass]) -> GraphModule:
    """
    Run passes, or a pipeline as `xdsl-opt -p` reads it, on a copy, and verify the result.

    A pipeline may name passes of other packages, which have an entry point in the group `xdsl.universe`.

    Where the cache on disk says that the same passes succeeded on the same graph before, they run when the module of
    the result is looked at, which `compile` does not.

    GraphError for an unknown pass or option, and for a graph that a pass cannot do.
    """
    source = as_graph_module(graph)
    if isinstance(passes, str):
        try:
            passes = _parsed(passes)
        except (ArgSpecParseError, ValueError) as error:
            raise GraphError(str(error)) from error
    if not_one := [one for one in passes if not isinstance(one, ModulePass)]:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphError(f"expected passes, or the text of a pipeline, got {shown(not_one[0])}")
    key = outcome_key(source.fingerprint, passes)
    if key is not None and (outcome := known_outcome(key)) is not None:
        return GraphModule(_derivation(source, passes, outcome), outcome.stage)
    module = apply_passes(source.module, passes)
    result = GraphModule(module, stage_of(module))
    if key is not None:
        interface = None if result.stage == "lir" else result.interface
        note_outcome(key, Outcome(result.stage, result.fingerprint, interface))
    return result


def _derivation(source: GraphModule, passes: Sequence[ModulePass], outcome: Outcome) -> Derivation:
    if (pending := source.pending) is not None:
        return Derivation(pending.origin, (*pending.passes, *passes), outcome)
    # a copy, because a graph under construction goes on to change
    return Derivation(source.module.clone(), tuple(passes), outcome)


@checked
def lower_hir(graph: AnyGraph, fusion_policy: str = "direct") -> GraphModule:
    """Blocks replaced by what they mean in `mir`: composite ops with `direct`, primitive ones with `fusable`."""
    return run_passes(above_lir(graph, "lower_hir"), [_lowering(fusion_policy)])


@checked
def prepare_for_ad(graph: AnyGraph) -> GraphModule:
    """The graph in `mir`, in ops that have derivatives."""
    return run_passes(above_lir(graph, "prepare_for_ad"), [_lowering("fusable"), MirPrepareForAdPass()])


@checked
def grad_with_loss(graph: AnyGraph, wrt: Sequence[str] | str = (), zero_missing_wrt: bool = False) -> GraphModule:
    """
    Outputs of `graph`, then the gradients of its first one with respect to the arguments named, in that order.

    Without names: of every floating-point param. The new input `d_output` is the cotangent of the first output and is
    ones where a caller leaves it out. An argument that the first output does not depend on is a GraphError, or gets
    zeros with `zero_missing_wrt`.
    """
    return run_passes(above_lir(graph, "grad"), _gradient(wrt, zero_missing_wrt, True))


@overload
def grad(graph: AnyGraph, wrt: Sequence[str] | str = (), zero_missing_wrt: bool = False) -> GraphModule: ...
@overload
def grad(graph: Callable[..., Any], argnums: Which = 0, has_aux: bool = False) -> Callable[..., Any]: ...
@of_functions
@checked
def grad(graph: AnyGraph, wrt: Sequence[str] | str = (), zero_missing_wrt: bool = False) -> GraphModule:
    """As `grad_with_loss`, but the gradients alone."""
    return run_passes(above_lir(graph, "grad"), [*_gradient(wrt, zero_missing_wrt, False), DeadCodeElimination()])


def value_and_grad(graph: Callable[..., Any], argnums: Which = 0, has_aux: bool = False) -> Callable[..., Any]:
    """
    The function that returns what a Python function does, and its gradients by the arguments `argnums`, by position or
    name. That returns one real number, or with `has_aux` a pair of that and more. A graph has `grad_with_loss`.
    """
    if not callable(graph) or isinstance(graph, GraphModule):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphError("value_and_grad takes a Python function; of a graph, grad_with_loss gives the same")
    from xdsl_rlx import tree_functions

    return tree_functions.value_and_grad(graph, argnums, has_aux)


def vjp(graph: Callable[..., Any]) -> Callable[..., Any]:
    """The function `(primals, cotangents) -> (results, gradients)` of a Python function; `primals` is a tuple."""
    from xdsl_rlx import tree_functions

    return tree_functions.vjp(graph)


def _gradient(wrt: Sequence[str] | str, zero_missing_wrt: bool, loss: bool) -> list[ModulePass]:
    grad_pass = MirGradPass(wrt=_names(wrt), zero_missing_wrt=zero_missing_wrt, loss=loss)
    return [*_prepared(), grad_pass]


@overload
def jvp(graph: AnyGraph, tangent_for: Sequence[str] | str) -> GraphModule: ...
@overload
def jvp(graph: Callable[..., Any]) -> Callable[..., Any]: ...
@of_functions
@checked
def jvp(graph: AnyGraph, tangent_for: Sequence[str] | str) -> GraphModule:
    """
    Outputs of `graph`, then a tangent for each: its derivative along the tangents of the arguments named.

    Each of these has the new input `tangent_<name>`, in that order, after the other arguments. A tangent that does
    not depend on them is zeros.
    """
    return run_passes(above_lir(graph, "jvp"), [*_prepared(reverse=False), MirJvpPass(_names(tangent_for))])


@overload
def hvp(graph: AnyGraph, wrt: Sequence[str] | str, zero_missing_wrt: bool = False) -> GraphModule: ...
@overload
def hvp(graph: Callable[..., Any], argnums: int | str = 0) -> Callable[..., Any]: ...
@of_functions
@checked
def hvp(graph: AnyGraph, wrt: Sequence[str] | str, zero_missing_wrt: bool = False) -> GraphModule:
    """
    Forward mode over `grad_with_loss`: outputs and gradients, then the tangent of each.

    For one output these are `[loss, gradients.., d loss(v), H v..]`, with the vector `v` in the inputs
    `tangent_<name>` of the arguments named, and `H` the Hessian of the loss in all of them together.
    """
    return run_passes(above_lir(graph, "hvp"), [*_prepared(), MirHvpPass(_names(wrt), zero_missing_wrt)])


@checked
def nth_order_grad(graph: AnyGraph, wrt: str, order: int = 2) -> GraphModule:
    """
    The gradient of the gradient, and so on, `order` times: repeated reverse mode, one output of the shape of `wrt`.

    Each order is the vector-Jacobian product of the one before with a new input: `d_output`, `d_output_2`, ... in this
    order, ones where a caller leaves them out. So a scalar function of a scalar gets its n-th derivative, an
    elementwise one that of each element, and `d_output_2=v` gives a Hessian times `v`. Order 0 is `graph` in mir.
    Zeros where the gradient of a lower order does not depend on `wrt` any more.
    """
    if order < 0:
        raise GraphError(f"order is a number of derivatives, got {order}")
    passes: list[ModulePass] = [_lowering("fusable")]
    for number in range(order):
        passes += [MirPrepareForAdPass(), MirGradPass((wrt,), zero_missing_wrt=number > 0, loss=False)]
        # Gradients repeat much of what they are of: shared before it is differentiated again.
        passes += [CanonicalizePass(), CommonSubexpressionElimination(), DeadCodeElimination()]
    return run_passes(above_lir(graph, "nth_order_grad"), passes)


@overload
def vmap(
    graph: AnyGraph, inputs: Sequence[str] | str, size: int, in_axes: int | Mapping[str, int] = 0
) -> GraphModule: ...
@overload
def vmap(graph: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]: ...
@of_functions
@checked
def vmap(graph: AnyGraph, inputs: Sequence[str] | str, size: int, in_axes: int | Mapping[str, int] = 0) -> GraphModule:
    """
    `graph` for a batch: the arguments named get a new axis of extent `size`, and so does every output, in front.

    `in_axes` says where the new axis is, for all or by name (0 for those left out); -1 is behind all others. Arguments
    that are not named are the same for all examples. Params can be named too.
    """
    names = _names(inputs)
    if size < 0:
        raise GraphError(f"size is the extent of the new axis, got {size}")
    if isinstance(in_axes, Mapping):
        if unknown := [name for name in in_axes if name not in names]:
            raise GraphError(f"in_axes names '{unknown[0]}', which is not batched; those are {', '.join(names)}")
        axes = tuple(in_axes.get(name, 0) for name in names)
    else:
        axes = (in_axes,) * len(names)
    if any(isinstance(axis, bool) or not hasattr(axis, "__index__") for axis in axes):
        raise GraphError(f"in_axes is a position of the new axis, or one by name, got {in_axes!r}")
    batch = MirVmapPass(names, size, axes if any(axes) else ())
    return run_passes(above_lir(graph, "vmap"), [_lowering("direct"), MirEmitVjpPass(), batch])


class Jacobians(GraphModule):
    """
    A graph that gives Jacobians, for other transformations to take, and a function of its arguments.

    The first call compiles it; `compiled` is what the calls run.
    """

    @cached_property
    def compiled(self) -> CompiledGraph:
        """The graph as `compile` makes it."""
        return compile(self)

    def __call__(self, /, *args: object, **kwargs: object) -> tuple[np.ndarray[Any, Any], ...]:
        return self.compiled(*args, **kwargs)


@overload
def jacfwd(graph: AnyGraph, wrt: Sequence[str] | str) -> Jacobians: ...
@overload
def jacfwd(graph: CompiledGraph, wrt: str) -> Callable[..., tuple[np.ndarray[Any, Any], ...]]: ...
@overload
def jacfwd(graph: Callable[..., Any], argnums: Which = 0) -> Callable[..., Any]: ...
@of_functions
@checked
def jacfwd(
    graph: AnyGraph | CompiledGraph, wrt: Sequence[str] | str
) -> Callable[..., tuple[np.ndarray[Any, Any], ...]]:
    """
    The Jacobians of all outputs by the arguments named, as a graph of the arguments of `graph` that can be called.

    Each has the shape of the output followed by that of the argument: element `[i.., j..]` is the derivative of element
    `[i..]` of the output by element `[j..]` of the argument. Those of the first output come first, in the order of
    `wrt`. One program computes all columns at once; it keeps a tangent of every value that depends on `wrt` for each
    element of `wrt`. What was compiled from `rlx.jvp` for one argument is run once per column instead.
    """
    from xdsl_rlx.lowering.numba.runtime.compiled_graph import CompiledGraph

    if isinstance(graph, CompiledGraph):
        from xdsl_rlx.jacobian import by_columns

        return by_columns(graph, wrt)
    return _jacobians(graph, "jacfwd", [*_prepared(reverse=False), MirJacfwdPass(_names(wrt))])


@overload
def jacrev(graph: AnyGraph, wrt: Sequence[str] | str) -> Jacobians: ...
@overload
def jacrev(graph: Callable[..., Any], argnums: Which = 0) -> Callable[..., Any]: ...
@of_functions
@checked
def jacrev(graph: AnyGraph, wrt: Sequence[str] | str) -> Jacobians:
    """
    What `jacfwd` gives, by reverse mode: all rows at once, with a cotangent of every value for each element of the
    outputs. Less work where the outputs have fewer elements than the arguments.
    """
    return _jacobians(graph, "jacrev", [*_prepared(), MirJacrevPass(_names(wrt))])


@overload
def hessian(graph: AnyGraph, wrt: Sequence[str] | str) -> Jacobians: ...
@overload
def hessian(graph: Callable[..., Any], argnums: Which = 0) -> Callable[..., Any]: ...
@of_functions
@checked
def hessian(graph: AnyGraph, wrt: Sequence[str] | str) -> Jacobians:
    """
    The second derivatives of all outputs by the arguments named: `jacfwd` of `jacrev`.

    Each has the shape of the output, then that of one argument, then that of another. Those of the first output come
    first; of these, those by the first argument, and then by each.
    """
    # what rows repeat is shared before it is differentiated again
    shared = [CanonicalizePass(), CommonSubexpressionElimination(), DeadCodeElimination()]
    names = _names(wrt)
    return _jacobians(graph, "hessian", [*_prepared(), MirJacrevPass(names), *shared, MirJacfwdPass(names)])


def _jacobians(graph: AnyGraph, what: str, passes: Sequence[ModulePass]) -> Jacobians:
    found = run_passes(above_lir(graph, what), passes)
    return Jacobians(found.pending or found.module, found.stage)


@checked
def select_outputs(graph: AnyGraph, outputs: int | Sequence[int]) -> GraphModule:
    """
    The graph with some of its outputs only, by number, in that order; -1 is the last. The arguments stay.

    So a derivative is of the output that it is wanted of, and gives the results that are wanted: what the others need
    is not computed.
    """
    source = above_lir(graph, "select_outputs")
    count = len(source.signature.outputs)
    numbers = integers("outputs", outputs)
    if wrong := [number for number in numbers if not -count <= number < count]:
        raise GraphIndexError(f"'{source.name}' has {count} outputs, there is none of number {wrong[0]}")
    passes = [MirSelectOutputsPass(tuple(number % count for number in numbers)), DeadCodeElimination()]
    return run_passes(source, passes)


def _prepared(reverse: bool = True) -> list[ModulePass]:
    return [_lowering("fusable"), MirPrepareForAdPass(reverse)]


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
    """GraphError that lists what `fusion_report` has missed in the graph, and why; nothing if that is nothing."""
    report = fusion_report(graph)
    if report.missed:
        lines = "".join(f"\n  {miss}" for miss in report.missed)
        raise GraphError(f"{len(report.missed)} composite ops were missed in '{as_graph_module(graph).name}':{lines}")


@checked
def lower(graph: AnyGraph, threads: int = 1) -> GraphModule:
    """The graph as a planned `lir` program, cut up for `threads` threads, as `compile` has it for its processor."""
    from xdsl_rlx.lowering.numba.machine import cpu
    from xdsl_rlx.lowering.numba.machine.llvm import target

    source = as_graph_module(graph)
    return run_passes(source, remaining_passes(source.module, threads, cpu.registers(target())))


@overload
def compile(
    graph: AnyGraph,
    threads: SupportsIndex | None = None,
    backend: Literal["llvm", "numba"] = "llvm",
    donate: Mapping[str, SupportsIndex] | None = None,
    weights: Weights | None = None,
    memory_budget: SupportsIndex | None = None,
) -> CompiledGraph: ...
@overload
def compile(
    graph: Callable[..., Any],
    static: str | int | Sequence[str | int] = (),
    donate: Mapping[str, int] | None = None,
    *,
    threads: SupportsIndex | None = None,
    backend: Literal["llvm", "numba"] = "llvm",
    memory_budget: SupportsIndex | None = None,
) -> CompiledFunction: ...
@of_functions
@checked
def compile(
    graph: AnyGraph,
    threads: SupportsIndex | None = None,
    backend: Literal["llvm", "numba"] = "llvm",
    donate: Mapping[str, SupportsIndex] | None = None,
    weights: Weights | None = None,
    memory_budget: SupportsIndex | None = None,
) -> CompiledGraph:
    """
    Compile a graph at any stage into a callable on NumPy arrays, or a Python function of trees of arrays.

    A function is traced and compiled for each signature that it is called with: `static` names the arguments, or their
    positions, whose values belong to that, and `donate` gives the number of the result that is written over an
    argument, which then is the same arrays. What follows is of graphs.

    `threads` are at most used by a call: by default those of XDSL_RLX_NUM_THREADS, else one per available core. What
    was compiled before, in any process, comes from the cache on disk. With the backend "numba" the kernels that
    `numba_source` prints are compiled by Numba; calls, threads and cache are the same.

    `donate` maps names of arguments to numbers of outputs of the same type, which are written over them: a param so
    updated has its new value in the next call, an array given for an input is overwritten, and calls return the other
    outputs only; one that is interrupted, or that a check ends, may have updated some. The values of params are kept in
    `weights`, which several graphs may share.

    `memory_budget` is how many bytes the arena, which holds all that is neither argument nor result, takes at most:
    what waits in memory for a backward pass is computed again there, as little as will do.

    GraphError for another backend, for a graph that cannot be lowered, for an output that cannot take the place of an
    argument, because what it is computed from, or another output, needs that argument later, and for a budget that
    cannot be kept, which says what the least is.
    """
    from xdsl_rlx.lowering.numba.runtime.compile_module import Backend, compile_source
    from xdsl_rlx.lowering.numba.runtime.weights import Weights

    if backend not in list(Backend):
        raise GraphError(f"backend is one of {', '.join(map(repr, map(str, Backend)))}, got {backend!r}")
    if not isinstance(weights, Weights | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphTypeError(f"compile: weights: expected an rlx.Weights, which takes a dict, got {shown(weights)}")
    source = as_graph_module(graph)
    if found := donations(donate):
        passes = [MirDonatePass(tuple(found), tuple(found.values()))]
        source = run_passes(above_lir(source, "donate"), passes)
    if memory_budget is not None:
        source = _fitted(above_lir(source, "memory_budget"), memory_budget, threads)
    try:
        return compile_source(
            source.fingerprint, lambda: _verified(source.module), threads, backend=Backend(backend), weights=weights
        )
    except (PassFailedException, VerifyException) as error:
        raise GraphError(str(error)) from error


def donations(donate: Mapping[str, SupportsIndex] | None) -> dict[str, int]:
    """The numbers of results by the names of the arguments that they replace; GraphError for what is none."""
    given: Mapping[str, SupportsIndex] = {} if donate is None else donate
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphTypeError(f"donate: expected numbers of results by names of arguments, got {shown(donate)}")
    if strange := [name for name in given if not isinstance(name, str)]:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphTypeError(f"donate: expected the name of an argument, got {shown(strange[0])}")
    return dict(zip(given, integers("donate", tuple(given.values())), strict=True))


def _fitted(source: GraphModule, memory_budget: SupportsIndex, threads: SupportsIndex | None) -> GraphModule:
    from xdsl_rlx.lowering.mir_fit_memory import MirFitMemoryPass
    from xdsl_rlx.lowering.numba.driver.process import thread_count
    from xdsl_rlx.lowering.numba.machine import cpu
    from xdsl_rlx.lowering.numba.machine.llvm import target

    (budget,) = integers("memory_budget", (memory_budget,))
    registers = cpu.registers(target())
    fit = MirFitMemoryPass(budget, thread_count(threads), registers.lanes, registers.count)
    return run_passes(source, [_lowering("direct"), fit])


@checked
def compile_training(
    graph: AnyGraph,
    wrt: Sequence[str] | str = (),
    zero_missing_wrt: bool = False,
    threads: SupportsIndex | None = None,
    backend: Literal["llvm", "numba"] = "llvm",
    memory_budget: SupportsIndex | None = None,
) -> TrainingProgram:
    """
    The outputs of a graph and the gradients of the first one, as programs on one store of weights.

    `wrt` and `zero_missing_wrt` are those of `grad_with_loss`, `threads` and `backend` those of `compile`. `step` is
    one program for both; `forward` and `backward` are two, between which those values are kept that are cheaper to keep
    than to compute again. `memory_budget` is that of the arena of `step`. GraphError as of `grad_with_loss` and
    `compile`.
    """
    from xdsl_rlx.lowering.numba.driver.process import thread_count
    from xdsl_rlx.lowering.numba.runtime.build_program import spec_of
    from xdsl_rlx.lowering.numba.runtime.weights import Weights
    from xdsl_rlx.training import TrainingGraphs, TrainingProgram

    joint = grad_with_loss(above_lir(graph, "compile_training"), wrt, zero_missing_wrt)
    halves = [run_passes(joint, [MirPartitionPass(part)]) for part in Part]
    step = joint if memory_budget is None else _fitted(joint, memory_budget, threads)
    weights = Weights()
    for argument in joint.signature.arguments:
        if argument.kind == "param":
            weights.declare(spec_of(argument.name, argument.value))
    return TrainingProgram(
        TrainingGraphs(step, *halves),
        weights,
        lambda graph: compile(graph, threads, backend, weights=weights),
        lambda graph: lower(graph, thread_count(threads)),
        fusion_report,
    )


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


def _names(wrt: Sequence[str] | str) -> tuple[str, ...]:
    return (wrt,) if isinstance(wrt, str) else tuple(wrt)


def _lowering(fusion_policy: str) -> ModulePass:
    try:
        return ConvertHirToMirPass(fusion_policy)
    except ValueError as error:
        raise GraphError(str(error)) from None


def above_lir(graph: AnyGraph, what: str) -> GraphModule:
    """A graph at stage hir or mir; GraphError, in the name of the function `what`, for one at lir."""
    source = as_graph_module(graph)
    if source.stage == "lir":
        raise GraphError(f"{what} takes a graph at stage hir or mir, '{source.name}' is at lir")
    return source
