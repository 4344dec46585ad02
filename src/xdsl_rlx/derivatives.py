"""Derivatives and batches of graphs, as graphs: each is passes on a copy. Those of Python functions of trees are in
`tree_functions.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from xdsl_rlx.builder import AnyGraph, GraphModule
from xdsl_rlx.compiling import compile
from xdsl_rlx.dialects.calls import checked
from xdsl_rlx.dialects.errors import GraphError, GraphIndexError
from xdsl_rlx.dialects.shapes import integers
from xdsl_rlx.dispatch import of_functions
from xdsl_rlx.lowering.mir_prepare_for_ad import MirPrepareForAdPass
from xdsl_rlx.lowering.pipelines import gradient_passes, prepared_for_ad, tangent_passes
from xdsl_rlx.passes import above_lir, hir_lowering, run_passes
from xdsl_rlx.transforms.mir_emit_vjp import MirEmitVjpPass
from xdsl_rlx.transforms.mir_grad import MirGradPass
from xdsl_rlx.transforms.mir_hvp import MirHvpPass
from xdsl_rlx.transforms.mir_jacfwd import MirJacfwdPass
from xdsl_rlx.transforms.mir_jacrev import MirJacrevPass
from xdsl_rlx.transforms.mir_select_outputs import MirSelectOutputsPass
from xdsl_rlx.transforms.mir_vmap import MirVmapPass

if TYPE_CHECKING:
    import numpy as np

    from xdsl_rlx.lowering.numba.runtime.compiled_graph import CompiledGraph
    from xdsl_rlx.tree_functions import Which


@checked
def prepare_for_ad(graph: AnyGraph) -> GraphModule:
    """The graph in `mir`, in ops that have derivatives."""
    return run_passes(above_lir(graph, "prepare_for_ad"), prepared_for_ad())


@checked
def grad_with_loss(graph: AnyGraph, wrt: Sequence[str] | str = (), zero_missing_wrt: bool = False) -> GraphModule:
    """
    Outputs of `graph`, then the gradients of its first one with respect to the arguments named, in that order.

    Without names: of every floating-point param. The new input `d_output` is the cotangent of the first output and is
    ones where a caller leaves it out. An argument that the first output does not depend on is a GraphError, or gets
    zeros with `zero_missing_wrt`.
    """
    return run_passes(above_lir(graph, "grad"), gradient_passes(_names(wrt), zero_missing_wrt, True))


@overload
def grad(graph: AnyGraph, wrt: Sequence[str] | str = (), zero_missing_wrt: bool = False) -> GraphModule: ...
@overload
def grad(graph: Callable[..., Any], argnums: Which = 0, has_aux: bool = False) -> Callable[..., Any]: ...
@of_functions
@checked
def grad(graph: AnyGraph, wrt: Sequence[str] | str = (), zero_missing_wrt: bool = False) -> GraphModule:
    """As `grad_with_loss`, but the gradients alone."""
    return run_passes(above_lir(graph, "grad"), gradient_passes(_names(wrt), zero_missing_wrt, False))


def value_and_grad(graph: Callable[..., Any], argnums: Which = 0, has_aux: bool = False) -> Callable[..., Any]:
    """
    The function that returns what a Python function does, and its gradients by the arguments `argnums`, by position or
    name. That returns one real number, or with `has_aux` a pair of that and more. A graph has `grad_with_loss`.
    """
    if not callable(graph) or isinstance(graph, GraphModule):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphError("value_and_grad: expected a Python function, got a graph; use grad_with_loss")
    from xdsl_rlx import tree_functions

    return tree_functions.value_and_grad(graph, argnums, has_aux)


def vjp(graph: Callable[..., Any]) -> Callable[..., Any]:
    """The function `(primals, cotangents) -> (results, gradients)` of a Python function; `primals` is a tuple."""
    from xdsl_rlx import tree_functions

    return tree_functions.vjp(graph)


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
    return run_passes(above_lir(graph, "jvp"), tangent_passes(_names(tangent_for)))


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
    return run_passes(above_lir(graph, "hvp"), [*prepared_for_ad(), MirHvpPass(_names(wrt), zero_missing_wrt)])


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
        raise GraphError(f"order: expected an integer of at least 0, got {order}")
    passes: list[ModulePass] = [hir_lowering("fusable")]
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
        raise GraphError(f"size: expected a batch size of at least 0, got {size}")
    if isinstance(in_axes, Mapping):
        if unknown := [name for name in in_axes if name not in names]:
            raise GraphError(
                f"in_axes: '{unknown[0]}' is not a batched argument; batched arguments are {', '.join(names)}"
            )
        axes = tuple(in_axes.get(name, 0) for name in names)
    else:
        axes = (in_axes,) * len(names)
    if any(isinstance(axis, bool) or not hasattr(axis, "__index__") for axis in axes):
        raise GraphError(f"in_axes: expected an axis or a dict of axes by name, got {in_axes!r}")
    batch = MirVmapPass(names, size, axes if any(axes) else ())
    return run_passes(above_lir(graph, "vmap"), [hir_lowering("direct"), MirEmitVjpPass(), batch])


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
    return _jacobians(graph, "jacfwd", [*prepared_for_ad(reverse=False), MirJacfwdPass(_names(wrt))])


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
    return _jacobians(graph, "jacrev", [*prepared_for_ad(), MirJacrevPass(_names(wrt))])


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
    return _jacobians(graph, "hessian", [*prepared_for_ad(), MirJacrevPass(names), *shared, MirJacfwdPass(names)])


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
        raise GraphIndexError(f"'{source.name}' has {count} outputs, got output number {wrong[0]}")
    passes = [MirSelectOutputsPass(tuple(number % count for number in numbers)), DeadCodeElimination()]
    return run_passes(source, passes)


def _names(wrt: Sequence[str] | str) -> tuple[str, ...]:
    return (wrt,) if isinstance(wrt, str) else tuple(wrt)
