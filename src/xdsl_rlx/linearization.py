"""`linearize`, `linear_transpose` and `eval_shape`: linear maps and shapes of functions of trees, as in JAX."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

import xdsl_rlx.derivatives as on_graphs
from xdsl_rlx.binding import parameters_of
from xdsl_rlx.builder import GraphModule
from xdsl_rlx.compiled_function import run_graph
from xdsl_rlx.dialects.calls import checked
from xdsl_rlx.dialects.constants import NAMED, numpy_type
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.dialects.shapes import COMPLEXES, FLOATS, element_of, integers
from xdsl_rlx.lowering.pipelines import SIMPLIFY
from xdsl_rlx.passes import derived
from xdsl_rlx.static_keys import is_static_leaf
from xdsl_rlx.tracing import TracedArgument, builder_of, name_of, traced, type_of
from xdsl_rlx.transforms.dead_ops import remove_dead
from xdsl_rlx.transforms.signature import graph_of
from xdsl_rlx.tree import Tree, flatten, leaves_like, paths, unflatten
from xdsl_rlx.tree_functions import check_like, vjp

__all__ = ["ShapeDtypeStruct", "eval_shape", "linear_transpose", "linearize"]


class ShapeDtypeStruct:
    """
    The shape and the element type of an array without its numbers; as `jax.ShapeDtypeStruct`.

    `dtype` is a NumPy dtype, or its name here or in NumPy. It stands for an array among the arguments of `rlx.trace`,
    `rlx.eval_shape` and `rlx.linear_transpose`.
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: int | Sequence[int], dtype: Any):
        self.shape = integers("ShapeDtypeStruct", shape)
        if any(extent < 0 for extent in self.shape):
            raise GraphError(f"ShapeDtypeStruct: shape: expected extents of at least 0, got {list(self.shape)}")
        self.dtype: np.dtype[Any] = np.dtype(numpy_type(dtype))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype})"


@checked
def eval_shape(fun: Callable[..., Tree], /, *args: Tree, **kwargs: Tree) -> Tree:
    """
    Return the tree of results of `fun` with a `ShapeDtypeStruct` for each array; nothing is compiled or computed.

    The arguments are trees of arrays, numbers and `ShapeDtypeStruct`; others are passed on as they are. As
    `jax.eval_shape`.
    """
    parameters = parameters_of(fun)
    found = traced(parameters, parameters.bind(args, kwargs), name_of(fun), builder_of(args, kwargs))
    return found.unflatten([_struct(value) for value in found.graph.interface.outputs])


def _struct(type_: Any) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(type_.get_shape(), NAMED[type_.get_element_type()])


@checked
def linearize(fun: Callable[..., Tree], /, *primals: Tree) -> tuple[Tree, Callable[..., Tree]]:
    """
    Return `(fun(*primals), f_jvp)`, where `f_jvp(*tangents)` is the tangent of the results; as `jax.linearize`.

    All that depends on `primals` alone is computed once, and its values are kept; a call of `f_jvp` computes the linear
    part. Tangents have the trees and shapes of the primals. Tangents of leaves that are neither floating-point nor
    complex are ignored. Raises GraphError for primals without floating-point leaves, and for tangents of other shapes.
    """
    parameters, name = parameters_of(fun), name_of(fun)
    builder = builder_of(primals)
    made = traced(parameters, parameters.bind(primals, {}), name, builder)
    types = {one.name: one.value.type for one in made.graph.interface.arguments}
    wrt = [n for one in made.arguments for n in one.inputs if n and element_of(types[n]) in (*FLOATS, *COMPLEXES)]
    if not wrt:
        raise GraphError(f"linearize: expected a floating-point argument of '{name}' to differentiate by, got none")
    along = on_graphs.jvp(made.graph, wrt)
    tangents = {one.tangent_of: one.name for one in along.interface.arguments if one.tangent_of in wrt}
    known, linear, residuals = _split(along, list(tangents.values()), made.count)
    found = _run(known, made.inputs(), builder)
    kept = dict(zip(residuals, found[made.count :], strict=True))

    def f_jvp(*given: Tree) -> Tree:
        operands = dict(kept)
        if len(given) != len(made.arguments):
            raise GraphError(f"linearize: expected {len(made.arguments)} tangents for '{name}', got {len(given)}")
        for number, (one, tree) in enumerate(zip(made.arguments, given, strict=True)):
            for input_name, leaf in _leaves(one, tree, f"tangents[{number}]").items():
                if input_name in tangents:
                    operands[tangents[input_name]] = leaf
        return made.unflatten(_run(linear, operands, builder_of(given, kept)))

    return made.unflatten(found[: made.count]), f_jvp


def _leaves(argument: TracedArgument, tree: Tree, what: str) -> dict[str, Any]:
    """The leaves of a tree like an argument, by the inputs of that one."""
    leaves = leaves_like(argument.spec, tree, what, f"argument {argument.argument.name}")
    found = dict[str, Any]()
    for name, leaf, primal, place in zip(argument.inputs, leaves, argument.leaves, paths(argument.spec), strict=True):
        if name is not None and leaf is not None:
            kind = type_of(primal, place)[0]
            found[name] = check_like(primal, leaf, f"{what}{place}") if kind in (*FLOATS, *COMPLEXES) else leaf
    return found


