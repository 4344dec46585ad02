"""Functions on trees with derivative rules of their own, as `jax.custom_vjp` and `jax.custom_jvp`."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import update_wrapper, wraps
from types import MethodType
from typing import Any, Concatenate, Generic, Self, cast, overload

from typing_extensions import ParamSpec, TypeVar

from xdsl_rlx.binding import parameters_of
from xdsl_rlx.dialects.calls import called_as, shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.mir.custom_fn import is_continuous
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of
from xdsl_rlx.op_functions import computed
from xdsl_rlx.static_keys import is_static_leaf
from xdsl_rlx.tracing import Mode, Modes, Trace, builder_of, is_eager
from xdsl_rlx.tree import Spec, Tree, flatten, paths, unflatten
from xdsl_rlx.tree_leaves import OpLeaves

__all__ = ["custom_jvp", "custom_vjp"]

_P = ParamSpec("_P", default=...)
_R = TypeVar("_R", default=Any)
_Rest = ParamSpec("_Rest")

NESTED = 3
"""How often a rule that calls its own function is traced inside of itself, if any derivatives may be taken."""


class _Leaves(OpLeaves):
    """Leaves that may have derivatives."""

    @property
    def floats(self) -> list[int]:
        """Numbers of the leaves that have derivatives."""
        return [n for n in self.moving if is_continuous(self.leaves[n].ssa)]

    def derivatives(self, builder: MirBuilder, found: Sequence[Value]) -> Tree:
        """The tree of the tangents or cotangents of the floats; others are zeros, of texts and functions None."""
        left = dict(zip(self.floats, found, strict=True))
        return unflatten(
            self.spec,
            [
                left[n]
                if n in left
                else builder.zeros_like(x)
                if n in self.moving
                else None
                if is_static_leaf(x)
                else 0
                for n, x in enumerate(self.leaves)
            ],
        )

    def read(self, builder: MirBuilder, tree: Tree, what: str) -> list[Value]:
        """Tangents or cotangents of the floats from a tree like this one, in which None stands for zeros."""
        given = _prefix(self.spec, tree, what)
        places = paths(self.spec)
        found: list[Value] = []
        for n in self.floats:
            like, one = self.leaves[n], given[n]
            if one is None:
                found.append(builder.zeros_like(like))
                continue
            try:
                value = builder.value(builder.operand(one, like))
            except GraphError as error:
                raise GraphTypeError(f"{what}{places[n]}: {error}") from None
            if is_continuous(value.ssa) and (
                element_of(like.ssa) in COMPLEXES or element_of(value.ssa) not in COMPLEXES
            ):
                value = builder.cast(value, like.dtype)
            if value.shape == () != like.shape and not isinstance(one, Value):
                value = builder.expand(value, like.shape)
            if value.type != like.type:
                raise GraphTypeError(
                    f"{what}{places[n]}: expected {like.type} like the value that it belongs to, got {value.type}; "
                    "convert it with astype, or sum it to that shape"
                )
            found.append(value)
        return found


def _prefix(spec: Spec, tree: Tree, what: str) -> list[Any]:
    """The leaves of a tree, with None for all that are below a None."""
    if tree is None:
        return [None] * spec.num_leaves
    if spec.is_leaf():
        return [tree]
    try:
        parts = cast("Spec", spec.one_level()).flatten_up_to(tree)
    except ValueError:
        raise GraphError(f"{what}: expected a tree {spec}, got {flatten(tree)[1]}") from None
    return [leaf for child, part in zip(spec.children(), parts, strict=True) for leaf in _prefix(child, part, what)]


@dataclass(frozen=True)
class _Rule:
    """A rule that is being traced, and the call that it is for."""

    owner: Any
    """The `_WithRules`, which type checkers would take for a method here."""
    given: tuple[Any, ...] = ()
    """The leaves of the arguments."""
    result: Any = field(default_factory=lambda: _NOTHING)
    """What the function returns for these arguments, if the rule knows it."""
    left: _Left = None
    """The derivatives that may be taken of what it builds."""
    around: int = 0
    """How many are taken of the graph that it is in."""
    is_body: bool = False
    """Whether it is the function itself that is traced, of which no derivatives are taken: its rule has these."""


_NOTHING = object()

_rules: ContextVar[tuple[_Rule, ...]] = ContextVar("_rules", default=())


@contextmanager
def _tracing_rule(rule: _Rule) -> Generator[None]:
    token = _rules.set((*_rules.get(), rule))
    try:
        yield
    finally:
        _rules.reset(token)


_Left = frozenset[Modes] | None
"""Sequences of derivatives of which one will be taken; None stands for any."""


def _left(builder: MirBuilder) -> _Left:
    """The derivatives that are still taken of what is built."""
    modes = builder.modes if isinstance(builder, Trace) else None
    if modes is None or not _rules.get():
        return None if modes is None else frozenset((modes,))
    rule = _rules.get()[-1]
    if rule.left is None:
        return None
    before = modes[: len(modes) - rule.around]
    return frozenset(before + one for one in rule.left)


_TRANSPOSED = frozenset[Modes](((Mode.TRANSPOSE,), ()))


def _needs(left: _Left, mode: Mode) -> bool:
    return left is None or any(_is_of(kind, mode) for one in left for kind in one)


def _is_of(kind: Mode, mode: Mode) -> bool:
    """Whether a derivative is taken by the rules of a mode."""
    return kind is mode or (kind is Mode.TRANSPOSE and mode is Mode.REVERSE)


def _inside(left: _Left, mode: Mode, transposed: bool) -> _Left:
    """
    The derivatives of a rule of that mode, which is taken where that derivative is.

    A rule that is also `transposed`, for the other mode, is a linear function, of which reverse mode is taken.
    """
    if left is None:
        return None
    found = {one[n + 1 :] for one in left for n, kind in enumerate(one) if _is_of(kind, mode)}
    if transposed:
        found |= {
            (Mode.TRANSPOSE, *one[n + 1 :]) for one in left for n, kind in enumerate(one) if not _is_of(kind, mode)
        }
    return frozenset(found)


def _around(builder: MirBuilder) -> int:
    return len(builder.modes or ()) if isinstance(builder, Trace) else 0


def _same(a: Any, b: Any) -> bool:
    return a.ssa is b.ssa if isinstance(a, Value) and isinstance(b, Value) else a is b


class _WithRules(ABC, Generic[_P, _R]):
    """A function on trees with derivative rules of its own."""

    _what = ""
    _is_transposed = False
    """Whether reverse mode transposes the rule, in which the function itself would need a rule again and again."""

    def __init__(self, fun: Callable[_P, _R], nondiff_argnums: Sequence[int] = ()):
        if not callable(fun):  # pyright: ignore[reportUnnecessaryComparison]
            raise GraphTypeError(f"{self._what}: expected a function, got {shown(fun)}")
        self.fun: Callable[..., Any] = fun
        self.nested = NESTED
        self.recurs_as: Any = self
        """What stands for the function where its rules call it again; a front end makes objects of one function."""
        self.equals: Any = self
        """What stands for the function where its rules need its results for the same operands."""
        self.nondiff_argnums = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        update_wrapper(self, fun)

        @wraps(fun)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self(*args, **kwargs)

        self.parameters = parameters_of(call)

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: _WithRules[Concatenate[Any, _Rest], _R], instance: object, owner: type | None = None
    ) -> Callable[_Rest, _R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        values = self._positional(args, kwargs)
        if is_eager(values):
            return self.fun(*values)
        builder = builder_of(values)
        if builder is None:
            return computed(self, values, {})
        chosen = self._differentiable(len(values))
        given = _Leaves.of(builder, tuple(values[n] for n in chosen), numbers=False)
        fixed = [value for n, value in enumerate(values) if n not in chosen]

        def arguments(inner: Sequence[Value]) -> list[Any]:
            found, trees, others = [], iter(given.tree(inner)), iter(fixed)
            for n in range(len(values)):
                found.append(next(trees if n in chosen else others))
            return found

        return self._built(builder, given, fixed, values, arguments)

    def _built(
        self,
        builder: MirBuilder,
        given: _Leaves,
        fixed: list[Any],
        values: tuple[Any, ...],
        arguments: Callable[[Sequence[Value]], list[Any]],
    ) -> Any:
        active = [one for one in _rules.get() if not one.is_body and one.owner.recurs_as == self.recurs_as]
        leaves = tuple(flatten(values)[0])
        for one in active:
            if one.result is _NOTHING or one.owner.equals != self.equals:
                continue
            if len(one.given) == len(leaves) and all(map(_same, one.given, leaves)):
                return one.result
        self._check_rule()
        left = _left(builder)
        needless = left is not None and not any(left)
        # in its own rule, which is only transposed, the function is called for tangents: it is linear
        is_linear = bool(active) and left is not None and self._is_transposed and left <= _TRANSPOSED
        if needless or is_linear or (len(active) >= self.nested and (left is None or self._is_transposed)):
            if needless and isinstance(builder, Trace) and not any(one.is_body for one in _rules.get()):
                builder.outermost.left_out = True
            found = _Leaves.of(builder, self.fun(*arguments(given.values)), numbers=True)
            return found.tree(found.values)
        results: list[_Leaves] = []

        def forward(*inner: Value) -> tuple[Value, ...]:
            with _tracing_rule(_Rule(self, left=frozenset(((),)), around=_around(builder), is_body=True)):
                results.append(_Leaves.of(builder, self.fun(*arguments(inner)), numbers=True))
            return tuple(results[0].values)

        found = self._emitted(builder, given, fixed, arguments, forward, results)
        return results[0].tree(found)

    @abstractmethod
    def _check_rule(self) -> None:
        """GraphError unless a rule is defined."""

    @abstractmethod
    def _emitted(
        self,
        builder: MirBuilder,
        given: _Leaves,
        fixed: list[Any],
        arguments: Callable[[Sequence[Value]], list[Any]],
        forward: Callable[..., Any],
        results: list[_Leaves],
    ) -> Sequence[Value]:
        """The results of the op for the leaves of a call; `forward` appends those of the function to `results`."""

    def _positional(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call by position, with defaults."""
        if not kwargs:
            return tuple(args)
        try:
            bound = inspect.signature(self.fun).bind(*args, **kwargs)
        except TypeError as error:
            raise GraphTypeError(f"{self._name}: {error}") from None
        bound.apply_defaults()
        if bound.kwargs:
            raise GraphTypeError(
                f"{self._name}: a {self._what} function takes positional arguments, got the keyword argument "
                f"{next(iter(bound.kwargs))!r}; make it positional"
            )
        return bound.args

    def _differentiable(self, count: int) -> list[int]:
        """Positions of the arguments that have derivatives."""
        for n in self.nondiff_argnums:
            if not -count <= n < count:
                raise GraphError(f"{self._name}: nondiff_argnums: expected positions of {count} arguments, got {n}")
        fixed = {n % count for n in self.nondiff_argnums}
        return [n for n in range(count) if n not in fixed]

    @property
    def _name(self) -> str:
        return getattr(self.fun, "__name__", type(self.fun).__name__)

    def _pair(self, what: str, found: Any) -> tuple[Any, Any]:
        if not isinstance(found, tuple) or len(found) != 2:
            raise GraphError(f"{self._name}: expected {what}, got {shown(found)}")
        return found

    def _pushed(
        self,
        builder: MirBuilder,
        given: _Leaves,
        fixed: list[Any],
        results: list[_Leaves],
        jvp: Callable[..., Any],
        transposed: bool,
    ) -> Callable[..., tuple[Value, ...]]:
        """The rule of forward mode, of values: the tangents of the results."""

        def pushed(*inner: Value) -> tuple[Value, ...]:
            values, moved = inner[: len(given.moving)], inner[len(given.moving) :]
            left = _inside(_left(builder), Mode.FORWARD, transposed)
            with _tracing_rule(_Rule(self, left=left, around=_around(builder))):
                found = jvp(*fixed, given.tree(values), given.derivatives(builder, moved))
            out, tangents = self._pair("the jvp to return a pair (results, tangents of the results)", found)
            self._check_like("the jvp", out, results[0])
            return tuple(results[0].read(builder, tangents, f"{self._name}: the tangent that the jvp returns"))

        return pushed

    def _check_like(self, what: str, found: Tree, results: _Leaves) -> None:
        """GraphError unless a rule returns results of the structure of those of the function."""
        if (spec := flatten(found)[1]) != results.spec:
            raise GraphError(f"{self._name}: the function returns {results.spec}, but {what} returns {spec}")


