"""The transformations of `derivatives.py` on Python functions of trees: each gives a function of trees back.

Called with values of a graph, such a function traces what it was made of, transforms that graph, and copies the result
into theirs. Called with arrays, it is compiled first. So there is one mechanism, and transformations nest.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import update_wrapper
from types import MethodType
from typing import Any, ParamSpec, TypeVar, overload

import numpy as np
import optree

import xdsl_rlx.derivatives as on_graphs
import xdsl_rlx.jacobians as graph_jacobians
from xdsl_rlx.binding import Argument, Function, Parameters, Place, Which, parameters_of
from xdsl_rlx.builder import GraphModule, is_graph
from xdsl_rlx.compiled_function import CompiledFunction, run_traced
from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, FLOATS, dims, element_of, shape_of
from xdsl_rlx.distributed import all_reduce
from xdsl_rlx.function_types import VjpFunction
from xdsl_rlx.static_keys import is_array_like, is_static_leaf
from xdsl_rlx.tracing import Mode, Modes, builder_of, name_of, traced
from xdsl_rlx.tree import NAMESPACE, Tree, flatten, leaves_like, paths, unflatten

__all__ = ["Which"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

Build = Callable[[MirBuilder, Sequence[Any]], Tree]
"""What builds a transformed function into a graph, from the values bound to its parameters."""


class TreeFunction:
    """
    A function on trees made from another one: built into the graph that is being traced, else compiled and run.

    Outside of a traced function it traces what it was made of at each call, so that what that reads beside its
    arguments counts as it is; `rlx.compile` traces once. It is a method where it is an attribute of a class.
    """

    def __init__(self, name: str, of: Function, build: Build, like: Parameters):
        """`like` are the parameters of a function that takes the same arguments. Raises GraphError for no function."""
        if not callable(of):
            raise GraphError(f"{name}: expected a Python function, got {shown(of)}")
        update_wrapper(self, of, ("__module__", "__doc__"), ())
        self.__name__ = self.__qualname__ = f"{name}_{name_of(of)}"
        self._build = build
        self.parameters = like.of(self.run)

    def __repr__(self) -> str:
        return f"<{self.__name__} of trees>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, /, *args: Tree, **kwargs: Tree) -> Tree:
        return self.run(self.parameters.bind(args, kwargs))

    def run(self, values: Sequence[Any]) -> Tree:
        """The results for values bound to its parameters."""
        builder = builder_of(values)
        if builder is not None:
            return self._build(builder, values)
        # a truth value chooses what is traced, in eager calls as in Python
        return run_traced(self.parameters, values, self.__name__, lambda _, leaf: not isinstance(leaf, bool | np.bool_))


def value_and_grad(
    function: Callable[_P, _R], argnums: Which = 0, has_aux: bool = False, reduce: str | None = None
) -> Callable[_P, tuple[_R, Any]]:
    """
    Return a function that computes the value of a Python function and its gradients with respect to `argnums`.

    `argnums` selects arguments by position or name. The function returns one real number, or a pair `(loss, aux)` with
    `has_aux`. A gradient has the tree of its argument, with None in place of strings and functions. The gradients are a
    tuple if `argnums` is a sequence. Use `grad_with_loss` for graphs.

    In a program of several processes, `reduce="mean"` or `"sum"` reduces the value and the gradients over all
    processes, as `rlx.distributed.all_reduce` does; `aux` stays that of each process. With one process it changes
    nothing.

    Raises GraphError for a graph, for a result that is not a real number, and for a leaf of these arguments that is not
    floating-point.
    """
    if is_graph(function):
        raise GraphError("value_and_grad: expected a Python function, got a graph; use grad_with_loss")
    _check_reduce("value_and_grad", reduce)
    return TreeFunction("value_and_grad", function, *_gradient(function, argnums, has_aux, reduce, with_value=True))


def grad(function: Function, argnums: Which = 0, has_aux: bool = False, reduce: str | None = None) -> TreeFunction:
    """
    Return a function that computes the gradients alone, or the pair `(gradients, aux)` with `has_aux`; see
    `value_and_grad`.
    """
    _check_reduce("grad", reduce)
    return TreeFunction("grad", function, *_gradient(function, argnums, has_aux, reduce, with_value=False))


def _check_reduce(name: str, reduce: object) -> None:
    if reduce is not None and (not isinstance(reduce, str) or reduce not in ("mean", "sum")):
        raise GraphError(
            f"{name}: reduce: expected 'mean', 'sum' or None, got {shown(reduce)}; "
            "rlx.distributed.all_reduce of its results has other reductions"
        )


def _gradient(
    function: Function, argnums: Which, has_aux: bool, reduce: str | None, with_value: bool
) -> tuple[Build, Parameters]:
    parameters = parameters_of(function)
    chosen = _Chosen(parameters, argnums)

    def build(builder: MirBuilder, values: Sequence[Any]) -> Tree:
        call = _Call(builder, function, parameters, values, chosen.places(values), (Mode.REVERSE,))
        results = _with_aux(call, has_aux)
        _check_loss(call, has_aux)
        wrt = call.floats()
        derived = on_graphs.grad_with_loss(call.traced.graph, wrt, zero_missing_wrt=True)
        found = call.inlined(derived, [1.0])
        count = call.traced.count
        grads = chosen.unflatten(call, dict(zip(wrt, found[count:], strict=True)))
        value, aux = results(found[:count])
        if reduce is not None:
            # the gradients alone where the value is not returned: nothing removes a collective op
            value, grads = all_reduce((value, grads), reduce) if with_value else (value, all_reduce(grads, reduce))
        if with_value:
            return ((value, aux) if has_aux else value), grads
        return (grads, aux) if has_aux else grads

    return build, parameters


def _with_aux(call: _Call, has_aux: bool) -> Callable[[Sequence[Value]], tuple[Tree, Tree]]:
    spec = call.traced.results
    if has_aux and (spec.type is not tuple or len(spec.children()) != 2):
        raise GraphError(f"has_aux=True: expected '{call.name}' to return a pair (loss, aux)")

    def results(outputs: Sequence[Value]) -> tuple[Tree, Tree]:
        found = call.traced.unflatten(outputs)
        return found if has_aux else (found, None)

    return results


def _check_loss(call: _Call, has_aux: bool) -> None:
    spec = call.traced.results
    loss = spec.children()[0] if has_aux else spec
    first = call.traced.graph.interface.outputs[0]
    expected = f"expected '{call.name}' to return one floating-point number to differentiate"
    if 0 in call.traced.fixed:
        raise GraphError(f"{expected}, got {shown(call.traced.fixed[0])}")
    if loss.num_leaves != 1 or shape_of(first) or element_of(first) not in FLOATS:
        found = f"{loss.num_leaves} arrays" if loss.num_leaves != 1 else f"{first}"
        if loss.num_leaves != 1:
            cure = "pass has_aux=True to return other values beside the loss"
        else:
            cure = "take its sum or mean" if shape_of(first) else "x.astype(np.float32) converts integers to floats"
        raise GraphError(f"{expected}, got {found}; {cure}")


def jvp(function: Function, primals: Any = None, tangents: Any = None) -> Any:
    """
    Return the function `(primals, tangents) -> (results, tangents of the results)`; both arguments are tuples.

    With `primals` and `tangents`, return the pair for these, as `jax.jvp` does. Tangents have the trees of the primals
    and the shapes of their leaves. Tangents of leaves that are neither floating-point nor complex are ignored.
    """
    parameters = parameters_of(function)

    def build(builder: MirBuilder, values: Sequence[Any]) -> Tree:
        primals, tangents = values
        bound = parameters.bind(_arguments("primals", primals), {})
        call = _Call(builder, function, parameters, bound, _given(parameters, bound), (Mode.FORWARD,))
        given = call.like_arguments(_arguments("tangents", tangents), "tangents")
        if not given:
            raise GraphError(f"'{call.name}' has no floating-point argument to differentiate by")
        found = call.inlined(on_graphs.jvp(call.traced.graph, list(given)), list(given.values()))
        count, (results, along) = call.traced.count, (call.traced, call.traced)
        return results.unflatten(found[:count]), along.unflatten(found[count:])

    made = TreeFunction("jvp", function, build, parameters_of(jvp_function))
    if primals is None and tangents is None:
        return made
    for name, given in (("primals", primals), ("tangents", tangents)):
        if given is None:
            raise GraphTypeError(f"jvp: missing {name}: write rlx.jvp(f, primals, tangents), or rlx.jvp(f)")
    return made(primals, tangents)


@overload
def vjp(function: Callable[..., _R], /) -> VjpFunction[_R]: ...
@overload
def vjp(function: Callable[..., _R], primal: Any, /, *primals: Any) -> tuple[_R, Callable[[Any], tuple[Any, ...]]]: ...
@checked
def vjp(function: Any, /, *primals: Any) -> Any:
    """
    Return the function `(primals, cotangents) -> (results, gradients)`, where gradients are weighted by `cotangents`.

    With primals, which are the arguments of `function`, return its results, and a function of cotangents that returns
    the tuple of gradients, as `jax.vjp` does. Its first call traces `function` again, and compiles it.

    `primals` is a tuple. Cotangents have the tree of the results and the shapes of their leaves. The gradient of a leaf
    that is neither floating-point nor complex is None. Cotangents and gradients of complex leaves are `dL/dx + i
    dL/dy`, as in PyTorch; JAX uses the conjugates.
    """
    parameters = parameters_of(function)

    def build(builder: MirBuilder, values: Sequence[Any]) -> Tree:
        primals, cotangents = values
        name = name_of(function)

        def weighted(primals: Tree, cotangents: Tree) -> Tree:
            results = parameters.call(parameters.bind(primals, {}))
            leaves, spec = flatten(results)
            weights = leaves_like(spec, cotangents, "cotangents", "the results")
            places = paths(spec)
            parts = [
                _weighted(leaf, check_like(leaf, weight, f"cotangents{place}"))
                for leaf, weight, place in zip(leaves, weights, places, strict=True)
                if _is_float(leaf)
            ]
            if not parts:
                raise GraphError(f"'{name}' returns no floating-point array")
            return sum(parts[1:], parts[0]), results

        inner = parameters_of(weighted)
        bound = (_arguments("primals", primals), cotangents)
        call = _Call(builder, weighted, inner, bound, [(0, None)], (Mode.REVERSE,))
        wrt = call.floats(others=True)
        found = call.inlined(on_graphs.grad_with_loss(call.traced.graph, wrt, zero_missing_wrt=True), [1.0])
        count = call.traced.count
        gradients = call.traced.arguments[0].unflatten(dict(zip(wrt, found[count:], strict=True)))
        return call.traced.unflatten(found[:count])[1], gradients

    made = TreeFunction("vjp", function, build, parameters_of(vjp_function))
    if not primals:
        return made
    # traced once for all calls, as for jax.vjp
    pulled = CompiledFunction(made)

    @checked
    def f_vjp(cotangents: Any) -> tuple[Any, ...]:
        return pulled(primals, cotangents)[1]

    return CompiledFunction(function)(*primals), f_vjp


def hvp(function: Function, argnums: Which = 0) -> TreeFunction:
    """
    Return the function `(primals, tangent) -> H v`, a Hessian-vector product.

    `H` is the Hessian with respect to the argument that `argnums` selects by position or name. The tangent `v` and the
    result have the tree structure of that argument. If `argnums` is a sequence, `H` is the Hessian with respect to all
    these arguments together, and both are a tuple of such trees.
    """
    parameters = parameters_of(function)
    chosen = _Chosen(parameters, argnums)

    def build(builder: MirBuilder, values: Sequence[Any]) -> Tree:
        primals, tangent = values
        bound = parameters.bind(_arguments("primals", primals), {})
        groups = chosen.places(bound)
        tangents = _arguments("tangent", tangent) if chosen.several else (tangent,)
        if len(tangents) != len(groups):
            raise GraphError(f"tangent: expected a tree for each of {len(groups)} arguments, got {len(tangents)}")
        arguments: list[Any] = []
        along: list[Tree] = []
        for places, one in zip(groups, tangents, strict=True):
            found = [each for each in parameters.arguments(bound) if (each.slot, each.key) in places]
            arguments += found
            along += [one] if len(found) == 1 else _arguments("tangent", one)

        def of_one(*given: Tree) -> Tree:
            return grad(function, argnums).run(parameters.replaced(bound, arguments, given))

        return jvp(of_one)(tuple(one.value for one in arguments), tuple(along))[1]

    return TreeFunction("hvp", function, build, parameters_of(hvp_function))


def jvp_function(primals: Sequence[Tree], tangents: Sequence[Tree]) -> None:
    """The parameters of `jvp`."""


def vjp_function(primals: Sequence[Tree], cotangents: Tree) -> None:
    """The parameters of `vjp`."""


def hvp_function(primals: Sequence[Tree], tangent: Tree) -> None:
    """The parameters of `hvp`."""


def vmap(function: Function, in_axes: Tree = 0, out_axes: Tree = 0) -> TreeFunction:
    """
    Return the function for a batch of examples.

    Leaves of mapped arguments and of results have one more axis than for one example.

    `in_axes` is the position of that axis in the arguments: one integer for all arguments, a tuple with an entry for
    each parameter, or a dict by name. An entry is an integer, None for an argument shared by all examples, or a tree of
    these. Keyword-only arguments are mapped along axis 0 unless a dict names them, as in JAX. `out_axes` is an integer
    or a tree of integers. Raises GraphError for mapped axes of different lengths.
    """
    parameters = parameters_of(function)

    def build(builder: MirBuilder, values: Sequence[Any]) -> Tree:
        arguments = parameters.arguments(values)
        named = _named_axes(in_axes, parameters, values) if isinstance(in_axes, Mapping) else None
        axes = [_axes_of(in_axes if named is None else named, parameters, one, values) for one in arguments]
        mapped = [n for n, of_one in enumerate(axes) if any(axis is not None for axis in of_one)]
        size = _batch([flatten(one.value)[0] for one in arguments], axes)
        inside: list[Tree] = []
        for number in mapped:
            leaves, spec = flatten(arguments[number].value)
            example = [_example(builder, leaf, axis) for leaf, axis in zip(leaves, axes[number], strict=True)]
            inside.append(unflatten(spec, example))
        chosen = [arguments[n] for n in mapped]
        bound = parameters.replaced(values, chosen, inside)
        call = _Call(builder, function, parameters, bound, [(one.slot, one.key) for one in chosen], ())
        names = {
            name: axis
            for one, of_one in zip(call.traced.arguments, axes, strict=True)
            for name, axis in zip(one.inputs, of_one, strict=True)
            if name is not None and axis is not None
        }
        call.give([flatten(one.value)[0] for one in arguments])
        found = call.inlined(on_graphs.vmap(call.traced.graph, list(names), size, names))
        every = call.traced.with_fixed(found)
        places = _axes_of_results(out_axes, unflatten(call.traced.results, every))
        moved = [v if is_static_leaf(v) else _moved(v, at) for v, at in zip(every, places, strict=True)]
        return unflatten(call.traced.results, moved)

    return TreeFunction("vmap", function, build, parameters)


def _axes_of(in_axes: Tree, parameters: Parameters, argument: Argument, values: Sequence[Any]) -> list[int | None]:
    """The axes of the leaves of an argument: None for what is the same for all examples."""
    position = parameters.position(argument)
    axis: Tree = 0
    if position is not None and position < 0:
        axis = None
    elif isinstance(in_axes, Mapping):
        axis = in_axes.get((argument.slot, argument.key), 0)
    elif isinstance(in_axes, tuple | list):
        count = parameters.positions(values)
        if count != len(in_axes):
            raise GraphError(f"in_axes: expected one entry for each of {count} arguments, got {len(in_axes)}")
        axis = 0 if position is None else in_axes[position]
    elif position is not None:
        axis = in_axes
    leaves = flatten(argument.value)[0]
    found = [axis] * len(leaves) if axis is None or isinstance(axis, int) else _prefix(axis, argument)
    if wrong := [one for one in found if one is not None and type(one) is not int]:
        raise GraphError(f"in_axes: expected integers or None, got {shown(wrong[0])}")
    return [None if is_static_leaf(leaf) else one for leaf, one in zip(leaves, found, strict=True)]


def _axes_of_results(out_axes: Tree, results: Tree) -> list[Any]:
    """The axes of the leaves of the results; GraphError unless they are integers in a prefix of the tree of these."""
    try:
        axes = optree.broadcast_prefix(out_axes, results, namespace=NAMESPACE)
    except ValueError as error:
        raise GraphError(
            f"out_axes: expected an integer, or a prefix of the tree of the results with one for each, got "
            f"{shown(out_axes)}: {error}"
        ) from None
    if wrong := [one for one in axes if not hasattr(one, "__index__")]:
        raise GraphError(f"out_axes: expected integers, got {shown(wrong[0])}")
    return axes


def _named_axes(in_axes: Mapping[str, Tree], parameters: Parameters, values: Sequence[Any]) -> dict[Place, Tree]:
    """Axes by the places of the arguments that they name."""
    found: dict[Place, Tree] = {}
    for name, axis in in_axes.items():
        parameters.check_known(name, "in_axes")
        found |= dict.fromkeys(parameters.places(values, name), axis)
    return found


def _prefix(axes: Tree, argument: Argument) -> list[Any]:
    try:
        return optree.broadcast_prefix(axes, argument.value, none_is_leaf=True, namespace=NAMESPACE)
    except ValueError as error:
        raise GraphError(f"in_axes of '{argument.name}' is not a prefix of its tree: {error}") from None


def _batch(leaves: Sequence[Sequence[Any]], axes: Sequence[Sequence[int | None]]) -> int:
    sizes: set[int] = set()
    pairs = [
        pair for of_leaves, of_axes in zip(leaves, axes, strict=True) for pair in zip(of_leaves, of_axes, strict=True)
    ]
    for leaf, axis in pairs:
        if axis is None:
            continue
        shape = leaf.shape if isinstance(leaf, Value) else getattr(leaf, "shape", ())
        if not -len(shape) <= axis < len(shape):
            raise GraphError(f"in_axes: axis {axis} is out of range for shape {dims(shape)}")
        sizes.add(shape[axis])
    if len(sizes) != 1:
        found = ", ".join(map(str, sorted(sizes))) or "none"
        raise GraphError(f"vmap: expected mapped axes of equal length, got {found}")
    return sizes.pop()


def _example(builder: MirBuilder, leaf: Any, axis: int | None) -> Any:
    """What a leaf is to one example: only its type matters."""
    if axis is None:
        return leaf
    value = builder.value(builder.operand(leaf))
    axis %= value.rank
    shape = [n for at, n in enumerate(value.shape) if at != axis]
    return builder.full(shape, 0, value.type.get_element_type())


def _moved(value: Value, axis: int) -> Value:
    if not -value.rank <= axis < value.rank:
        raise GraphError(f"out_axes: axis {axis} is out of range for a result of shape {dims(value.shape)}")
    order = list(range(1, value.rank))
    order.insert(axis % value.rank, 0)
    return value.b.transpose(value, order)


def jacfwd(function: Function, argnums: Which = 0) -> TreeFunction:
    """
    Return a function that computes the Jacobians of all results with respect to `argnums`, all columns at once.

    The result has the tree structure of the results of `function`. Each of its leaves is replaced by a tree of
    Jacobians with the structure of the argument, or by a tuple of trees if `argnums` is a sequence. A Jacobian has the
    shape of the result's leaf followed by the shape of the argument's leaf.
    """
    return _jacobian("jacfwd", function, argnums, graph_jacobians.jacfwd, (Mode.FORWARD,))


def jacrev(function: Function, argnums: Which = 0) -> TreeFunction:
    """Return a function that computes the same Jacobians as `jacfwd` in reverse mode, all rows at once."""
    return _jacobian("jacrev", function, argnums, graph_jacobians.jacrev, (Mode.REVERSE,))


def hessian(function: Function, argnums: Which = 0) -> TreeFunction:
    """
    Return a function that computes second derivatives, as `jacfwd` of `jacrev`.

    Each leaf of the results is replaced by a tree with the structure of the argument, whose leaves are such trees
    again.
    """
    return _jacobian("hessian", function, argnums, graph_jacobians.hessian, (Mode.REVERSE, Mode.FORWARD))


def _jacobian(
    name: str, function: Function, argnums: Which, derive: Callable[..., GraphModule], modes: Modes
) -> TreeFunction:
    parameters = parameters_of(function)
    chosen = _Chosen(parameters, argnums)

    def build(builder: MirBuilder, values: Sequence[Any]) -> Tree:
        call = _Call(builder, function, parameters, values, chosen.places(values), modes)
        wrt = call.floats()
        found = call.inlined(derive(call.traced.graph, wrt))

        def nested(left: Sequence[Value], depth: int) -> Tree:
            if not depth:
                return left[0]
            size = len(wrt) ** (depth - 1)
            parts = [nested(left[n * size : n * size + size], depth - 1) for n in range(len(wrt))]
            return chosen.unflatten(call, dict(zip(wrt, parts, strict=True)))

        order = len(modes)
        size = len(wrt) ** order
        return call.traced.unflatten(
            [nested(found[n * size : n * size + size], order) for n in range(call.traced.count)]
        )

    return TreeFunction(name, function, build, parameters)


class _Chosen:
    """Which arguments a derivative is by."""

    def __init__(self, parameters: Parameters, argnums: Which):
        self._parameters = parameters
        # as they are given to value_and_grad, whose arguments are not converted
        given: Any = argnums
        self.several = isinstance(given, Iterable) and not isinstance(given, str)
        every: list[Any] = [*given] if self.several else [given]
        self._which: tuple[int | str, ...] = tuple(int(x) if isinstance(x, np.integer) else x for x in every)
        if not self._which:
            raise GraphError("argnums: expected at least one argument, got none")
        for one in self._which:
            parameters.check_known(one, "argnums")

    def places(self, values: Sequence[Any]) -> list[list[Place]]:
        """Where the arguments are, for each one that was named; GraphError for one that there is not."""
        return [self._parameters.find(values, one, "argnums") for one in self._which]

    def unflatten(self, call: _Call, found: Mapping[str, Any]) -> Tree:
        """What was found for inputs, as the trees of the arguments: one, or a tuple if several may be named."""
        trees = [self._tree(call, one, found) for one in self._which]
        return tuple(trees) if self.several else trees[0]

    def _tree(self, call: _Call, which: int | str, found: Mapping[str, Any]) -> Tree:
        places = self._parameters.find(call.values, which, "argnums")
        trees = {
            one.argument.key: one.unflatten(found)
            for one in call.traced.arguments
            if (one.argument.slot, one.argument.key) in places
        }
        kind = self._parameters.kind_of_many(call.values, which)
        return trees if kind is dict else tuple(trees.values()) if kind is tuple else next(iter(trees.values()))


class _Call:
    """A function traced for a call in a graph, and how what was derived of it is put there."""

    def __init__(
        self,
        builder: MirBuilder,
        function: Function,
        parameters: Parameters,
        values: Sequence[Any],
        chosen: Sequence[Place] | Sequence[Sequence[Place]],
        modes: Modes,
    ):
        """
        `modes` says how the graph will be differentiated, and `chosen` are the places of the arguments that it is
        derived by. Of the others, Python's numbers are passed on as they are, as in JAX: they may be counts, or decide
        what is traced.
        """
        self.builder = builder
        self.name = name_of(function)
        self.values = values
        places: list[Any] = [one for some in chosen for one in ([some] if isinstance(some, tuple) else some)]
        arguments = parameters.arguments(values)
        self._chosen = [n for n, one in enumerate(arguments) if (one.slot, one.key) in places]

        def declares(number: int, leaf: Any) -> bool:
            return number in self._chosen or isinstance(leaf, Value) or is_array_like(leaf)

        self.traced = traced(parameters, values, self.name, builder, declares, modes=modes)
        self._operands = self.traced.inputs()

    def give(self, leaves: Sequence[Sequence[Any]]) -> None:
        """Have other leaves of the arguments for operands."""
        for one, own in zip(self.traced.arguments, leaves, strict=True):
            self._operands |= {name: x for name, x in zip(one.inputs, own, strict=True) if name is not None}

    def floats(self, others: bool = False) -> list[str]:
        """
        Inputs that the chosen arguments are; GraphError for one not of floats.

        With `others` those of complex numbers are among them, and the rest is left out.
        """
        types = {a.name: a.value.type for a in self.traced.graph.interface.arguments}
        found: list[str] = []
        for number in self._chosen:
            one = self.traced.arguments[number]
            for name, place in zip(one.inputs, paths(one.spec), strict=True):
                if name is not None and element_of(types[name]) in (*FLOATS, *(COMPLEXES if others else ())):
                    found.append(name)
                elif name is not None and not others:
                    raise GraphError(
                        f"the gradient of '{self.name}': expected floating-point arguments, got {types[name]} for "
                        f"{one.argument.name}{place}; convert it, or remove it from argnums"
                    )
        return found

    def like_arguments(self, trees: Sequence[Tree], what: str) -> dict[str, Any]:
        """The leaves of trees like the chosen arguments, by the inputs of floats; GraphError for others."""
        if len(trees) != len(self._chosen):
            raise GraphError(
                f"{what}: expected a tree for each of {len(self._chosen)} arguments of '{self.name}', got {len(trees)}"
            )
        wanted = self.floats(others=True)
        found: dict[str, Any] = {}
        for number, tree in zip(self._chosen, trees, strict=True):
            one = self.traced.arguments[number]
            leaves = leaves_like(one.spec, tree, f"{what}[{number}]", f"argument {one.argument.name}")
            for name, leaf, primal, place in zip(one.inputs, leaves, one.leaves, paths(one.spec), strict=True):
                if name in wanted:
                    found[name] = check_like(primal, leaf, f"{what}[{number}]{place}")
        return found

    def inlined(self, graph: GraphModule, further: Sequence[Operand] = ()) -> tuple[Value, ...]:
        """
        The results of a graph derived from that of the function, on the operands of the call.

        `further` are those of the inputs that it has beside those of the function: seeds, tangents.
        """
        left = iter(further)
        operands = [
            self._as(one.value.type, self._operands[one.name] if one.name in self._operands else next(left))
            for one in graph.interface.arguments
        ]
        inline = getattr(self.builder, "inline", None)
        if inline is None:
            raise GraphTypeError("expected a value of a Graph, got one of a builder that cannot inline functions")
        return inline(graph, *operands)

    def _as(self, type_: Any, x: Any) -> Value:
        """An operand in the type of the argument that it is for: a number may be of another."""
        value = x if isinstance(x, Value) else self.builder.constant(x, type_.get_element_type())
        return self.builder.value(self.builder.operand(value))


def _given(parameters: Parameters, values: Sequence[Any]) -> list[Place]:
    """Where the arguments of a call are, without the object of a method."""
    return [
        (one.slot, one.key)
        for one in parameters.arguments(values)
        if (position := parameters.position(one)) is None or position >= 0
    ]


def check_like(primal: Any, other: Any, what: str) -> Any:
    """A tangent or cotangent of a leaf; GraphError for one of another shape, or of an element type that rounds."""
    shape = primal.shape if isinstance(primal, Value) else np.shape(primal)
    if type(other) in (bool, int, float, complex):
        weak, found = True, ()
    elif isinstance(other, Value) or is_array_like(other):
        weak, found = isinstance(other, Value) and other.weak, tuple(other.shape)
    else:
        raise GraphError(f"{what}: expected an array of shape {dims(shape)}, got {shown(other)}")
    if found != shape:
        raise GraphError(
            f"{what}: expected shape {dims(shape)} like the value that it belongs to, got {dims(found)}; broadcast it"
        )
    if weak and _is_real(primal) and not _is_real(other):
        raise GraphError(f"{what}: expected a real number, got a complex one; take its real part")
    if not weak:
        wide, narrow = _dtype_of(other), _dtype_of(primal)
        if narrow is not None and wide is not None and not np.can_cast(wide, narrow, "same_kind"):
            raise GraphError(f"{what}: expected {narrow}, got {wide}; convert it")
    return other


def _is_real(x: Any) -> bool:
    return element_of(x.ssa) not in COMPLEXES if isinstance(x, Value) else not np.iscomplexobj(x)


def _dtype_of(x: Any) -> np.dtype[Any] | None:
    if isinstance(x, Value):
        return None if x.weak else np.dtype(x.dtype)
    return np.asarray(x).dtype if is_array_like(x) else None


def _arguments(what: str, trees: object) -> tuple[Tree, ...]:
    if not isinstance(trees, tuple | list):
        got = f"an array of shape {dims(trees.shape)}" if isinstance(trees, Value) else shown(trees)
        raise GraphTypeError(f"{what}: expected a tuple with a tree for each argument, as in (x,), got {got}")
    return tuple(trees)


def _is_float(leaf: object) -> bool:
    return isinstance(leaf, Value) and leaf.type.get_element_type() in (*FLOATS, *COMPLEXES)


def _weighted(leaf: Value, weight: Any) -> Value:
    """The real number that a result counts by: the sum of its products, of complex numbers `re(conj(weight) leaf)`."""
    if element_of(leaf.ssa) not in COMPLEXES:
        return (leaf * weight).sum()
    return leaf.b.real(np.conj(weight) * leaf).sum()