def _split(graph: GraphModule, tangents: Sequence[str], count: int) -> tuple[GraphModule, GraphModule, list[str]]:
    """
    Split a graph of `count` results and their tangents into what does not depend on tangents, and what does.

    The first graph returns the results and the residuals, the values of it that the second one reads. The second graph
    has the tangents and the residuals as inputs, whose names are the last result.
    """
    module = _shared(graph).module
    first = module.clone()
    signature = graph_of(first, "linearize")
    moved: set[SSAValue] = {one.value for one in signature.arguments if one.name in tangents}
    read = dict[SSAValue, None]()
    for op in list(signature.block.ops):
        operands = [x for inner in op.walk() for x in inner.operands]
        last = op is signature.block.last_op
        if last or any(x in moved for x in operands):
            moved |= set(op.results)
            read |= dict.fromkeys(operands[count:] if last else operands)
    # a constant is in both graphs
    values = [
        x
        for x in read
        if x not in moved and x.owner in (signature.block, *signature.block.ops) and getattr(x.owner, "operands", True)
    ]
    second_of = dict[SSAValue, SSAValue]()
    second = first.clone(second_of)
    linear = graph_of(second, "linearize")
    inputs = [one.name for one in linear.arguments if one.name not in tangents]
    names = list[str]()
    for number, value in enumerate(values):
        argument = linear.add_input(f"residual_{number}", value.type)
        second_of[value].replace_all_uses_with(argument)
        names.append(linear.arguments[-1].name)
    linear.set_outputs(linear.outputs[count:])
    signature.set_outputs([*signature.outputs[:count], *values])
    for one, which, unused in ((first, signature, tangents), (second, linear, inputs)):
        remove_dead(one.body)
        which.drop_unused(unused)
        one.verify()
    return GraphModule(first, "mir"), GraphModule(second, "mir"), names


def _shared(graph: GraphModule) -> GraphModule:
    return derived(graph, SIMPLIFY)


def _run(graph: GraphModule, operands: Mapping[str, Any], builder: MirBuilder | None) -> Sequence[Any]:
    """The results of a graph, built into the graph that is being traced or compiled and run."""
    arguments = graph.interface.arguments
    if builder is None:
        return run_graph(graph, {one.name: _array(operands[one.name], one.value.type) for one in arguments})
    found = [
        x if isinstance(x := operands[one.name], Value) else builder.constant(x, element_of(one.value))
        for one in arguments
    ]
    return builder.inline(graph, *found)  # pyright: ignore[reportAttributeAccessIssue]


def _array(x: Any, type_: Any) -> np.ndarray[Any, Any]:
    return np.asarray(x, _struct(type_).dtype)


@checked
def linear_transpose(fun: Callable[..., Tree], /, *primals: Tree) -> Callable[..., tuple[Tree, ...]]:
    """
    Return the transpose of a linear function: `cotangents of the results -> (a cotangent for each argument, ..)`.

    As `jax.linear_transpose`: `sum(y * fun(x)) = sum(transpose(y)[0] * x)` for all `x` and `y`, without conjugates.
    Only the shapes and element types of `primals` count, which may be `ShapeDtypeStruct`. Of an affine function it is
    the transpose of the linear part. Raises GraphError for a function that is not affine, and for arguments that are
    not floating-point.
    """
    name, outer = name_of(fun), builder_of(primals)
    given = _zeros(primals)
    results = eval_shape(fun, *given)
    if any(np.dtype(leaf.dtype).kind in "biu" for leaf in flatten(given)[0] if hasattr(leaf, "dtype")):
        raise GraphError(f"linear_transpose: expected floating-point arguments of '{name}'; fix the others in a lambda")

    def pulled(inputs: Tree, cotangents: Tree) -> Tree:
        return _conjugates(vjp(fun)(inputs, _conjugates(cotangents))[1])

    parameters = parameters_of(pulled)
    made = traced(parameters, (given, _zeros(results)), name, outer)
    module = _shared(made.graph).module.clone()
    signature = graph_of(module, "linear_transpose")
    inputs = [n for n in made.arguments[0].inputs if n is not None]
    signature.drop_unused(inputs)
    if left := [one.name for one in signature.arguments if one.name in inputs]:
        place = dict(zip(made.arguments[0].inputs, paths(made.arguments[0].spec), strict=True))[left[0]]
        raise GraphError(
            f"linear_transpose: expected a linear function, but the derivative of '{name}' depends on "
            f"primals{place}; use rlx.vjp"
        )
    graph = GraphModule(module, "mir")

    def transposed(cotangents: Tree) -> tuple[Tree, ...]:
        leaves = _leaves(made.arguments[1], cotangents, "cotangents")
        return made.unflatten(_run(graph, {**made.captured, **leaves}, builder_of(cotangents, made.captured)))

    return transposed


def _zeros(tree: Tree) -> Tree:
    """Arrays of zeros, of one number each, like the leaves of a tree."""
    leaves, spec = flatten(tree)
    return unflatten(spec, [_zero(leaf, place) for leaf, place in zip(leaves, paths(spec), strict=True)])


def _zero(leaf: Any, place: str) -> Any:
    if is_static_leaf(leaf):
        return leaf
    element, shape, _ = type_of(leaf, place)
    return np.broadcast_to(np.zeros((), NAMED[element]), shape)


def _conjugates(tree: Tree) -> Tree:
    leaves, spec = flatten(tree)
    return unflatten(
        spec, [np.conj(x) if isinstance(x, Value) and element_of(x.ssa) in COMPLEXES else x for x in leaves]
    )