class CustomVjp(_WithRules[_P, _R]):
    """A function on trees with a rule for its reverse-mode derivative; `rlx.custom_vjp` returns it."""

    _what = "custom_vjp"
    _fwd: Callable[..., Any] | None = None
    _bwd: Callable[..., Any] | None = None
    _jvp: Callable[..., Any] | None = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """
        Set the rule: `fwd(*args)` returns `(results, residuals)`, and `bwd(*nondiff, residuals, cotangents)` returns a
        tuple with a tree of cotangents for each differentiable argument.

        Residuals are any tree. None in place of a cotangent stands for zeros. The cotangents of results that are not
        floats are zeros.
        """
        self._fwd = called_as(f"{self._name}: fwd(*args)", fwd)
        self._bwd = called_as(f"{self._name}: bwd(*nondiff, residuals, cotangents)", bwd)

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """
        Set a rule of forward mode beside that of reverse mode, as by `CustomJvp.defjvp`; return `jvp`.

        Without it forward mode transposes the other rule, which has to be linear in the cotangents.
        """
        self._jvp = called_as(f"{self._name}: jvp(*nondiff, primals, tangents)", jvp)
        return jvp

    def _check_rule(self) -> None:
        if self._fwd is None or self._bwd is None:
            raise GraphError(f"{self._name}: no rule is defined for this custom_vjp function; call defvjp(fwd, bwd)")

    def _emitted(
        self,
        builder: MirBuilder,
        given: _Leaves,
        fixed: list[Any],
        arguments: Callable[[Sequence[Value]], list[Any]],
        forward: Callable[..., Any],
        results: list[_Leaves],
    ) -> Sequence[Value]:
        fwd, bwd = self._fwd, self._bwd
        assert fwd is not None and bwd is not None

        def backward(*inner: Value) -> tuple[Value, ...]:
            primals, rest = inner[: len(given.moving)], inner[len(given.moving) :]
            outputs, cotangents = rest[: len(results[0].moving)], rest[len(results[0].moving) :]
            called = arguments(primals)
            left = _inside(_left(builder), Mode.REVERSE, self._jvp is None)
            known = results[0].tree(outputs)
            rule = _Rule(self, tuple(flatten(tuple(called))[0]), known, left, _around(builder))
            with _tracing_rule(rule):
                out, residuals = self._pair("fwd to return a pair (results, residuals)", fwd(*called))
                self._check_like("fwd", out, results[0])
                found = bwd(*fixed, residuals, results[0].derivatives(builder, cotangents))
            if not isinstance(found, tuple | list):
                raise GraphError(
                    f"{self._name}: expected bwd to return a tuple with a cotangent for each of "
                    f"{given.spec.num_children} arguments, got {shown(found)}"
                )
            if len(found) != given.spec.num_children:
                raise GraphError(
                    f"{self._name}: expected bwd to return cotangents for {given.spec.num_children} arguments, got "
                    f"{len(found)}"
                )
            return tuple(
                given.read(builder, tuple(found), f"{self._name}: the cotangent that bwd returns for argument")
            )

        if self._jvp is None:
            return builder.custom_fn(forward, *given.values, vjp=backward)
        left = _left(builder)
        pushed = self._pushed(builder, given, fixed, results, self._jvp, False)
        return builder.custom_fn(
            forward,
            *given.values,
            vjp=backward if _needs(left, Mode.REVERSE) else None,
            jvp=pushed if _needs(left, Mode.FORWARD) else None,
        )


