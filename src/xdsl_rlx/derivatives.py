"""
Derivatives and batches of graphs, as graphs: each runs passes on a copy.

`tree_functions.py` has the derivatives and batches of Python functions of trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast, overload

from xdsl.passes import ModulePass

from xdsl_rlx.builder import AnyGraph, Graph, GraphModule, tapped
from xdsl_rlx.compiling import compile
from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.errors import GraphError, GraphIndexError, GraphTypeError
from xdsl_rlx.dialects.mir.mir_builder import Value
from xdsl_rlx.dialects.shapes import integers
from xdsl_rlx.dispatch import of_functions
from xdsl_rlx.lowering.pipelines import SIMPLIFY, gradient_passes, prepared_for_ad, tangent_passes
from xdsl_rlx.lowering.prepare.mir_prepare_for_ad import MirPrepareForAdPass
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

    from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph
    from xdsl_rlx.tree_functions import Which


@checked
def prepare_for_ad(graph: AnyGraph) -> GraphModule:
    """Return the graph in `mir`, rewritten until every op on a differentiable path has a derivative rule."""
    return run_passes(above_lir(graph, "prepare_for_ad"), prepared_for_ad())


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
    return run_passes(source, gradient_passes(names, zero_missing_wrt, loss))


def _each(wrt: object) -> Sequence[str | Value]:
    """The names and values that `wrt` is, or consists of; GraphError for anything else."""
    several = isinstance(wrt, Iterable) and not isinstance(wrt, str | Value | Mapping)
    found: list[object] = list(cast("Iterable[object]", wrt)) if several else [wrt]
    for one in found:
        if not isinstance(one, str | Value):
            raise GraphTypeError(f"grad: wrt: expected names and values, got {shown(one)}")
    return cast("list[str | Value]", found)


@overload
def grad(
    graph: AnyGraph, wrt: Sequence[str | Value] | str | Value = (), zero_missing_wrt: bool = False
) -> GraphModule: ...
@overload
def grad(
    function: Callable[..., Any], /, argnums: Which = 0, has_aux: bool = False, reduce: str | None = None
) -> Callable[..., Any]: ...
@of_functions
@checked
def grad(graph: AnyGraph, wrt: Sequence[str | Value] | str | Value = (), zero_missing_wrt: bool = False) -> GraphModule:
    """Return a graph of the gradients of the first output alone, without the outputs; see `grad_with_loss`."""
    return _gradients(graph, wrt, zero_missing_wrt, False)


def value_and_grad(
    function: Callable[..., Any], argnums: Which = 0, has_aux: bool = False, reduce: str | None = None
) -> Callable[..., Any]:
    """
    Return a function that computes the value of a Python function and its gradients with respect to `argnums`.

    `argnums` selects arguments by position or name. The function returns one real number, or a pair `(loss, aux)` with
    `has_aux`. Use `grad_with_loss` for graphs.

    In a program of several processes, `reduce="mean"` or `"sum"` reduces the value and the gradients over all
    processes, as `rlx.distributed.all_reduce` does; `aux` stays that of each process. With one process it changes
    nothing.
    """
    if not callable(function) or isinstance(function, GraphModule):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphError("value_and_grad: expected a Python function, got a graph; use grad_with_loss")
    from xdsl_rlx import tree_functions

    return tree_functions.value_and_grad(function, argnums, has_aux, reduce)


def vjp(function: Callable[..., Any]) -> Callable[..., Any]:
    """
    Return the function `(primals, cotangents) -> (results, gradients)` of a Python function; `primals` is a tuple.
    """
    from xdsl_rlx import tree_functions

    return tree_functions.vjp(function)


@overload
def jvp(graph: AnyGraph, tangent_for: Sequence[str] | str) -> GraphModule: ...
@overload
def jvp(function: Callable[..., Any], /) -> Callable[..., Any]: ...
@of_functions
@checked
def jvp(graph: AnyGraph, tangent_for: Sequence[str] | str) -> GraphModule:
    """
    Return a graph that computes the outputs of `graph` and then the tangent of each output.

    The tangent of each named argument is a new input `tangent_<name>`. These inputs follow the other arguments, in the
    order of the names. The tangent of an output that does not depend on the named arguments is zero.
    """
    return run_passes(above_lir(graph, "jvp"), tangent_passes(_names(tangent_for)))


@overload
def hvp(graph: AnyGraph, wrt: Sequence[str] | str, zero_missing_wrt: bool = False) -> GraphModule: ...
@overload
def hvp(function: Callable[..., Any], /, argnums: Which = 0) -> Callable[..., Any]: ...
@of_functions
@checked
def hvp(graph: AnyGraph, wrt: Sequence[str] | str, zero_missing_wrt: bool = False) -> GraphModule:
    """
    Return a graph that computes Hessian-vector products, by forward mode over reverse mode.

    The outputs are those of `grad_with_loss`, then the tangent of each. For one output they are
    `[loss, gradients.., d loss(v), H v..]`. The vector `v` is passed in the inputs `tangent_<name>` of the named
    arguments. `H` is the Hessian of the loss with respect to all named arguments together.
    """
    return run_passes(above_lir(graph, "hvp"), [*prepared_for_ad(), MirHvpPass(_names(wrt), zero_missing_wrt)])


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
    return run_passes(above_lir(graph, "nth_order_grad"), passes)


@overload
def vmap(
    graph: AnyGraph, inputs: Sequence[str] | str, size: int, in_axes: int | Mapping[str, int] = 0
) -> GraphModule: ...
@overload
def vmap(function: Callable[..., Any], /, in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]: ...
@of_functions
@checked
def vmap(graph: AnyGraph, inputs: Sequence[str] | str, size: int, in_axes: int | Mapping[str, int] = 0) -> GraphModule:
    """
    Return `graph` for a batch of `size` examples.

    The named arguments have one more axis, of extent `size`. Every output has it as its first axis.

    `in_axes` is the position of the new axis, for all arguments or by name; the default is 0, and -1 is the last axis.
    Arguments that are not named are shared by all examples. Params can be named too.
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
    A graph of Jacobians that can be called, or passed to other transformations.

    The first call compiles it; `compiled` is the compiled graph that calls run.
    """

    @cached_property
    def compiled(self) -> CompiledGraph:
        """The compiled graph."""
        return compile(self)

    def __call__(self, /, *args: object, **kwargs: object) -> tuple[np.ndarray[Any, Any], ...]:
        return self.compiled(*args, **kwargs)


@overload
def jacfwd(graph: AnyGraph, wrt: Sequence[str] | str) -> Jacobians: ...
@overload
def jacfwd(graph: CompiledGraph, wrt: str) -> Callable[..., tuple[np.ndarray[Any, Any], ...]]: ...
@overload
def jacfwd(function: Callable[..., Any], /, argnums: Which = 0) -> Callable[..., Any]: ...
@of_functions
@checked
def jacfwd(
    graph: AnyGraph | CompiledGraph, wrt: Sequence[str] | str
) -> Callable[..., tuple[np.ndarray[Any, Any], ...]]:
    """
    Return the Jacobians of all outputs with respect to the named arguments, as a callable graph.

    Each Jacobian has the shape of the output followed by the shape of the argument: element `[i.., j..]` is the
    derivative of output element `[i..]` with respect to argument element `[j..]`. Jacobians are ordered by output, then
    by `wrt`. One program computes all columns at once. It stores, for each element of `wrt`, a tangent of every value
    that depends on `wrt`. A compiled `rlx.jvp` of one argument runs once per column instead.
    """
    from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph

    if isinstance(graph, CompiledGraph):
        from xdsl_rlx.jacobian_columns import by_columns

        return by_columns(graph, wrt)
    return _jacobians(graph, "jacfwd", [*prepared_for_ad(reverse=False), MirJacfwdPass(_names(wrt))])


@overload
def jacrev(graph: AnyGraph, wrt: Sequence[str] | str) -> Jacobians: ...
@overload
def jacrev(function: Callable[..., Any], /, argnums: Which = 0) -> Callable[..., Any]: ...
@of_functions
@checked
def jacrev(graph: AnyGraph, wrt: Sequence[str] | str) -> Jacobians:
    """
    Return the same Jacobians as `jacfwd`, computed in reverse mode, all rows at once.

    The program stores, for each element of the outputs, a cotangent of every value. It does less work than `jacfwd` if
    the outputs have fewer elements than the arguments.
    """
    return _jacobians(graph, "jacrev", [*prepared_for_ad(), MirJacrevPass(_names(wrt))])


@overload
def hessian(graph: AnyGraph, wrt: Sequence[str] | str) -> Jacobians: ...
@overload
def hessian(function: Callable[..., Any], /, argnums: Which = 0) -> Callable[..., Any]: ...
@of_functions
@checked
def hessian(graph: AnyGraph, wrt: Sequence[str] | str) -> Jacobians:
    """
    Return the second derivatives of all outputs with respect to the named arguments: `jacfwd` of `jacrev`.

    Each has the shape of the output, then of the first argument, then of the second. The results are ordered by output,
    then by first argument, then by second argument.
    """
    # what rows repeat is shared before it is differentiated again
    names = _names(wrt)
    return _jacobians(graph, "hessian", [*prepared_for_ad(), MirJacrevPass(names), *SIMPLIFY, MirJacfwdPass(names)])


def _jacobians(graph: AnyGraph, what: str, passes: Sequence[ModulePass]) -> Jacobians:
    found = run_passes(above_lir(graph, what), passes)
    return Jacobians(found.pending or found.module, found.stage)


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
    return run_passes(source, [MirSelectOutputsPass(tuple(number % count for number in numbers))])


def _names(wrt: Sequence[str] | str) -> tuple[str, ...]:
    return (wrt,) if isinstance(wrt, str) else tuple(wrt)
