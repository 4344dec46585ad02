"""Buffers as nests index them: elements, and windows of some dimensions, which are products' operands or filled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from xdsl.dialects.builtin import i8, i32
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.lir import BlockGemmOp, GemmOp
from xdsl_rlx.dialects.lir.memory import memref_of
from xdsl_rlx.dialects.lir.scalar_builder import INDEX, Scalar, ScalarBuilder
from xdsl_rlx.dialects.shapes import compute_type
from xdsl_rlx.lowering.kernel_dsl.arithmetic import Arithmetic, TypesError, cast, is_unsigned
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.lowering.kernel_dsl.trees import parts

_SEVERAL: tuple[type[Any], ...] = (list, tuple)


@dataclass(frozen=True)
class Span:
    """A range of a dimension: `size` places from `start` on, to `stop` if that was written; `is_whole` if all of it."""

    start: Any
    size: Any
    is_whole: bool = False
    stop: Any = None


@dataclass(frozen=True)
class ArrayView:
    """A buffer of a kernel: an index or a range for each of its dimensions."""

    buffer: SSAValue
    places: tuple[Any, ...]
    transposed: bool = False

    @staticmethod
    def of(buffer: SSAValue) -> ArrayView:
        """All of a buffer."""
        return ArrayView(buffer, tuple(Span(0, n, True) for n in memref_of(buffer).get_shape()))

    @property
    def spans(self) -> list[Span]:
        """The ranges that are left to index."""
        found = [place for place in self.places if isinstance(place, Span)]
        return found[::-1] if self.transposed else found

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents of what is left to index."""
        return tuple(span.size for span in self.spans)

    @property
    def T(self) -> ArrayView:
        """A matrix with its dimensions exchanged, as an operand of a product."""
        if len(self.spans) != 2:
            raise TypesError(f"only a window of two dimensions is transposed, got {len(self.spans)}")
        return replace(self, transposed=not self.transposed)


@dataclass(frozen=True)
class WideView:
    """A window of i8 cast to i32, as an operand of a product."""

    view: ArrayView

    @staticmethod
    def of(view: ArrayView, type_: Attribute) -> WideView:
        """TypesError for other types: windows are converted by loops."""
        found = memref_of(view.buffer).element_type
        if (found, type_) != (i8, i32):
            raise TypesError(f"only a window of i8 is cast, to i32 for a matmul; got {found} and {type_}: write a loop")
        return WideView(view)


@dataclass(frozen=True)
class ViewProduct:
    """`a @ b`, until it is stored."""

    a: ArrayView
    b: ArrayView


def index_of(nest: Nest, x: Any) -> SSAValue:
    """An index as a value."""
    if isinstance(x, Scalar):
        return cast(nest.scalars, x, INDEX).value
    if isinstance(x, bool | float) or not hasattr(x, "__index__"):
        raise TypesError(f"expected an integer as index, got {x!r}")
    return nest.kernel.index(int(x))


def check_writable(nest: Nest, view: ArrayView) -> None:
    """TypesError for a view of an operand: it may be a caller's array, a constant, or what other kernels read."""
    if view.buffer in nest.kernel.read_only:
        name = view.buffer.name_hint or "this"
        raise TypesError(f"{name} is an operand, which is only read; write to a result, or to a copy in scratch")


