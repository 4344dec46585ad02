"""
Derivatives and batches of graphs, as graphs: each runs passes on a copy.

`jacobians.py` has those that can be called. `tree_functions.py` has the derivatives and batches of Python functions of
trees. `api.py` calls the one or the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from xdsl.passes import ModulePass

from xdsl_rlx.builder import AnyGraph, Graph, GraphModule, tapped
from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.errors import GraphError, GraphIndexError, GraphTypeError
from xdsl_rlx.dialects.mir.mir_builder import Value
from xdsl_rlx.dialects.shapes import integers
from xdsl_rlx.lowering.pipelines import SIMPLIFY, gradient_passes, prepared_for_ad, tangent_passes
from xdsl_rlx.lowering.prepare.mir_prepare_for_ad import MirPrepareForAdPass
from xdsl_rlx.passes import above_lir, derived, hir_lowering
from xdsl_rlx.transforms.mir_emit_vjp import MirEmitVjpPass
from xdsl_rlx.transforms.mir_grad import MirGradPass
from xdsl_rlx.transforms.mir_hvp import MirHvpPass
from xdsl_rlx.transforms.mir_select_outputs import MirSelectOutputsPass
from xdsl_rlx.transforms.mir_vmap import MirVmapPass


@checked
def prepare_for_ad(graph: AnyGraph) -> GraphModule:
    """Return the graph in `mir`, rewritten until every op on a differentiable path has a derivative rule."""
    return derived(above_lir(graph, "prepare_for_ad"), prepared_for_ad())


@checked
def grad_with_loss(
    graph: AnyGraph, wrt: Sequence[str | Value] | str | Value = (), zero_missing_wrt: bool = False
) -> GraphModule:
    """
    Return a graph of the outputs of `graph`, then the gradients of the first output with respect to `wrt`, in that
    order.

    The default of `wrt` is every floating-point param. An intermediate value is named by `Graph.tap`, or passed itself:
    `wrt=["w", h]` for a value `h` of `graph`. Outputs after the first are returned unchanged and add nothing to the
    gradients; `select_outputs` makes another one the first.

    The new input `d_output` is the cotangent of the first output; it is optional, with ones as default. An argument
    that the first output does not depend on raises GraphError, or has a zero gradient with `zero_missing_wrt`.
    """
    return _gradients(graph, wrt, zero_missing_wrt, True)


def _gradients(graph: AnyGraph, wrt: object, zero_missing_wrt: bool, loss: bool) -> GraphModule:
    source = above_lir(graph, "grad")
    wanted = _each(wrt)
    if values := [one for one in wanted if isinstance(one, Value)]:
        if not isinstance(graph, Graph):
            raise GraphError(
                f"grad: wrt: a value belongs to a Graph that is being built; of the finished graph '{source.name}', "
                "name an argument, or a value that Graph.tap has named"
            )
        source, found = tapped(graph, values)
        rest = iter(found)
        wanted = [one if isinstance(one, str) else next(rest) for one in wanted]
    names = tuple(one for one in wanted if isinstance(one, str))
    return derived(source, gradient_passes(names, zero_missing_wrt, loss))


def _each(wrt: object) -> Sequence[str | Value]:
    """The names and values that `wrt` is, or consists of; GraphError for anything else."""
    several = isinstance(wrt, Iterable) and not isinstance(wrt, str | Value | Mapping)
    found: list[object] = list(cast("Iterable[object]", wrt)) if several else [wrt]
    for one in found:
        if not isinstance(one, str | Value):
            raise GraphTypeError(f"grad: wrt: expected names and values, got {shown(one)}")
    return cast("list[str | Value]", found)


def grad(graph: AnyGraph, wrt: Sequence[str | Value] | str | Value = (), zero_missing_wrt: bool = False) -> GraphModule:
    """Return a graph of the gradients of the first output alone, without the outputs; see `grad_with_loss`."""
    return _gradients(graph, wrt, zero_missing_wrt, False)


def jvp(graph: GraphModule, tangent_for: Sequence[str] | str) -> GraphModule:
    """
    Return a graph that computes the outputs of `graph` and then the tangent of each output.

    The tangent of each named argument is a new input `tangent_<name>`, behind the other inputs in the names' order.
    A call by position gives inputs before params, so tangents precede params there. The tangent of an
    output that does not depend on the named arguments is zero.
    """
    return derived(graph, tangent_passes(names_of(tangent_for)))


def hvp(graph: GraphModule, wrt: Sequence[str] | str, zero_missing_wrt: bool = False) -> GraphModule:
    """
    Return a graph that computes Hessian-vector products, by forward mode over reverse mode.

    The outputs are those of `grad_with_loss`, then the tangent of each. For one output they are
    `[loss, gradients.., d loss(v), H v..]`. The vector `v` is passed in the inputs `tangent_<name>` of the named
    arguments. `H` is the Hessian of the loss with respect to all named arguments together.
    """
    return derived(graph, [*prepared_for_ad(), MirHvpPass(names_of(wrt), zero_missing_wrt)])


@checked
def nth_order_grad(graph: AnyGraph, wrt: str, order: int = 2) -> GraphModule:
    """
    Return a graph of the derivative of order `order` in reverse mode, with one output of the shape of `wrt`.

    Each order adds a vector-Jacobian product of the result of the order before. Its vector is a new optional input,
    `d_output`, `d_output_2`, ..., with ones as default. A scalar function of a scalar thus gets its n-th derivative,
    and an elementwise function the n-th derivative of each element; `d_output_2=v` gives a Hessian-vector product.
    Order 0 is `graph` in mir. The result is zero where the gradient of a lower order no longer depends on `wrt`.
    """
    if order < 0:
        raise GraphError(f"order: expected an integer of at least 0, got {order}")
    passes: list[ModulePass] = [hir_lowering("fusable")]
    for number in range(order):
        passes += [MirPrepareForAdPass(), MirGradPass((wrt,), zero_missing_wrt=number > 0, loss=False)]
        # Gradients repeat much of what they are of: shared before it is differentiated again.
        passes += SIMPLIFY
    return derived(above_lir(graph, "nth_order_grad"), passes)


def vmap(
    graph: GraphModule, inputs: Sequence[str] | str, size: int, in_axes: int | Mapping[str, int] = 0
) -> GraphModule:
    """
    Return `graph` for a batch of `size` examples.

    The named arguments have one more axis, of extent `size`. Every output has it as its first axis.

    `in_axes` is the position of the new axis, for all arguments or by name; the default is 0, and -1 is the last axis.
    Arguments that are not named are shared by all examples. Params can be named too.
    """
    names = names_of(inputs)
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
    return derived(graph, [hir_lowering("direct"), MirEmitVjpPass(), batch])


@checked
def select_outputs(graph: AnyGraph, outputs: int | Sequence[int]) -> GraphModule:
    """
    Return the graph with the outputs at these indices only, in that order; -1 is the last. The arguments stay.

    Use it to differentiate an output other than the first, or to drop results. Ops that only the dropped outputs use
    are not computed.
    """
    source = above_lir(graph, "select_outputs")
    count = len(source.signature.outputs)
    numbers = integers("outputs", outputs)
    if wrong := [number for number in numbers if not -count <= number < count]:
        raise GraphIndexError(f"'{source.name}' has {count} outputs, got output number {wrong[0]}")
    return derived(source, [MirSelectOutputsPass(tuple(number % count for number in numbers))])


def names_of(wrt: Sequence[str] | str) -> tuple[str, ...]:
    """The names that an argument gives: one, or several."""
    return (wrt,) if isinstance(wrt, str) else tuple(wrt)
