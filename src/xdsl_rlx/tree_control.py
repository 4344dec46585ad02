"""Control flow on trees: `scan`, `cond`, `while_loop` and others of traced functions, as ops with bodies."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.arrays import is_number
from xdsl_rlx.dialects.calls import called_as, checked, shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.compositions import stack
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.promotion import KIND_RANKS
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import f32, i1, i64, normalize_axis
from xdsl_rlx.op_functions import computed
from xdsl_rlx.tracing import builder_of, is_eager
from xdsl_rlx.tree import Spec, Tree, flatten, unflatten
from xdsl_rlx.tree_functions import vmap as rlx_vmap
from xdsl_rlx.tree_leaves import OpLeaves

_P = ParamSpec("_P")
_R = TypeVar("_R")


@checked
def scan(
    body: Callable[[Tree, Tree], tuple[Tree, Tree]],
    init: Tree,
    xs: Tree = None,
    length: int | None = None,
    reverse: bool = False,
    checkpoints: int | None = None,
) -> tuple[Tree, Tree]:
    """
    Return `(carry, ys)`, where `carry, ys[t] = body(carry, xs[t])` for each `t`, as `jax.lax.scan`.

    `init`, `xs` and the results of the body are trees.

    If `xs` is None, `length` is the number of iterations. `reverse` runs from the last element to the first. With
    `checkpoints=k`, a gradient keeps `k` carries and recomputes the others. Raises GraphError for a carry that changes
    its tree, shape or element type, and for axes of different lengths.
    """
    body = called_as("scan: body(carry, x)", body)
    if is_eager(init, xs) and (ran := _scanned(body, init, xs, length, reverse)) is not None:
        return ran
    builder = builder_of(init, xs)
    if builder is None:
        return computed(lambda init, xs: scan(body, init, xs, length, reverse, checkpoints), (init, xs), {})
    over, each = flatten(xs)
    found: list[Spec] = []

    def loop(carries: _Carries) -> Any:
        def flat(values: Sequence[Value], elements: Sequence[Value] | None) -> tuple[Any, Any]:
            result = body(carries.opened(values), unflatten(each, elements or ()))
            if not isinstance(result, tuple) or len(result) != 2:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise GraphError("scan: expected the body to return a pair: the next carry, and y or None")
            y, of_y = flatten(result[1])
            found.append(of_y)
            return carries.closed(result[0]), tuple(y) if y else None

        return builder.scan(flat, carries.starts, xs_given, length, reverse, checkpoints)

    xs_given = tuple(_operand(builder, x) for x in over) if over else None
    carry, ys = _settled("scan", builder, init, loop)
    return unflatten(flatten(init)[1], carry), unflatten(found[-1], ys or ())


def _scanned(
    body: Callable[[Tree, Tree], tuple[Tree, Tree]], init: Tree, xs: Tree, length: int | None, reverse: bool
) -> tuple[Tree, Tree] | None:
    """A scan as a loop of Python; None for one without iterations, whose results only a trace has the types of."""
    over, each = flatten(xs)
    count = len(over[0]) if over else length
    if not count or any(len(x) != count for x in over) or (length is not None and length != count):
        return None
    rows: list[Sequence[Any]] = [()] * count
    carry, spec = init, flatten(None)[1]
    for t in reversed(range(count)) if reverse else range(count):
        carry, y = body(carry, unflatten(each, [x[t] for x in over]))
        rows[t], spec = flatten(y)
    return carry, unflatten(spec, [np.stack(column) for column in zip(*rows, strict=True)])


@checked
def cond(pred: Any, then: Callable[..., Tree], otherwise: Callable[..., Tree], *operands: Tree) -> Tree:
    """
    Return `then(*operands)` if `pred` is true, else `otherwise(*operands)`; only the chosen branch is computed.

    `pred` is one boolean, or a number that is true if it is not 0. Both branches return trees of the same structure,
    shapes and element types.
    """
    then, otherwise = called_as("cond: then(*operands)", then), called_as("cond: otherwise(*operands)", otherwise)
    if is_eager(pred, operands):
        return then(*operands) if pred else otherwise(*operands)
    builder = builder_of(pred, operands)
    if builder is None:
        return computed(lambda pred, *operands: cond(pred, then, otherwise, *operands), (pred, *operands), {})
    found: list[Spec] = []

    def flat(function: Callable[..., Tree]) -> Callable[[], tuple[Any, ...]]:
        def branch() -> tuple[Any, ...]:
            leaves, spec = flatten(function(*operands))
            found.append(spec)
            return tuple(leaves)

        return branch

    results = builder.cond(pred, flat(then), flat(otherwise))
    if found[0] != found[1]:
        raise GraphError(f"cond: one branch returns a tree {found[0]}, the other {found[1]}")
    return unflatten(found[0], results)


@checked
def switch(index: Any, branches: Sequence[Callable[..., Tree]], *operands: Tree) -> Tree:
    """
    Return the result of branch `index` for `operands`, as `jax.lax.switch`; only the chosen branch is computed.

    `index` is one integer, clamped to the valid range. All branches return trees of the same structure, shapes and
    element types. Raises GraphError for branches that do not, and for no branches.
    """
    branches = [called_as(f"switch: branches[{n}](*operands)", one) for n, one in enumerate(branches)]
    if is_eager(index, operands) and branches:
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)
    builder = builder_of(index, operands)
    if builder is None:
        return computed(lambda index, *operands: switch(index, branches, *operands), (index, *operands), {})
    found: list[Spec] = []

    def flat(function: Callable[..., Tree]) -> Callable[[], tuple[Any, ...]]:
        def branch() -> tuple[Any, ...]:
            leaves, spec = flatten(function(*operands))
            found.append(spec)
            return tuple(leaves)

        return branch

    results = builder.switch(index, [flat(function) for function in branches])
    for number, spec in enumerate(found):
        if spec != found[0]:
            raise GraphError(f"switch: branch 0 returns a tree {found[0]}, branch {number} {spec}")
    return unflatten(found[0], results)


@checked
def remat(fun: Callable[_P, _R]) -> Callable[_P, _R]:
    """
    Return `fun` with intermediate results that are recomputed in the backward pass instead of stored; as `jax.remat`.

    Arguments and results are trees. Values, gradients of every order and batches are those of `fun`.
    """

    given = called_as("remat", fun)

    @wraps(fun)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> Any:
        if is_eager(args, kwargs):
            return given(*args, **kwargs)
        builder = builder_of(args, kwargs)
        if builder is None:
            return computed(call, args, kwargs)
        found: list[OpLeaves] = []

        def body() -> tuple[Value, ...]:
            found.append(OpLeaves.of(builder, given(*args, **kwargs), numbers=True))
            return tuple(found[0].values)

        results = builder.remat(body)
        return found[0].tree(results)

    return call


@checked
def map(f: Callable[[Tree], Tree], xs: Tree, batch_size: int | None = None) -> Tree:
    """
    Return the results of `f` for each element of the leading axis of `xs`, one after the other; as `jax.lax.map`.

    With `batch_size`, `rlx.vmap(f)` computes that number of elements at a time. It needs less memory than `rlx.vmap`
    of all elements. Raises GraphError for leading axes of different lengths.
    """
    each_of = called_as("map: f(x)", f)
    if is_eager(xs) and batch_size is None:
        return scan(lambda carry, x: (carry, each_of(x)), np.int32(0), xs)[1]
    builder = builder_of(xs)
    if builder is None:
        return computed(lambda xs: map(f, xs, batch_size), (xs,), {})
    if batch_size is None:
        return scan(lambda carry, x: (carry, each_of(x)), np.int32(0), xs)[1]
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphError(f"map: batch_size: expected an integer of at least 1, got {batch_size!r}")
    leaves, spec = flatten(xs)
    values = [_operand(builder, x) for x in leaves]
    length = _length("map", values, 0)
    whole = length // batch_size * batch_size
    batches = [value[:whole].reshape(whole // batch_size, batch_size, *value.shape[1:]) for value in values]
    many = rlx_vmap(f)
    found: list[tuple[list[Any], Spec]] = []
    if whole or not length:
        each, of_result = flatten(map(many, unflatten(spec, batches)))
        found.append(([y.reshape(whole, *y.shape[2:]) for y in each], of_result))
    if whole < length:
        found.append(flatten(many(unflatten(spec, [value[whole:] for value in values]))))
    joined = [
        one[0] if len(one) == 1 else np.concatenate(one) for one in zip(*(part for part, _ in found), strict=True)
    ]
    return unflatten(found[0][1], joined)


@checked
def associative_scan(fn: Callable[[Tree, Tree], Tree], elems: Tree, reverse: bool = False, axis: int = 0) -> Tree:
    """
    Return all partial results of an associative `fn` along `axis`, in about `2 log2(n)` steps; as
    `jax.lax.associative_scan`.

    Element `i` is `fn(..fn(fn(x[0], x[1]), x[2]).., x[i])`, from the end if `reverse`. `fn(a, b)` combines trees of
    stacked elements: corresponding elements along `axis`. (Blelloch, 1990, Prefix sums and their applications) Raises
    GraphError for axes of different lengths, and for a result of another structure or shape.
    """
    fn = called_as("associative_scan: fn(a, b)", fn)
    builder = builder_of(elems)
    if builder is None:
        return computed(lambda elems: associative_scan(fn, elems, reverse, axis), (elems,), {})
    leaves, spec = flatten(elems)
    values = [_operand(builder, x) for x in leaves]
    if not values:
        raise GraphError("associative_scan: expected at least one array to scan, got an empty tree")
    _length("associative_scan", values, axis)
    axes = [normalize_axis(axis, value.rank) for value in values]

    def part(value: Value, at: int, start: int | None, stop: int | None, step: int | None = None) -> Value:
        return value[(*(slice(None),) * at, slice(start, stop, step))]

    def parts(xs: Sequence[Value], *bounds: Any) -> list[Value]:
        return [part(x, at, *bounds) for x, at in zip(xs, axes, strict=True)]

    def combined(a: Sequence[Value], b: Sequence[Value]) -> list[Value]:
        found, other = flatten(fn(unflatten(spec, a), unflatten(spec, b)))
        if other != spec:
            raise GraphError(f"associative_scan: the elements are {spec}, but the function returns {other}")
        for x, y in zip(a, found, strict=True):
            if x.shape != y.shape or x.dtype != y.dtype:
                raise GraphError(f"associative_scan: the function returns {y.type} for elements of {x.type}")
        return found

    def scanned(xs: list[Value]) -> list[Value]:
        count = xs[0].shape[axes[0]]
        if count < 2:
            return xs
        odd = scanned(combined(parts(xs, None, -1, 2), parts(xs, 1, None, 2)))
        before = odd if count % 2 else parts(odd, None, -1)
        even = parts(xs, None, 1)
        if count > 2:
            later = combined(before, parts(xs, 2, None, 2))
            even = [builder.concat(pair, at) for *pair, at in zip(even, later, axes, strict=True)]
        return [interleaved(x, y, at) for x, y, at in zip(even, odd, axes, strict=True)]

    def interleaved(even: Value, odd: Value, at: int) -> Value:
        shape = odd.shape
        pairs = stack(builder, [part(even, at, None, shape[at]), odd], at + 1)
        found = pairs.reshape(*shape[:at], 2 * shape[at], *shape[at + 1 :])
        return found if even.shape[at] == shape[at] else builder.concat([found, part(even, at, shape[at], None)], at)

    def turned(xs: Sequence[Value]) -> list[Value]:
        return [builder.flip(x, at) for x, at in zip(xs, axes, strict=True)] if reverse else list(xs)

    return unflatten(spec, turned(scanned(turned(values))))


def _length(what: str, values: Sequence[Value], axis: int) -> int:
    """The common extent of an axis; GraphError if there is none."""
    if wrong := [value for value in values if not -value.rank <= axis < value.rank]:
        raise GraphError(f"{what}: expected an axis {axis}, got a value of {wrong[0].type}")
    lengths = sorted({value.shape[axis] for value in values})
    if len(lengths) != 1:
        found = ", ".join(str(n) for n in lengths) or "no arrays"
        raise GraphError(f"{what}: expected arrays of one length along axis {axis}, got {found}")
    return lengths[0]


@checked
def while_loop(
    test: Callable[[Tree], Any], body: Callable[[Tree], Tree], init: Tree, max_iterations: int | None = None
) -> Tree:
    """
    Return the carry of `while test(carry): carry = body(carry)`, starting from the tree `init`.

    `max_iterations` is an upper bound of the number of iterations; with it, the loop has a reverse-mode gradient.
    """
    test, body = called_as("while_loop: test(carry)", test), called_as("while_loop: body(carry)", body)
    if is_eager(init):
        trips = 0
        while (max_iterations is None or trips < max_iterations) and test(init):
            init, trips = body(init), trips + 1
        return init
    builder = builder_of(init)
    if builder is None:
        return computed(lambda init: while_loop(test, body, init, max_iterations), (init,), {})

    def loop(carries: _Carries) -> Any:
        return builder.while_loop(
            lambda values: test(carries.opened(values)),
            lambda values: carries.closed(body(carries.opened(values))),
            carries.starts,
            max_iterations,
        )

    return unflatten(flatten(init)[1], _settled("while_loop", builder, init, loop))


_COUNTED = "give fori_loop Python integers as bounds, or use while_loop with max_iterations"


@checked
def fori_loop(lower: Any, upper: Any, body: Callable[[Any, Tree], Tree], init: Tree) -> Tree:
    """
    Return the carry of `for i in range(lower, upper): carry = body(i, carry)`, starting from the tree `init`.

    If both bounds are Python integers it is a `scan`, which has a reverse-mode gradient; otherwise it is a
    `while_loop`.
    """
    body = called_as("fori_loop: body(i, carry)", body)
    for name, bound in (("lower", lower), ("upper", upper)):
        if isinstance(bound, float | np.floating):
            raise GraphError(f"fori_loop: {name}: expected an integer, got {shown(bound)}; convert it with int()")
    if is_eager(lower, upper, init):
        for i in range(int(lower), int(upper)):
            init = body(i, init)
        return init
    builder = builder_of(lower, upper, init)
    if builder is None:
        return computed(lambda *given: fori_loop(given[0], given[1], body, given[2]), (lower, upper, init), {})
    # counted in a carry: the numbers of all iterations would be as long as the loop
    times = max(upper - lower, 0) if isinstance(lower, int) and isinstance(upper, int) else None
    weak_index = all(x.weak if isinstance(x, Value) else type(x) is int for x in (lower, upper))
    first = _operand(builder, lower if isinstance(lower, Value) else builder.constant(np.int64(lower)))

    def loop(carries: _Carries) -> Any:
        def after(values: Sequence[Value]) -> tuple[Any, ...]:
            number, *rest = values
            index = Value(number.ssa, number.b, weak_index and carries.counts_weakly)
            return number + 1, *carries.closed(body(index, carries.opened(rest)))

        starts = (first, *carries.starts)
        if times is not None:
            return builder.scan(lambda values, _: (after(values), None), starts, None, times)[0]
        return builder.while_loop(lambda values: values[0] < upper, after, starts, remedy=_COUNTED)

    return unflatten(flatten(init)[1], _settled("fori_loop", builder, init, loop, weak_index)[1:])


def _operand(builder: MirBuilder, x: Operand) -> Value:
    return builder.value(builder.operand(x))


class _Retyped(Exception):
    """Carries that begin with numbers of another element type than the body gives them."""

    def __init__(self, elements: dict[int, Attribute]):
        super().__init__(elements)
        self.elements = elements


@dataclass(frozen=True)
class _Carries:
    """
    What a loop carries. Python numbers, and arrays that are not arguments, are weakly typed until the body types them.
    """

    what: str
    spec: Spec
    starts: tuple[Value, ...]
    weak: frozenset[int]
    counts_weakly: bool
    """Whether integers are weakly typed, as those of Python are: where they meet no narrow ones."""

    def opened(self, values: Sequence[Value]) -> Tree:
        """The carry that the body gets."""
        return unflatten(self.spec, [Value(x.ssa, x.b, True) if n in self.weak else x for n, x in enumerate(values)])

    def closed(self, carry: Tree) -> tuple[Any, ...]:
        """The carry that the body returns. Raises _Retyped, and GraphError for another tree, shape or element type."""
        leaves, other = flatten(carry)
        if other != self.spec:
            raise GraphError(f"{self.what}: expected the body to return a carry like init, {self.spec}, got {other}")
        found = [self._typed(n, leaf) for n, leaf in enumerate(leaves)]
        pairs = list(enumerate(zip(self.starts, found, strict=True)))
        other_types = {n: x for n, (start, x) in pairs if x.dtype != start.dtype}
        if other_types and all(n in self.weak and _kind(x) >= _kind(self.starts[n]) for n, x in other_types.items()):
            raise _Retyped({n: x.type.get_element_type() for n, x in other_types.items()})
        for n, (start, x) in pairs:
            if x.type != start.type:
                cure = "convert one of them with astype" if x.shape == start.shape else "make their shapes equal"
                raise GraphError(
                    f"{self.what}: expected carry {n} of the body as in init, {start.type}, got {x.type}; {cure}"
                )
        return tuple(found)

    def _typed(self, n: int, leaf: Any) -> Value:
        """A leaf that the body returns; weakly typed ones give way."""
        start = self.starts[n]
        weak = not isinstance(leaf, Value) or leaf.weak
        value = start.b.value(start.b.operand(leaf, start))
        gives_way = weak and value.dtype != start.dtype and _kind(value) <= _kind(start)
        return value.cast(start.type.get_element_type()) if gives_way else value


def _kind(x: Value) -> int:
    """The place of its element type among kinds: numbers of one are numbers of those above it."""
    return KIND_RANKS[x.dtype.kind]


def _settled(
    what: str, builder: MirBuilder, init: Tree, loop: Callable[[_Carries], Any], weak_index: bool = False
) -> Any:
    """What a loop gives, with the element types that its body has for carries that begin weakly typed."""
    leaves, spec = flatten(init)
    if not leaves:
        raise GraphError(f"{what}: expected at least one carry, got an empty init")
    given = [x.type.get_element_type() for x in leaves if isinstance(x, Value) and not x.weak]
    given += [constants.element_type(x.dtype) for x in leaves if isinstance(x, np.ndarray | np.generic)]
    real = next((x for x in given if isinstance(x, AnyFloat)), f32)
    weak = {n for n, x in enumerate(leaves) if not isinstance(x, Value) or x.weak}
    integers = {n for n in weak if type(leaves[n]) is int}
    counts_weakly = weak_index or bool(integers)
    elements: dict[int, Attribute] = {}
    while True:
        starts = tuple(_start(builder, x, elements.get(n), real) for n, x in enumerate(leaves))
        try:
            return loop(_Carries(what, spec, starts, frozenset(weak), counts_weakly))
        except _Retyped as e:
            elements |= e.elements
            weak -= e.elements.keys()
        except GraphError:
            # No trace can tell whether a later number of such a carry fits into a narrow integer that it meets.
            if not counts_weakly:
                raise
            weak -= integers
            counts_weakly = False


def _start(builder: MirBuilder, leaf: Any, element: Attribute | None, real: Attribute) -> Value:
    """The first value of a carry: of an element type, or its own. Python's integers are i64, its floats `real`."""
    if is_number(leaf) and not isinstance(leaf, complex | np.generic):
        return builder.constant(
            leaf, element or (i1 if isinstance(leaf, bool) else i64 if isinstance(leaf, int) else real)
        )
    value = _operand(builder, leaf)
    return value if element is None else value.cast(element)