class CustomJvp(_WithRules[_P, _R]):
    """A function on trees with a rule for its derivatives; `rlx.custom_jvp` returns it."""

    _what = "custom_jvp"
    _is_transposed = True
    _jvp: Callable[..., Any] | None = None

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """
        Set the rule: `jvp(*nondiff, primals, tangents)` returns `(results, tangents of the results)`; return `jvp`.

        `primals` and `tangents` are tuples with a tree for each differentiable argument. The rule is linear in the
        tangents. Tangents of leaves that are not floats are zeros; None in place of a tangent stands for zeros.
        """
        self._jvp = called_as(f"{self._name}: jvp(*nondiff, primals, tangents)", jvp)
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """
        Set a rule for each argument: `jvp(tangent, result, *primals)` returns the tangent of the result that is due to
        this argument. None stands for a rule that returns zeros. GraphError with `nondiff_argnums`.
        """
        if self.nondiff_argnums:
            raise GraphError(f"{self._name}: defjvps cannot be used with nondiff_argnums; use defjvp")

        def jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            if len(jvps) != len(primals):
                raise GraphError(
                    f"{self._name}: defjvps: expected a rule or None for each of {len(primals)} arguments, got "
                    f"{len(jvps)}"
                )
            result = cast("Callable[..., Any]", self)(*primals)
            leaves, spec = flatten(result)
            totals: list[Any] = [None] * len(leaves)
            for n, (rule, tangent) in enumerate(zip(jvps, tangents, strict=True)):
                if rule is not None:
                    pushed = called_as(f"{self._name}: jvps[{n}](tangent, result, *primals)", rule)
                    found = _prefix(spec, pushed(tangent, result, *primals), f"{self._name}: a rule of defjvps")
                    totals = [b if a is None else a if b is None else a + b for a, b in zip(totals, found, strict=True)]
            return result, unflatten(spec, totals) if any(one is not None for one in totals) else None

        self._jvp = jvp

    def _check_rule(self) -> None:
        if self._jvp is None:
            raise GraphError(f"{self._name}: no rule is defined for this custom_jvp function; call defjvp or defjvps")

    def _emitted(
        self,
        builder: MirBuilder,
        given: _Leaves,
        fixed: list[Any],
        arguments: Callable[[Sequence[Value]], list[Any]],
        forward: Callable[..., Any],
        results: list[_Leaves],
    ) -> Sequence[Value]:
        jvp = self._jvp
        assert jvp is not None
        pushed = self._pushed(builder, given, fixed, results, jvp, True)
        return builder.custom_fn(forward, *given.values, jvp=pushed)


