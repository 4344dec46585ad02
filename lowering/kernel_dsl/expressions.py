"""Expressions of nests: names, numbers, elements of buffers, calls."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import partial
from types import FunctionType
from typing import Any, NoReturn, cast

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block
from xdsl.traits import is_speculatable
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.kernel_dsl.arithmetic import STATIC, Arithmetic, TypesError, compare
from xdsl_rlx.lowering.kernel_dsl.array_views import ArrayView, Span, ViewProduct, Views, WideView
from xdsl_rlx.lowering.kernel_dsl.callees import ALWAYS, OF_VALUES, is_of_kernel, meaning_of, takes_anything
from xdsl_rlx.lowering.kernel_dsl.frames import Callee, CallFrame, Closure, PlainFunction, unwrapped
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest, end_block
from xdsl_rlx.lowering.kernel_dsl.language import WORDS, Indices
from xdsl_rlx.lowering.kernel_dsl.meanings import MEANINGS, Place, Steps
from xdsl_rlx.lowering.kernel_dsl.syntax import Subset
from xdsl_rlx.lowering.kernel_dsl.trees import is_number
from xdsl_rlx.lowering.run_errors import KernelError


class Expressions(Subset[Any]):
    """The walk over expressions; what a function becomes is `inline`'s business."""

    nest: Nest
    frame: CallFrame
    arithmetic: Arithmetic
    views: Views

    @property
    @abstractmethod
    def place(self) -> Place: ...

    @abstractmethod
    def inline(self, callee: Callee, names: dict[str, Any]) -> Any: ...

    @abstractmethod
    def checked(self, node: ast.AST, make: Callable[[], Any]) -> Any: ...

    @abstractmethod
    def known_or_scalar(self, test: ast.expr) -> Any: ...

    def assign(self, target: ast.expr, value: Any) -> None:
        """Set a name, several, or an element."""
        match target:
            case ast.Name(id=name):
                self.frame.names[name] = value
                _hint(value, name)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(target, targets, value)
            case ast.Subscript(value=base, slice=index):
                self._set_element(target, base, index, value)
            case _:
                self.refuse(
                    target, "this assignment is not supported in a kernel; assign a name or an element of a buffer"
                )

    def _set_element(self, node: ast.expr, base: ast.expr, index: ast.expr, value: Any) -> None:
        whole = self.expression(base)
        if (method := _method(whole, "__setitem__")) is not None:
            self._called(node, method, (whole, self._index(index), value), {})
            return
        view = self._view(node, base, index)
        self.checked(node, lambda: self.views.store(self.nest, view, value))

    def _unpack(self, node: ast.expr, targets: Sequence[ast.expr], value: Any) -> None:
        given = list(self.values(node, value))
        starred = [n for n, target in enumerate(targets) if isinstance(target, ast.Starred)]
        if starred:
            n, rest = starred[0], len(targets) - starred[0] - 1
            given = [*given[:n], given[n : len(given) - rest], *given[len(given) - rest :]]
        if len(given) != len(targets):
            self.refuse(node, f"{len(given)} values are assigned to {len(targets)} names")
        for target, one in zip(targets, given, strict=True):
            self.assign(target.value if isinstance(target, ast.Starred) else target, one)

    def values(self, node: ast.AST, value: Any) -> Iterator[Any]:
        """The values that are known to be in something; those of a window are loaded when they are asked for."""
        if isinstance(value, ArrayView):
            return self._taken_apart(node, value)
        if isinstance(value, Scalar | Steps | Indices) or not hasattr(value, "__iter__"):
            self.refuse(node, "expected a value that is known at compile time, such as a tuple, to unpack")
        return iter(value)

    def _taken_apart(self, node: ast.AST, view: ArrayView) -> Iterator[Any]:
        size = view.shape[0] if view.shape else None
        if not isinstance(size, int):
            self.refuse(
                node, "the length of a window must be known at compile time to unpack it; write a loop over its range"
            )
        for n in range(size):
            part = self.checked(node, partial(self.views.at, self.nest.scalars, view, [n]))
            yield part if part.spans else self.checked(node, partial(self.views.load, self.nest, part))

    def update(self, target: ast.expr, operator: ast.operator, value: ast.expr) -> None:
        """`target operator= value`."""
        if not isinstance(target, ast.Subscript):
            name = ast.copy_location(ast.Name(getattr(target, "id", ""), ast.Load()), target)
            self.assign(target, self.binary(target, operator, self.expression(name), self.expression(value)))
            return
        view, given = self._view(target, target.value, target.slice), self.expression(value)
        if isinstance(given, ViewProduct):
            if not isinstance(operator, ast.Add):
                self.refuse(target, "a matmul can only be stored or added; negate one of its operands first")
            self.checked(target, lambda: self.views.store(self.nest, view, given, add=True))
            return
        if view.spans:
            self.refuse(target, "only a matmul can be added to a window; write a loop over its elements")
        before = self.checked(target, lambda: self.views.load(self.nest, view))
        made = self.binary(target, operator, before, given)
        self.checked(target, lambda: self.views.store(self.nest, view, made))

    def constant(self, node: ast.expr, value: object) -> Any:
        return value

    def name(self, node: ast.expr, name: str) -> Any:
        try:
            found = self.frame.look_up(name)
        except KeyError:
            self.refuse(node, f"{name} is not assigned here; a name first assigned in a loop or branch is local to it")
        if found.__class__ is Scalar and found.b is not self.nest.scalars:
            return self.nest.scalars.of(found.value)
        return found

    def unary(self, node: ast.expr, operator: ast.unaryop, x: Any) -> Any:
        if not isinstance(x, Scalar):
            return self._static(node, lambda: STATIC[type(operator)](x), x)
        s, x = self.nest.scalars, self.nest.scalars.of(x.value)
        match operator:
            case ast.USub():
                return s.neg(x)
            case ast.Not():
                return s.not_(x if x.type == i1 else s.ne(x, 0))
            case ast.Invert():
                return self.checked(
                    node, lambda: self.arithmetic.binary(s, ast.BitXor, x, -1 if x.type != i1 else True)
                )
            case _:
                return x

    def _static(self, node: ast.AST, make: Callable[[], Any], *given: Any) -> Any:
        """What Python computes now of what is known now."""
        for x in given:
            if isinstance(x, ArrayView | ViewProduct | Steps):
                self.refuse(
                    node, "expected a number, got a window or range; index it, or write a loop over its elements"
                )
        try:
            return make()
        except Exception as e:
            self._fail(node, e)

    def _fail(self, node: ast.AST, error: Exception) -> NoReturn:
        """Say what Python said."""
        if isinstance(error, KernelError):
            raise error
        self.refuse(node, f"{type(error).__name__}: {error}")

    def binary(self, node: ast.expr, operator: ast.operator, a: Any, b: Any) -> Any:
        if isinstance(operator, ast.MatMult):
            if isinstance(a, WideView) and isinstance(b, WideView):
                return ViewProduct(a.view, b.view)
            if isinstance(a, ArrayView) and isinstance(b, ArrayView):
                return ViewProduct(a, b)
            self.refuse(node, "expected two windows of buffers as operands of a matmul")
        if not isinstance(a, Scalar) and (own := _own_operator(type(a), operator)) is not None:
            return self._called(node, own, (a, b), {})
        if not isinstance(a, Scalar) and not isinstance(b, Scalar):
            return self._static(node, lambda: STATIC[type(operator)](a, b), a, b)
        self._numbers(node, a, b)
        try:
            return self.arithmetic.binary(self.nest.scalars, type(operator), a, b)
        except TypesError as e:
            self.refuse(node, str(e))

    def _numbers(self, node: ast.AST, *given: Any) -> None:
        for x in given:
            if not isinstance(x, Scalar) and not is_number(x):
                what = "a window; index it" if isinstance(x, ArrayView) else f"{x!r}, which is no number"
                self.refuse(node, f"an operand is {what}")

    def compare(self, node: ast.expr, operator: ast.cmpop, a: Any, b: Any) -> Any:
        if isinstance(operator, ast.Is | ast.IsNot) or not (isinstance(a, Scalar) or isinstance(b, Scalar)):
            return self._static(node, lambda: STATIC[type(operator)](a, b))
        self._numbers(node, a, b)

        def make() -> Scalar:
            s = self.nest.scalars
            return compare(s, type(operator), *self.arithmetic.together(s, a, b))

        return self.checked(node, make)

    def either(self, node: ast.expr, operator: ast.boolop, first: ast.expr, second: ast.expr) -> Any:
        """`and` and `or`: the second is computed at once where that is only arithmetic, else if it is asked for."""
        is_and = isinstance(operator, ast.And)
        found = self.known_or_scalar(first)
        if not isinstance(found, Scalar):
            return self.known_or_scalar(second) if found == is_and else found
        nest, other = self._apart(lambda: self.known_or_scalar(second))
        if not isinstance(other, Scalar):
            return found if other == is_and else other
        s = self.nest.scalars
        if self._is_arithmetic(nest):
            self._move(nest)
            x, y = s.of(found.value), s.of(other.value)
            return x & y if is_and else x | y
        known = Nest(Block(), self.nest.kernel)
        rest = known.scalars.const(not is_and, i1)
        return self._one_of(
            found, (nest, other) if is_and else (known, rest), (known, rest) if is_and else (nest, other)
        )

    def choice(self, node: ast.expr, test: ast.expr, body: ast.expr, orelse: ast.expr) -> Any:
        """`body if test else orelse`: a choice of numbers, or a branch where a side is more than arithmetic."""
        condition = self.known_or_scalar(test)
        if not isinstance(condition, Scalar):
            return self.expression(body if condition else orelse)
        sides = [self._apart(lambda part=part: self.expression(part)) for part in (body, orelse)]
        for _, x in sides:
            self._numbers(node, x)
        (then, a), (other, b) = sides
        type_ = (
            self.checked(node, lambda: self.arithmetic.common(a, b))
            if isinstance(a, Scalar) or isinstance(b, Scalar)
            else None
        )
        if type_ is None:
            self.refuse(node, "a choice of two plain numbers has no type; cast one")
        if self._is_arithmetic(then) and self._is_arithmetic(other):
            self._move(then)
            self._move(other)
            return self.checked(node, lambda: MEANINGS["select"](self.place, condition, a, b))
        x, y = (self._typed(nest, value, type_) for nest, value in sides)
        return self._one_of(condition, (then, x), (other, y))

    def _typed(self, nest: Nest, x: Any, type_: Attribute) -> Scalar:
        return (
            nest.scalars.cast(nest.scalars.of(x.value), type_)
            if isinstance(x, Scalar)
            else nest.scalars.const(x, type_)
        )

    def _apart(self, make: Callable[[], Any]) -> tuple[Nest, Any]:
        """What `make` inserts, in a place of its own."""
        nest, kept = Nest(Block(), self.nest.kernel), self.nest
        self.nest = nest
        try:
            return nest, make()
        finally:
            self.nest = kept

    def _is_arithmetic(self, nest: Nest) -> bool:
        return all(is_speculatable(op) for op in nest.block.ops)

    def _move(self, nest: Nest) -> None:
        for op in list(nest.block.ops):
            op.detach()
            self.nest.builder.insert(op)

    def _one_of(self, condition: Scalar, then: tuple[Nest, Scalar], other: tuple[Nest, Scalar]) -> Scalar:
        for nest, value in (then, other):
            end_block(nest.block, [value.value])
        (chosen,) = self.nest.choose(condition.value, then[0].block, other[0].block, [then[1].type])
        return self.nest.scalars.of(chosen)

    def other(self, node: ast.expr) -> Any:
        match node:
            case ast.Attribute(value=base, attr=name):
                return self._attribute(node, self.expression(base), name)
            case ast.Subscript(value=base, slice=index):
                return self._element(node, base, index)
            case ast.Tuple(elts=elements):
                return tuple(self._elements(elements))
            case ast.List(elts=elements):
                return list(self._elements(elements))
            case (
                ast.ListComp(elt=element, generators=generators) | ast.GeneratorExp(elt=element, generators=generators)
            ):
                return self._comprehension(element, generators)
            case ast.Lambda(args=arguments):
                defaults = tuple(self.expression(x) for x in arguments.defaults)
                return Closure(node, self.frame, defaults, {})
            case ast.JoinedStr() | ast.FormattedValue():
                return ast.unparse(node)
            case _:
                return super().other(node)

    def _elements(self, nodes: Sequence[ast.expr]) -> Iterator[Any]:
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from self.values(node, self.expression(node.value))
            else:
                yield self.expression(node)

    def _comprehension(self, element: ast.expr, generators: Sequence[ast.comprehension]) -> list[Any]:
        if not generators:
            return [self.expression(element)]
        first, *rest = generators
        kept, found = self.frame.names, list[Any]()
        try:
            for value in self.values(first.iter, self.expression(first.iter)):
                self.frame.names = dict(kept)
                self.assign(first.target, value)
                if all(self._known(test) for test in first.ifs):
                    found += self._comprehension(element, rest)
        finally:
            self.frame.names = kept
        return found

    def _known(self, test: ast.expr) -> bool:
        found = self.known_or_scalar(test)
        if isinstance(found, Scalar):
            self.refuse(test, "the condition of a comprehension must be known at compile time")
        return found

    def _attribute(self, node: ast.expr, base: Any, name: str) -> Any:
        if isinstance(base, Scalar):
            self.refuse(node, "a scalar of the kernel has no attributes")
        if isinstance(base, ArrayView):
            if name not in ("shape", "T", "ndim"):
                self.refuse(node, "a buffer has the attributes shape, ndim and T")
            return self.checked(node, lambda: len(base.spans) if name == "ndim" else getattr(base, name))
        row = getattr(cast("type[Any]", type(base)), name, None)
        if isinstance(row, property) and isinstance(row.fget, FunctionType) and is_of_kernel(base):
            return self._called(node, row.fget, (base,), {})
        try:
            return getattr(base, name)
        except Exception as e:
            self._fail(node, e)

    def _element(self, node: ast.expr, base: ast.expr, index: ast.expr) -> Any:
        value = self.expression(base)
        if not isinstance(value, ArrayView):
            given = self._index(index)
            if (method := _method(value, "__getitem__")) is not None:
                return self._called(node, method, (value, given), {})
            if isinstance(given, Scalar):
                self.refuse(node, "the index of a tuple must be known at compile time; use scratch for a lookup table")
            if isinstance(given, Span):
                given = slice(given.start, given.start + given.size)
            try:
                return value[given]
            except Exception as e:
                self._fail(node, e)
        view = self._at(node, value, index)
        return view if view.spans else self.checked(node, lambda: self.views.load(self.nest, view))

    def _view(self, node: ast.expr, base: ast.expr, index: ast.expr) -> ArrayView:
        value = self.expression(base)
        if not isinstance(value, ArrayView):
            self.refuse(node, "only elements of buffers can be assigned")
        return self._at(node, value, index)

    def _at(self, node: ast.expr, view: ArrayView, index: ast.expr) -> ArrayView:
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if len(parts) == 1 and isinstance(parts[0], ast.Constant) and parts[0].value is Ellipsis:
            return view
        given: list[Any] = []
        for part in parts:
            if isinstance(part, ast.Starred):
                given += self.values(part, self.expression(part.value))
            elif isinstance(part, ast.Slice):
                given.append(self._span(part, view, len(given)))
            else:
                found = self.expression(part)
                given += found if isinstance(found, tuple) else [found]
        return self.checked(node, lambda: self.views.at(self.nest.scalars, view, given))

    def _index(self, index: ast.expr) -> Any:
        if not isinstance(index, ast.Slice):
            return self.expression(index)
        ends = [None if x is None else self.expression(x) for x in (index.lower, index.upper, index.step)]
        return slice(*ends)

    def _span(self, part: ast.Slice, view: ArrayView, number: int) -> Span:
        """`start : stop`; of `x : x + n` it is known that they are `n`."""
        if number >= len(view.spans):
            self.refuse(part, f"{number + 1} indices for {len(view.spans)} dimensions")
        whole = view.spans[number]
        if part.step is not None:
            self.refuse(part, "a window has no steps; write a loop over range(start, stop, step)")
        if part.lower is None and part.upper is None:
            return Span(0, whole.size, True)
        start = self.expression(part.lower) if part.lower is not None else 0
        if part.upper is None:
            return Span(start, self.binary(part, ast.Sub(), whole.size, start))
        match part.upper:
            case ast.BinOp(left=left, op=ast.Add(), right=right) if part.lower is not None:
                if ast.dump(left) == ast.dump(part.lower):
                    return Span(start, self.expression(right))
            case _:
                pass
        stop = self.expression(part.upper)
        return Span(start, self.binary(part, ast.Sub(), stop, start), stop=stop)

    def call(
        self, node: ast.Call, function: ast.expr, arguments: Sequence[ast.expr], keywords: Sequence[ast.keyword]
    ) -> Any:
        callee = self.expression(function)
        given = tuple(self._elements(arguments))
        named: dict[str, Any] = {}
        for keyword in keywords:
            value = self.expression(keyword.value)
            named |= value if keyword.arg is None else {keyword.arg: value}
        return self._called(node, callee, given, named)

    def _called(self, node: ast.expr, callee: Any, given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        function, first, before = unwrapped(callee)
        given, named = (*first, *given), {**before, **named}
        if isinstance(function, Closure):
            return self._inlined(node, Callee.of_closure(function), given, named)
        if isinstance(function, PlainFunction):
            return self._inlined(node, Callee.of_function(function.function), given, named)
        if function in OF_VALUES:
            given = tuple(self.values(node, x) if isinstance(x, ArrayView) else x for x in given)
        # The last first: the first may be an object of many fields that are known.
        touches = any(map(is_of_kernel, (*named.values(), *reversed(given))))
        if (meaning := meaning_of(function)) is not None:
            if touches or (function in WORDS and not given) or getattr(function, "__name__", "") in ALWAYS:
                return self._meant(node, meaning, given, named)
        elif touches and isinstance(function, FunctionType):
            return self._inlined(node, Callee.of_function(function), given, named)
        if touches and not takes_anything(function):
            name = getattr(function, "__name__", repr(function))
            self.refuse(node, f"{name} is not supported in kernels; docs/custom-ops.md lists the supported functions")
        found = self._static(node, lambda: function(*given, **named))
        return _plain(found)

    def _meant(
        self, node: ast.expr, meaning: Callable[..., Any], given: Sequence[Any], named: Mapping[str, Any]
    ) -> Any:
        def make() -> Any:
            try:
                return meaning(self.place, *given, **named)
            except (TypeError, PassFailedException) as e:
                raise TypesError(str(e)) from None

        return self.checked(node, make)

    def _inlined(self, node: ast.expr, callee: Callee, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        names = self._static(node, lambda: callee.bind(given, named))
        return self.inline(callee, names)


def _own_operator(of: Any, kind: ast.operator) -> FunctionType | None:
    """The method that a dataclass has for an operator."""
    if of in (int, float, bool) or not is_dataclass(of):
        return None
    method = getattr(of, f"__{STATIC[type(kind)].__name__.rstrip('_')}__", None)
    return method if isinstance(method, FunctionType) else None


def _plain(value: Any) -> Any:
    """A number that a function of NumPy's gives now as one of Python's, which takes the type of what it meets."""
    is_number = type(value).__module__ == "numpy" and getattr(value, "shape", None) == ()
    return value.item() if is_number else value


def _hint(value: Any, name: str) -> None:
    """Name a value of the kernel by the name that it is set to."""
    found = value.value if isinstance(value, Scalar) else value.buffer if isinstance(value, ArrayView) else None
    if found is not None and found.name_hint is None:
        found.name_hint = name.replace(" ", "_")


def _method(value: object, name: str) -> FunctionType | None:
    """A method that is written in Python."""
    found = getattr(type(value), name, None)
    return found if isinstance(found, FunctionType) else None
