"""Control flow on trees: `scan`, `cond`, `while_loop` and others of traced functions, as ops with bodies."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from xdsl.ir import Attribute

from xdsl_rlx.dialects.arrays import is_number
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import f32, i1, i64, normalize_axis
from xdsl_rlx.op_functions import computed
from xdsl_rlx.tracing import builder_of, is_eager
from xdsl_rlx.tree import Spec, Tree, flatten, unflatten
from xdsl_rlx.tree_functions import vmap as rlx_vmap
from xdsl_rlx.tree_leaves import OpLeaves

_P = ParamSpec("_P")
_R = TypeVar("_R")


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
    if is_eager(init, xs) and (ran := _scanned(body, init, xs, length, reverse)) is not None:
        return ran
    builder = builder_of(init, xs)
    if builder is None:
        return computed(lambda init, xs: scan(body, init, xs, length, reverse, checkpoints), (init, xs), {})
    over, each = flatten(xs)
    found: list[Spec] = []

    def flat(carries: Sequence[Value], elements: Sequence[Value] | None) -> tuple[Any, Any]:
        result = body(unflatten(spec, carries), unflatten(each, elements or ()))
        if not isinstance(result, tuple) or len(result) != 2:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphError("scan: expected the body to return a pair: the next carry, and y or None")
        y, of_y = flatten(result[1])
        found.append(of_y)
        return _again("scan", spec, result[0]), tuple(y) if y else None

    xs_given = tuple(_operand(builder, x) for x in over) if over else None
    spec = flatten(init)[1]
    carry, ys = _from(builder, init, lambda starts: builder.scan(flat, starts, xs_given, length, reverse, checkpoints))
    return unflatten(spec, carry), unflatten(found[-1], ys or ())


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


def cond(pred: Any, then: Callable[..., Tree], otherwise: Callable[..., Tree], *operands: Tree) -> Tree:
    """
    Return `then(*operands)` if `pred` is true, else `otherwise(*operands)`; only the chosen branch is computed.

    `pred` is one boolean, or a number that is true if it is not 0. Both branches return trees of the same structure,
    shapes and element types.
    """
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


def switch(index: Any, branches: Sequence[Callable[..., Tree]], *operands: Tree) -> Tree:
    """
    Return the result of branch `index` for `operands`, as `jax.lax.switch`; only the chosen branch is computed.

    `index` is one integer, clamped to the valid range. All branches return trees of the same structure, shapes and
    element types. Raises GraphError for branches that do not, and for no branches.
    """
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


def remat(fun: Callable[_P, _R]) -> Callable[_P, _R]:
    """
    Return `fun` with intermediate results that are recomputed in the backward pass instead of stored; as `jax.remat`.

    Arguments and results are trees. Values, gradients of every order and batches are those of `fun`.
    """

    @wraps(fun)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> Any:
        if is_eager(args, kwargs):
            return fun(*args, **kwargs)
        builder = builder_of(args, kwargs)
        if builder is None:
            return computed(call, args, kwargs)
        found: list[OpLeaves] = []

        def body() -> tuple[Value, ...]:
            found.append(OpLeaves.of(builder, fun(*args, **kwargs), numbers=True))
            return tuple(found[0].values)

        results = builder.remat(body)
        return found[0].tree(results)

    return call


def map(f: Callable[[Tree], Tree], xs: Tree, batch_size: int | None = None) -> Tree:
    """
    Return the results of `f` for each element of the leading axis of `xs`, one after the other; as `jax.lax.map`.

    With `batch_size`, `rlx.vmap(f)` computes that number of elements at a time. It needs less memory than `rlx.vmap`
    of all elements. Raises GraphError for leading axes of different lengths.
    """
    if is_eager(xs) and batch_size is None:
        return scan(lambda carry, x: (carry, f(x)), np.int32(0), xs)[1]
    builder = builder_of(xs)
    if builder is None:
        return computed(lambda xs: map(f, xs, batch_size), (xs,), {})
    if batch_size is None:
        return scan(lambda carry, x: (carry, f(x)), np.int32(0), xs)[1]
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


def associative_scan(fn: Callable[[Tree, Tree], Tree], elems: Tree, reverse: bool = False, axis: int = 0) -> Tree:
    """
    Return all partial results of an associative `fn` along `axis`, in about `2 log2(n)` steps; as
    `jax.lax.associative_scan`.

    Element `i` is `fn(..fn(fn(x[0], x[1]), x[2]).., x[i])`, from the end if `reverse`. `fn(a, b)` combines trees of
    stacked elements: corresponding elements along `axis`. (Blelloch, 1990, Prefix sums and their applications) Raises
    GraphError for axes of different lengths, and for a result of another structure or shape.
    """
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
        pairs = builder.stack([part(even, at, None, shape[at]), odd], at + 1)
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


def while_loop(
    test: Callable[[Tree], Any], body: Callable[[Tree], Tree], init: Tree, max_iterations: int | None = None
) -> Tree:
    """
    Return the carry of `while test(carry): carry = body(carry)`, starting from the tree `init`.

    `max_iterations` is an upper bound of the number of iterations; with it, the loop has a reverse-mode gradient.
    """
    if is_eager(init):
        trips = 0
        while (max_iterations is None or trips < max_iterations) and test(init):
            init, trips = body(init), trips + 1
        return init
    builder = builder_of(init)
    if builder is None:
        return computed(lambda init: while_loop(test, body, init, max_iterations), (init,), {})
    spec = flatten(init)[1]
    left = _from(
        builder,
        init,
        lambda starts: builder.while_loop(
            lambda carries: test(unflatten(spec, carries)),
            lambda carries: _again("while_loop", spec, body(unflatten(spec, carries))),
            starts,
            max_iterations,
        ),
    )
    return unflatten(spec, left)


def fori_loop(lower: Any, upper: Any, body: Callable[[Any, Tree], Tree], init: Tree) -> Tree:
    """
    Return the carry of `for i in range(lower, upper): carry = body(i, carry)`, starting from the tree `init`.

    If both bounds are Python integers it is a `scan`, which has a reverse-mode gradient; otherwise it is a
    `while_loop`.
    """
    if is_eager(lower, upper, init):
        for i in range(int(lower), int(upper)):
            init = body(i, init)
        return init
    builder = builder_of(lower, upper, init)
    if builder is None:
        return computed(lambda *given: fori_loop(given[0], given[1], body, given[2]), (lower, upper, init), {})
    spec = flatten(init)[1]

    def after(carries: Sequence[Value]) -> tuple[Any, ...]:
        number, *rest = carries
        return number + 1, *_again("fori_loop", spec, body(number, unflatten(spec, rest)))

    # counted in a carry: the numbers of all iterations would be as long as the loop
    if isinstance(lower, int) and isinstance(upper, int):
        first, times = builder.constant(lower, i64), max(upper - lower, 0)
        left = _from(
            builder,
            init,
            lambda starts: builder.scan(lambda carries, _: (after(carries), None), (first, *starts), None, times)[0],
        )
    else:
        first = _operand(builder, lower) if isinstance(lower, Value) else builder.constant(np.int64(lower))
        left = _from(
            builder,
            init,
            lambda starts: builder.while_loop(lambda carries: carries[0] < upper, after, (first, *starts), None),
        )
    return unflatten(spec, left[1:])


def _operand(builder: MirBuilder, x: Operand) -> Value:
    return builder.value(builder.operand(x))


def _from(builder: MirBuilder, init: Tree, build: Callable[[tuple[Value, ...]], Any]) -> Any:
    """What a loop gives from `init` on. Python's integers are i64, or of the other leaves' type if that does not do."""
    leaves = flatten(init)[0]
    if any(type(leaf) is int for leaf in leaves):
        try:
            return build(_carries(builder, leaves, i64))
        except GraphError:
            pass
    return build(_carries(builder, leaves, None))


def _carries(builder: MirBuilder, leaves: Sequence[Any], integers: Attribute | None) -> tuple[Value, ...]:
    """The leaves a loop starts from; Python's numbers take the element type of the first that is none, else f32."""
    strong = (x for x in leaves if isinstance(x, Value) and not x.weak)
    like = next((x.type.get_element_type() for x in strong), None)
    if like is None:
        like = next((x.dtype for x in leaves if isinstance(x, np.ndarray | np.generic)), f32)
    found: list[Value] = []
    for leaf in leaves:
        if is_number(leaf) and not isinstance(leaf, complex):
            kind = i1 if isinstance(leaf, bool) else integers if isinstance(leaf, int) and integers else like
            found.append(builder.constant(leaf, kind))
        else:
            found.append(_operand(builder, leaf))
    if not found:
        raise GraphError("expected at least one carry, got an empty init")
    return tuple(found)


def _again(what: str, spec: Spec, carry: Tree) -> tuple[Any, ...]:
    leaves, other = flatten(carry)
    if other != spec:
        raise GraphError(f"{what}: expected the body to return a carry like init, {spec}, got {other}")
    return tuple(leaves)