def custom_vjp(fun: Callable[_P, _R], nondiff_argnums: Sequence[int] = ()) -> CustomVjp[_P, _R]:
    """
    Return `fun` with a reverse-mode derivative of its own, set by `defvjp(fwd, bwd)`; as `jax.custom_vjp`.

    Arguments and results are trees. `bwd` receives the arguments at `nondiff_argnums` first. Strings, functions and
    Python's numbers are passed on as they are. The rule holds for every order of derivatives; forward mode transposes
    it. Values that `fun` captures are not differentiated. Raises GraphError for a call without a rule, and for
    cotangents that do not have the shapes of their arguments.

    ```python
    @rlx.custom_vjp
    def clip_gradient(x, limit):
        return x


    def backward(limit, g):
        return np.clip(g, -limit, limit), None


    clip_gradient.defvjp(lambda x, limit: (x, limit), backward)
    ```
    """
    return CustomVjp(fun, nondiff_argnums)


def custom_jvp(fun: Callable[_P, _R], nondiff_argnums: Sequence[int] = ()) -> CustomJvp[_P, _R]:
    """
    Return `fun` with a derivative of its own, set by `defjvp(jvp)` or `defjvps(*jvps)`; as `jax.custom_jvp`.

    Reverse mode transposes the rule. Arguments, captured values and errors are as for `rlx.custom_vjp`.

    ```python
    @rlx.custom_jvp
    def log1pexp(x):
        return np.log1p(np.exp(x))


    log1pexp.defjvps(lambda t, y, x: t * (1.0 - 1.0 / (1.0 + np.exp(x))))
    ```
    """
    return CustomJvp(fun, nondiff_argnums)
