"""The transformations of `derivatives.py` on Python functions of trees: each gives a function of trees back.

Called with values of a graph, such a function traces what it was made of, transforms that graph, and copies the result
into theirs. Called with arrays, it is compiled first. So there is one mechanism, and transformations nest.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, Literal, SupportsIndex, TypeAlias

import optree

import xdsl_rlx.derivatives as on_graphs
from xdsl_rlx.builder import GraphModule
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import FLOATS, dims, element_of, shape_of
from xdsl_rlx.jit import CompiledFunction
from xdsl_rlx.tracing import Function, Traced, builder_of, is_passed_on, traced
from xdsl_rlx.tree import Spec, Tree, flatten, leaves_like, paths, unflatten

Which: TypeAlias = int | str | Sequence[int | str]
"""Arguments by position or by name: one, or several."""


class TreeFunction:
    """A function on trees made from another one: built into the graph that is being traced, else compiled and run."""

    def __init__(self, name: str, of: Function, build: Callable[..., Tree]):
        """`build(builder, *args, **kwargs)` builds it, where the leaves of its arguments are values."""
        update_wrapper(self, of, ("__module__", "__doc__", "__wrapped__"), ())
        self.__name__ = f"{name}_{getattr(of, '__name__', 'function')}"
        self._build = build
        self._compiled: CompiledFunction | None = None

    def __repr__(self) -> str:
        return f"<{self.__name__} of trees>"

    def __call__(self, /, *args: Tree, **kwargs: Tree) -> Tree:
        builder = builder_of(args, kwargs)
        if builder is not None:
            return self._build(builder, *args, **kwargs)
        if self._compiled is None:
            self._compiled = CompiledFunction(self)
        return self._compiled(*args, **kwargs)


def value_and_grad(function: Function, argnums: Which = 0, has_aux: bool = False) -> TreeFunction:
    """
    The function that returns what `function` does, and its gradients by the arguments `argnums`.

    `function` returns one number, or with `has_aux` a pair of that and anything else. The gradients have the tree of
    the argument, or are a tuple of such if `argnums` is a sequence. GraphError for a result that is no real number, and
    for a leaf of those arguments that is not of floats.
    """
    return TreeFunction("value_and_grad", function, _gradient(function, argnums, has_aux, with_value=True))


def grad(function: Function, argnums: Which = 0, has_aux: bool = False) -> TreeFunction:
    """As `value_and_grad`, but the gradients alone; with `has_aux` a pair of these and the rest."""
    return TreeFunction("grad", function, _gradient(function, argnums, has_aux, with_value=False))


def _gradient(function: Function, argnums: Which, has_aux: bool, with_value: bool) -> Callable[..., Tree]:
    def build(builder: MirBuilder, /, *args: Tree, **kwargs: Tree) -> Tree:
        call = _Call(builder, function, args, kwargs)
        results = _with_aux(call, has_aux)
        _check_loss(call, has_aux)
        chosen = call.chosen(argnums)
        wrt = [name for number in chosen for name in call.floats(number)]
        found = call.inlined(on_graphs.grad_with_loss(call.traced.graph, wrt, zero_missing_wrt=True), d_output=1.0)
        count = call.traced.results.num_leaves
        grads = call.unflatten_arguments(chosen, found[count:], argnums)
        value, aux = results(found[:count])
        if with_value:
            return ((value, aux) if has_aux else value), grads
        return (grads, aux) if has_aux else grads

    return build


def _with_aux(call: _Call, has_aux: bool) -> Callable[[Sequence[Value]], tuple[Tree, Tree]]:
    spec = call.traced.results
    if has_aux and (spec.type is not tuple or len(spec.children()) != 2):
        raise GraphError(f"'{call.name}' has to return a pair with has_aux, the number and the rest")

    def results(leaves: Sequence[Value]) -> tuple[Tree, Tree]:
        found = unflatten(spec, leaves)
        return found if has_aux else (found, None)

    return results


def _check_loss(call: _Call, has_aux: bool) -> None:
    spec = call.traced.results
    loss = spec.children()[0] if has_aux else spec
    first = call.traced.graph.interface.outputs[0]
    if loss.num_leaves != 1 or shape_of(first) or element_of(first) not in FLOATS:
        found = f"{loss.num_leaves} arrays" if loss.num_leaves != 1 else f"{first}"
        if loss.num_leaves != 1:
            cure = "has_aux=True for what is returned beside it"
        else:
            cure = "take its sum or mean" if shape_of(first) else "x.astype(np.float32) makes floats of integers"
        raise GraphError(f"the gradient is of one real number, '{call.name}' returns {found}; {cure}")


def jvp(function: Function) -> TreeFunction:
    """
    The function `(primals, tangents) -> (results, tangents of the results)`; both are tuples of arguments.

    Tangents have the trees of the primals; those of leaves that are not of floats are not looked at.
    """

    def build(builder: MirBuilder, primals: Sequence[Tree], tangents: Sequence[Tree]) -> Tree:
        call = _Call(builder, function, _arguments("primals", primals), {})
        along = call.like_arguments(_arguments("tangents", tangents), "tangents")
        floats = [name for number in range(len(primals)) for name in call.floats(number, others=True)]
        given = dict(zip((name for one in call.traced.names for name in one), along, strict=True))
        pushed = {f"tangent_{name}": given[name] for name in floats}
        if not floats:
            raise GraphError(f"'{call.name}' has no argument of floats to differentiate by")
        found = call.inlined(on_graphs.jvp(call.traced.graph, floats), **pushed)
        count = call.traced.results.num_leaves
        return unflatten(call.traced.results, found[:count]), unflatten(call.traced.results, found[count:])

    return TreeFunction("jvp", function, build)


def vjp(function: Function) -> TreeFunction:
    """The function `(primals, cotangents) -> (results, gradients)`: those of the results weighted by `cotangents`."""

    def build(builder: MirBuilder, primals: Sequence[Tree], cotangents: Tree) -> Tree:
        primals = _arguments("primals", primals)

        def weighted(primals: Tree, cotangents: Tree) -> Tree:
            results = function(*primals)
            leaves, spec = flatten(results)
            weights = leaves_like(spec, cotangents, "cotangents")
            parts = [(leaf * weight).sum() for leaf, weight in zip(leaves, weights, strict=True) if _is_float(leaf)]
            if not parts:
                raise GraphError(f"'{getattr(function, '__name__', function)}' returns nothing that is of floats")
            return sum(parts[1:], parts[0]), results

        (_, results), gradients = value_and_grad(weighted, has_aux=True)(primals, cotangents)
        return results, gradients

    return TreeFunction("vjp", function, build)


def hvp(function: Function, argnums: int | str = 0) -> TreeFunction:
    """The function `(primals, tangent) -> H v`, of the Hessian by one argument times a tree like it."""

    def build(builder: MirBuilder, primals: Sequence[Tree], tangent: Tree) -> Tree:
        primals = _arguments("primals", primals)
        number = _Call(builder, function, primals, {}).chosen(argnums)[0]

        def of_one(x: Tree) -> Tree:
            return grad(function, number)(*primals[:number], x, *primals[number + 1 :])

        return jvp(of_one)((primals[number],), (tangent,))[1]

    return TreeFunction("hvp", function, build)


def vmap(function: Function, in_axes: Tree = 0, out_axes: Tree = 0) -> TreeFunction:
    """
    The function for a batch: leaves of its arguments have one more axis, where `in_axes` says, and so have its results.

    `in_axes` is a position for all, or a tuple with one for each argument: a position, None for what is the same for
    all examples, or a tree of these. `out_axes` is a position, or a tree of positions. GraphError for axes of different
    lengths.
    """

    def build(builder: MirBuilder, /, *args: Tree, **kwargs: Tree) -> Tree:
        axes = _axes_of(in_axes, args)
        leaves = [leaf for argument in args for leaf in flatten(argument)[0]]
        size = _batch(leaves, axes)
        example = iter([_example(builder, leaf, axis) for leaf, axis in zip(leaves, axes, strict=True)])
        inside = [unflatten(spec, [next(example) for _ in one]) for one, spec in map(flatten, args)]
        call = _Call(builder, function, inside, kwargs)
        flat = [name for one in call.traced.names[: len(args)] for name in one]
        mapped = {name: axis for name, axis in zip(flat, axes, strict=True) if axis is not None}
        call.leaves[: len(leaves)] = leaves
        found = call.inlined(on_graphs.vmap(call.traced.graph, list(mapped), size, mapped))
        places = optree.broadcast_prefix(out_axes, call.traced.results.unflatten(found))
        moved = [_moved(value, place) for value, place in zip(found, places, strict=True)]
        return unflatten(call.traced.results, moved)

    return TreeFunction("vmap", function, build)


def _axes_of(in_axes: Tree, args: Sequence[Tree]) -> list[int | None]:
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise GraphError(f"in_axes has {len(in_axes)} places for {len(args)} arguments")
    parts = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    found: list[int | None] = []
    for axis, argument in zip(parts, args, strict=True):
        count = len(flatten(argument)[0])
        if axis is None or isinstance(axis, int):
            found += [axis] * count
        else:
            found += optree.broadcast_prefix(axis, argument, none_is_leaf=True)
    if wrong := [axis for axis in found if axis is not None and type(axis) is not int]:
        raise GraphError(f"in_axes are positions of the new axis or None, got {shown(wrong[0])}")
    return found


def _batch(leaves: Sequence[Any], axes: Sequence[int | None]) -> int:
    sizes: set[int] = set()
    for leaf, axis in zip(leaves, axes, strict=True):
        if axis is None:
            continue
        shape = leaf.shape if isinstance(leaf, Value) else getattr(leaf, "shape", ())
        if not -len(shape) <= axis < len(shape):
            raise GraphError(f"in_axes says {axis} of an array of shape {dims(shape)}, which has no such axis")
        sizes.add(shape[axis])
    if len(sizes) != 1:
        found = ", ".join(map(str, sorted(sizes))) or "none"
        raise GraphError(f"the axes that vmap maps over have one length; found {found}")
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
        raise GraphError(f"out_axes says {axis} for a result of shape {dims(value.shape)}")
    order = list(range(1, value.rank))
    order.insert(axis % value.rank, 0)
    return value.b.transpose(value, order)


def jacfwd(function: Function, argnums: Which = 0) -> TreeFunction:
    """
    The function that returns the Jacobians of all results by the arguments `argnums`, all columns at once.

    For each leaf of the results there is a tree like the argument, whose leaves have the shape of that of the results
    followed by their own; a tuple of such trees if `argnums` is a sequence.
    """
    return _jacobian("jacfwd", function, argnums, on_graphs.jacfwd)


def jacrev(function: Function, argnums: Which = 0) -> TreeFunction:
    """What `jacfwd` gives, by reverse mode: all rows at once."""
    return _jacobian("jacrev", function, argnums, on_graphs.jacrev)


def hessian(function: Function, argnums: Which = 0) -> TreeFunction:
    """The function that returns second derivatives: for each leaf of the results, a tree like the argument of trees."""
    return _jacobian("hessian", function, argnums, on_graphs.hessian, order=2)


def _jacobian(
    name: str, function: Function, argnums: Which, derive: Callable[..., GraphModule], order: int = 1
) -> TreeFunction:
    def build(builder: MirBuilder, /, *args: Tree, **kwargs: Tree) -> Tree:
        call = _Call(builder, function, args, kwargs)
        chosen = call.chosen(argnums)
        wrt = [name for number in chosen for name in call.floats(number)]
        found = call.inlined(derive(call.traced.graph, wrt))

        def nested(left: Sequence[Value], depth: int) -> Tree:
            if not depth:
                return left[0]
            size = len(wrt) ** (depth - 1)
            parts = [nested(left[n * size : n * size + size], depth - 1) for n in range(len(wrt))]
            return call.unflatten_arguments(chosen, parts, argnums)

        size = len(wrt) ** order
        outputs = call.traced.results.num_leaves
        trees = [nested(found[n * size : n * size + size], order) for n in range(outputs)]
        return unflatten(call.traced.results, trees)

    return TreeFunction(name, function, build)


def compile(
    function: Function,
    static: str | int | Sequence[str | int] = (),
    donate: Mapping[str, int] | None = None,
    *,
    threads: SupportsIndex | None = None,
    backend: Literal["llvm", "numba"] = "llvm",
    memory_budget: SupportsIndex | None = None,
) -> CompiledFunction:
    """See `rlx.compile`."""
    return CompiledFunction(function, static, donate, threads=threads, backend=backend, memory_budget=memory_budget)


class _Call:
    """A function traced for a call in a graph, and how what was derived of it is put there."""

    def __init__(self, builder: MirBuilder, function: Function, args: Sequence[Tree], kwargs: Mapping[str, Tree]):
        self.builder = builder
        self.name = getattr(function, "__name__", "function")
        self.traced: Traced = traced(function, args, kwargs, builder)
        self.leaves: list[Any] = [
            leaf for argument in (*args, *kwargs.values()) for leaf in flatten(argument)[0] if not is_passed_on(leaf)
        ]
        self._keywords = list(kwargs)
        self._count = len(args)

    def chosen(self, argnums: Which) -> list[int]:
        """The numbers of the arguments; GraphError for one that there is not."""
        several = not isinstance(argnums, int | str)
        numbers: list[int] = []
        for one in argnums if several else (argnums,):
            number = one
            if isinstance(one, str):
                known = [next(iter(names), "").partition("_")[0] for names in self.traced.names[: self._count]]
                known += self._keywords
                if one not in known:
                    raise GraphError(f"'{self.name}' was called without an argument '{one}'")
                number = known.index(one)
            if isinstance(number, bool) or not isinstance(number, int) or not -self._count <= number < self._total:
                raise GraphError(f"'{self.name}' was called with {self._count} arguments, there is none of {one!r}")
            numbers.append(number % self._count if number < 0 else number)
        return numbers

    @property
    def _total(self) -> int:
        return len(self.traced.names)

    def floats(self, number: int, others: bool = False) -> list[str]:
        """Names of the leaves of an argument; GraphError for one that is not of floats, or with `others` without it."""
        types = {a.name: a.value.type for a in self.traced.graph.interface.arguments}
        found: list[str] = []
        for name, place in zip(self.traced.names[number], paths(self.traced.arguments[number]), strict=True):
            if element_of(types[name]) in FLOATS:
                found.append(name)
            elif not others:
                raise GraphError(
                    f"the gradient of '{self.name}' is by floats, argument {number}{place} is {types[name]}; "
                    "convert it, or leave it out of argnums"
                )
        return found

    def like_arguments(self, trees: Sequence[Tree], what: str) -> list[Any]:
        """The leaves of trees like the arguments; GraphError for others."""
        if len(trees) != self._count:
            raise GraphError(f"{what} are {len(trees)} for {self._count} arguments of '{self.name}'")
        found: list[Any] = []
        for number, (tree, spec) in enumerate(zip(trees, self.traced.arguments, strict=False)):
            leaves, other = flatten(tree)
            if other != spec:
                raise GraphError(f"{what}[{number}] is a tree {other}, the argument {spec}")
            found += leaves
        return found

    def inlined(self, graph: GraphModule, **bindings: Operand) -> tuple[Value, ...]:
        """The results of a graph derived from that of the function, on the operands of the call."""
        inputs = self.traced.inputs(self.leaves)
        types = {a.name: a.value.type for a in graph.interface.arguments}
        given = {name: self._as(types[name], x) for name, x in {**inputs, **bindings}.items()}
        return _inline(self.builder, graph, given)

    def _as(self, type_: Any, x: Any) -> Value:
        """An operand in the type of the argument that it is for: a number may be of another."""
        value = x if isinstance(x, Value) else self.builder.constant(x, type_.get_element_type())
        return self.builder.value(self.builder.operand(value))

    def unflatten_arguments(self, chosen: Sequence[int], leaves: Sequence[Any], argnums: Which) -> Tree:
        """Leaves, of each argument chosen, as its tree: one, or a tuple if `argnums` is a sequence."""
        trees: list[Tree] = []
        for number in chosen:
            spec: Spec = self.traced.arguments[number]
            trees.append(unflatten(spec, leaves[: spec.num_leaves]))
            leaves = leaves[spec.num_leaves :]
        return trees[0] if isinstance(argnums, int | str) else tuple(trees)


def _inline(builder: MirBuilder, graph: GraphModule, given: Mapping[str, Value]) -> tuple[Value, ...]:
    inline = getattr(builder, "inline", None)
    if inline is None:
        raise GraphTypeError("functions are built into a Graph; this value is of a builder without inline")
    return inline(graph, **given)


def _arguments(what: str, trees: object) -> tuple[Tree, ...]:
    if not isinstance(trees, tuple | list):
        raise GraphTypeError(f"{what} are a tuple with a tree for each argument, got {shown(trees)}")
    return tuple(trees)


def _is_float(leaf: object) -> bool:
    return isinstance(leaf, Value) and leaf.type.get_element_type() in FLOATS