class Views:
    """What is done with views at a place in a kernel."""

    def __init__(self, arithmetic: Arithmetic):
        self.arithmetic = arithmetic

    def at(self, s: ScalarBuilder, view: ArrayView, given: Sequence[Any]) -> ArrayView:
        """A view with indices and ranges for its next dimensions."""
        if view.transposed:
            raise TypesError("a transposed window can only be an operand of a matmul; index it before .T")
        waiting, places = list(given)[::-1], list[Any]()
        for n, place in enumerate(view.places):
            if isinstance(place, Span) and waiting:
                places.append(self._placed(s, view, n, place, waiting.pop()))
            else:
                places.append(place)
        if waiting:
            raise TypesError(f"{len(given)} indices for {len(view.spans)} dimensions")
        return ArrayView(view.buffer, tuple(places))

    def _placed(self, s: ScalarBuilder, view: ArrayView, number: int, span: Span, given: Any) -> Any:
        if isinstance(given, Span):
            start = self.add(s, span.start, given.start)
            stop = given.stop if start is given.start else None
            return Span(start, given.size, span.is_whole and given.is_whole, stop)
        if not isinstance(given, Scalar):
            if isinstance(given, bool | float) or not hasattr(given, "__index__"):
                raise TypesError(f"expected an integer as index, got {given!r}")
            size = span.size if isinstance(span.size, int) else memref_of(view.buffer).get_shape()[number]
            if not -size <= given < size:
                raise TypesError(f"index {given} is outside of the extent {size}")
            given = given + size if given < 0 else given
        return self.add(s, span.start, given)

    def add(self, s: ScalarBuilder, a: Any, b: Any) -> Any:
        """The sum of two indices."""
        if not isinstance(a, Scalar) and not isinstance(b, Scalar):
            return a + b
        if isinstance(b, Scalar) and b.type != INDEX:
            b = cast(s, b, INDEX)
        if not isinstance(a, Scalar) and a == 0:
            return b
        if not isinstance(b, Scalar) and b == 0:
            return a
        x, y = self.arithmetic.together(s, a, b)
        return x + y

    def load(self, nest: Nest, view: ArrayView) -> Scalar:
        """The element that all indices lead to; an unsigned one is read as that."""
        load = nest.element if is_unsigned(memref_of(view.buffer).element_type) else nest.load
        return load(view.buffer, self.indices(nest, view))

    def indices(self, nest: Nest, view: ArrayView) -> list[SSAValue]:
        """Where a view begins, along all dimensions of its buffer."""
        return [index_of(nest, place.start if isinstance(place, Span) else place) for place in view.places]

    def store(self, nest: Nest, view: ArrayView, value: Any, add: bool = False) -> None:
        """Set an element, or all elements of a window: to a number, to those of another, or to a product."""
        check_writable(nest, view)
        if isinstance(value, ViewProduct):
            _multiply(nest, value, view, self, add)
        elif add:
            raise TypesError("only a matmul can be added to a window; write a loop")
        elif isinstance(value, _SEVERAL):
            self._store_each(nest, view, value)
        elif isinstance(value, ArrayView):
            if len(value.spans) != len(view.spans):
                raise TypesError(f"{len(value.spans)} dimensions are copied into {len(view.spans)}")
            self._each(nest, [view, value], self._copy)
        elif view.spans:
            self._each(nest, [view], partial(self._fill, value))
        else:
            nest.store(self._stored(nest, view, value), view.buffer, self.indices(nest, view))

    def _store_each(self, nest: Nest, view: ArrayView, given: object) -> None:
        """Set a window to numbers that are written out, or windows of it to several of them each."""
        values = [x for _, x in parts(given) or ()]
        if view.shape[:1] != (len(values),):
            raise TypesError(f"{len(values)} values are set in a window of extents {view.shape}; their numbers differ")
        for n, x in enumerate(values):
            self.store(nest, self.at(nest.scalars, view, [n]), x)

    def _stored(self, nest: Nest, view: ArrayView, value: Any) -> Scalar:
        element = memref_of(view.buffer).element_type
        if isinstance(value, Scalar):
            return cast(nest.scalars, value, element)
        if not isinstance(value, bool | int | float):
            raise TypesError(f"expected a number to store, got {value!r}")
        return nest.scalars.const(value, compute_type(element))

    def _copy(self, nest: Nest, to: ArrayView, of: ArrayView) -> None:
        self.store(nest, to, self.load(nest, of))

    def _fill(self, value: Any, nest: Nest, to: ArrayView) -> None:
        self.store(nest, to, value)

    def _each(self, nest: Nest, views: list[ArrayView], body: Callable[..., None]) -> None:
        """`body` on the elements of windows of one shape."""
        if not views[0].spans:
            body(nest, *views)
            return
        size = views[0].spans[0].size
        if not isinstance(size, Scalar) and size <= 0:
            return
        for inside, j in nest.over((nest.kernel.index(0), index_of(nest, size)), "j"):
            here = [self.at(inside.scalars, view, [inside.scalars.of(j)]) for view in views]
            self._each(inside, here, body)


def _multiply(nest: Nest, product: ViewProduct, target: ArrayView, views: Views, add: bool) -> None:
    """
    `target = a @ b`, or `+=`: by `lir.gemm` where the same ranges are cut from both sides, else by `lir.block_gemm`.

    A range of the inner dimension is that of a `lir.gemm` if it begins somewhere; what begins at 0 is a block's corner.
    """
    a, b = product.a, product.b
    if target.transposed:
        a, b, target = b.T, a.T, target.T
    for view in (a, b, target):
        if len(view.spans) != 2 or any(not isinstance(place, Span) for place in view.places[-2:]):
            raise TypesError("expected windows of the last two dimensions of their buffers as operands of a matmul")
    (rows, depth), (inner, columns), result = a.spans, b.spans, target.spans
    plain = not a.transposed and not b.transposed
    whole = depth.is_whole and inner.is_whole
    part = isinstance(depth.start, Scalar) and _is_same(depth, inner)
    if plain and (whole or part) and _is_same(rows, result[0]) and _is_same(columns, result[1]):
        bounds = [_bounds(nest, views, span) for span in (*result, *([] if whole else [depth]))]
        leading = [views.indices(nest, view)[:-2] for view in (a, b, target)]
        op = GemmOp(
            a.buffer,
            b.buffer,
            target.buffer,
            *bounds,
            a_indices=leading[0],
            b_indices=leading[1],
            c_indices=leading[2],
            accumulate=add,
        )
        nest.builder.insert(op)
        return
    sizes = [index_of(nest, span.size) for span in (*result, depth)]
    flags = {"transpose_a": a.transposed, "transpose_b": b.transposed, "accumulate": add}
    left, right, into = ((view.buffer, views.indices(nest, view)) for view in (a, b, target))
    nest.builder.insert(BlockGemmOp(left, right, into, (sizes[0], sizes[1], sizes[2]), **flags))


def _is_same(a: Span, b: Span) -> bool:
    """Whether a range of a factor is that of the result, as the ranges were written."""
    if a.is_whole and b.is_whole:
        return True
    ends = a.stop is not None and _key(a.stop) == _key(b.stop)
    return _key(a.start) == _key(b.start) and (ends or _key(a.size) == _key(b.size))


def _key(x: Any) -> Any:
    return x.value if isinstance(x, Scalar) else x


def _bounds(nest: Nest, views: Views, span: Span) -> tuple[SSAValue, SSAValue]:
    stop = views.add(nest.scalars, span.start, span.size) if span.stop is None else span.stop
    return index_of(nest, span.start), index_of(nest, stop)
