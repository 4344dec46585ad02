"""What the functions that nests call become in a kernel: a row a name, for `language.py`, NumPy and Python's own."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.lir import LAPACK_OPS, GetrfOp, LapackOp
from xdsl_rlx.dialects.lir.bounds import SCRATCH_LIMIT
from xdsl_rlx.dialects.lir.memory import byte_size
from xdsl_rlx.dialects.lir.scalar_builder import INDEX, Scalar, ScalarBuilder, is_float
from xdsl_rlx.dialects.shapes import DTYPES
from xdsl_rlx.lowering.kernel_dsl import arithmetic
from xdsl_rlx.lowering.kernel_dsl.arithmetic import Arithmetic, TypesError
from xdsl_rlx.lowering.kernel_dsl.array_views import ArrayView, Span, Views, WideView, check_writable, index_of
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.lowering.kernel_dsl.language import Indices, Iteration


@dataclass(frozen=True)
class Place:
    """Where in a kernel a function is called."""

    nest: Nest
    arithmetic: Arithmetic
    views: Views

    @property
    def scalars(self) -> ScalarBuilder:
        """What inserts scalar ops there."""
        return self.nest.scalars


@dataclass(frozen=True)
class Steps:
    """`range(start, stop, step)`, an end of which is a scalar, or that is marked."""

    start: Any
    stop: Any
    step: int = 1
    mark: str | None = None
    backwards: bool = False


Meaning: TypeAlias = Callable[..., Any]
"""`(place, *arguments)`: the value of a call."""

MEANINGS: dict[str, Meaning] = {}


def _row(function: Meaning) -> Meaning:
    MEANINGS[function.__name__.removeprefix("_")] = function
    return function


def element_type(given: object) -> Attribute:
    """An element type or index, however it is named."""
    if given == INDEX:
        return INDEX
    if given is int:
        return DTYPES["i64"]
    if given is float:
        return DTYPES["f64"]
    try:
        return constants.element_type(given)
    except GraphError as e:
        raise TypesError(str(e)) from None


def _only(place: Place, x: Any, what: str) -> Scalar:
    if not isinstance(x, Scalar):
        raise TypesError(f"{what} expects a scalar of the kernel, got {x!r}")
    return place.scalars.of(x.value)


def _unary(name: str, method: Callable[[ScalarBuilder, Scalar], Scalar]) -> None:
    def emit(place: Place, x: Any) -> Scalar:
        value = _only(place, x, name)
        if not is_float(value.type):
            raise TypesError(
                f"{name} is supported for floats only; write {name}(cast(x, f32)) or f64, got {value.type}"
            )
        return method(place.scalars, value)

    MEANINGS[name] = emit


for _name in (
    *("exp", "exp2", "expm1", "log", "log2", "log1p", "tanh", "erf", "erfc", "sin", "cos", "tan", "sqrt", "rsqrt"),
    *("floor", "ceil", "trunc", "sigmoid", "lgamma", "digamma"),
):
    _unary(_name, getattr(ScalarBuilder, _name))
_unary("arctan", ScalarBuilder.atan)
_unary("rint", ScalarBuilder.round_even)


@_row
def _absolute(place: Place, x: Any) -> Any:
    return place.scalars.abs(_only(place, x, "abs")) if isinstance(x, Scalar) else abs(x)


MEANINGS["abs"] = _absolute


@_row
def _isnan(place: Place, x: Any) -> Scalar:
    return place.scalars.is_nan(_only(place, x, "isnan"))


def _two(place: Place, a: Any, b: Any) -> tuple[Scalar, Scalar]:
    if not isinstance(a, Scalar) and not isinstance(b, Scalar):
        raise TypesError("expected at least one scalar of the kernel among two numbers; cast one")
    return place.arithmetic.together(place.scalars, a, b)


def _extreme(largest: bool) -> Meaning:
    def emit(place: Place, a: Any, b: Any) -> Any:
        if not isinstance(a, Scalar) and not isinstance(b, Scalar):
            return max(a, b) if largest else min(a, b)
        return place.arithmetic.extreme(place.scalars, largest, a, b)

    return emit


MEANINGS["maximum"], MEANINGS["minimum"] = _extreme(True), _extreme(False)


def _extreme_of_integers(name: str, largest: bool) -> None:
    def emit(place: Place, first: Any, *rest: Any) -> Any:
        found, *others = (first, *rest) if rest else list(first)
        for x in others:
            for one in (found, x):
                if isinstance(one, Scalar) and is_float(one.type):
                    raise TypesError(
                        f"{name} is not supported for floats: with NaN it depends on their order; write np.{name}imum"
                    )
            found = _extreme(largest)(place, found, x)
        return found

    MEANINGS[name] = emit


_extreme_of_integers("max", True)
_extreme_of_integers("min", False)


@_row
def _clamp(place: Place, x: Any, low: Any, high: Any) -> Any:
    return MEANINGS["minimum"](place, MEANINGS["maximum"](place, x, low), high)


@_row
def _select(place: Place, condition: Any, a: Any, b: Any) -> Any:
    if not isinstance(condition, Scalar):
        return a if condition else b
    if type(a) is int and type(b) is int:
        a = place.scalars.const(a, INDEX)
    return place.scalars.select(place.scalars.of(condition.value), *_two(place, a, b))


MEANINGS["where"] = _select


@_row
def _power(place: Place, x: Any, y: Any) -> Scalar:
    return place.scalars.pow(*_two(place, x, y))


@_row
def _copysign(place: Place, x: Any, y: Any) -> Scalar:
    return place.scalars.copysign(*_two(place, x, y))


@_row
def _accumulate(place: Place, total: Any, x: Any) -> Scalar:
    return place.scalars.accumulate_add(*_two(place, total, x))


@_row
def _accumulate_max(place: Place, largest: Any, x: Any) -> Scalar:
    return place.scalars.accumulate_max(*_two(place, largest, x))


def _three(place: Place, a: Any, b: Any, c: Any) -> tuple[Scalar, Scalar, Scalar]:
    found = next((x for x in (a, b, c) if isinstance(x, Scalar)), None)
    if found is None:
        raise TypesError("expected at least one scalar of the kernel among three numbers; cast one")
    first = found
    for x in (a, b, c):
        first, _ = place.arithmetic.together(place.scalars, first, x)
    x, y, z = (place.arithmetic.together(place.scalars, value, first)[0] for value in (a, b, c))
    return x, y, z


@_row
def _fma(place: Place, a: Any, b: Any, c: Any) -> Scalar:
    return place.scalars.fma(*_three(place, a, b, c))


@_row
def _multiply_add(place: Place, a: Any, b: Any, c: Any) -> Scalar:
    return place.scalars.multiply_add(*_three(place, a, b, c))


@_row
def _shift_right_logical(place: Place, x: Any, count: Any) -> Scalar:
    return place.scalars.shift_right_logical(*_two(place, x, count))


@_row
def _cast(place: Place, x: Any, type_: Any) -> Scalar | WideView:
    if isinstance(x, ArrayView):
        return WideView.of(x, element_type(type_))
    return _number(place, x, type_)


def _number(place: Place, x: Any, type_: Any) -> Scalar:
    made = arithmetic.cast(place.scalars, x, element_type(type_))
    if place.arithmetic.is_natural(x):
        place.arithmetic.mark_natural(made.value)
    return made


@_row
def _bitcast(place: Place, x: Any, type_: Any) -> Scalar:
    return place.scalars.bitcast(_only(place, x, "bitcast"), element_type(type_))


@_row
def _int(place: Place, x: Any) -> Scalar:
    return _number(place, x, int)


@_row
def _float(place: Place, x: Any) -> Scalar:
    return _number(place, x, float)


def _cast_to(type_: str) -> Meaning:
    def emit(place: Place, x: Any) -> Scalar:
        return _number(place, x, type_)

    return emit


for _name in ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint32"):
    MEANINGS[_name] = _cast_to(_name)


@_row
def _scratch(place: Place, shape: Any, type_: Any) -> ArrayView:
    extents = tuple(cast("tuple[Any, ...]", shape)) if isinstance(shape, tuple | list) else (shape,)
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in extents):
        found = "what the kernel computes" if any(isinstance(n, Scalar) for n in extents) else repr(extents)
        raise TypesError(f"the extents of scratch must be known at compile time, got {found}")
    type_ = MemRefType(element_type(type_), extents)
    kernel, size = place.nest.kernel, byte_size(type_)
    if size > (left := SCRATCH_LIMIT - kernel.scratch_bytes):
        limit = f"a kernel has {SCRATCH_LIMIT} bytes of scratch in all, of which {left} are left"
        raise TypesError(f"{limit}, got {size}; make it smaller, or a further result of the op")
    return ArrayView.of(kernel.scratch(type_, None))


MEANINGS["empty"] = _scratch


@_row
def _range(place: Place, *given: Any) -> Any:
    start, stop, step = (0, given[0], 1) if len(given) == 1 else (*given[:2], given[2] if len(given) > 2 else 1)
    if isinstance(step, Scalar) or step < 1:
        raise TypesError(
            "expected a positive step that is known at compile time; write reversed(range(...)) to count down"
        )
    return Steps(start, stop, step)


def steps_of(values: Any) -> Steps | None:
    """A range as its ends; None for what is none."""
    if isinstance(values, range):
        if values.step > 0:
            return Steps(values.start, values.stop, values.step)
        up = values[::-1]
        return Steps(up.start, up[-1] + 1 if up else up.start, up.step, backwards=True)
    return values if isinstance(values, Steps) else None


def _marked(mark: str) -> Meaning:
    def emit(place: Place, values: Any) -> Steps:
        if (found := steps_of(values)) is None:
            raise TypesError(f"{mark} marks a range, got {values!r}")
        return Steps(found.start, found.stop, found.step, mark, found.backwards)

    return emit


for _mark in ("rolled", "lanes", "outlined"):
    MEANINGS[_mark] = _marked(_mark)


@_row
def _reversed(place: Place, values: Any) -> Any:
    if (found := steps_of(values)) is None:
        return reversed(values)
    if found.step != 1:
        raise TypesError("reversed supports only ranges with step 1")
    return Steps(found.start, found.stop, 1, found.mark, not found.backwards)


@_row
def _ndrange(place: Place, *extents: Any) -> Indices:
    return Indices(extents)


MEANINGS["ndindex"] = _ndrange


@_row
def _unravel(place: Place, it: Iteration, *extents: int) -> tuple[Any, ...]:
    rest, places = it.index, list[Any]()
    for extent in reversed(extents[1:]):
        places.append(_binary(place, ast.Mod, rest, extent))
        rest = _binary(place, ast.FloorDiv, rest, extent)
    return rest, *reversed(places)


def _binary(place: Place, kind: type[ast.operator], a: Any, b: Any) -> Any:
    if isinstance(a, Scalar) or isinstance(b, Scalar):
        return place.arithmetic.binary(place.scalars, kind, a, b)
    return arithmetic.STATIC[kind](a, b)


@_row
def _sum(place: Place, values: Any, start: Any = 0) -> Any:
    given = list(values)
    total, *others = given if start == 0 and given else [start, *given]
    for x in others:
        total = _binary(place, ast.Add, total, x)
    return total


def _lapack(op: type[LapackOp]) -> Meaning:
    def emit(place: Place, *views: ArrayView, **flags: bool) -> None:
        buffers = list[tuple[SSAValue, list[SSAValue]]]()
        for view, parameter in zip(views, op.ROUTINE.parameters, strict=True):
            if not all(isinstance(x, Span) and x.is_whole for x in view.places[-parameter.rank :]):
                raise TypesError(f"{op.ROUTINE.name} takes all of the last dimensions of {parameter.name}, not a range")
            if parameter.is_written:
                check_writable(place.nest, view)
            buffers.append((view.buffer, place.views.indices(place.nest, view)[: -parameter.rank]))
        place.nest.builder.insert(op(*buffers, flags=[flag for flag, is_set in flags.items() if is_set]))

    return emit


for _op in LAPACK_OPS:
    MEANINGS[_op.ROUTINE.name] = _lapack(_op)


@_row
def _getrf(place: Place, a: ArrayView, pivots: ArrayView) -> None:
    spans = [x for x in a.places[-2:] if isinstance(x, Span)]
    if all(x.is_whole for x in spans):
        _lapack(GetrfOp)(place, a, pivots)
        return
    if len(spans) < 2 or any(isinstance(x.start, Scalar) or x.start != 0 for x in spans):
        raise TypesError("getrf takes lines and columns from the first one of a on")
    if not all(isinstance(x, Span) and x.is_whole for x in pivots.places[-1:]):
        raise TypesError("getrf takes all of the last dimension of pivots, not a range")
    nest, buffers = place.nest, list[tuple[SSAValue, list[SSAValue]]]()
    for view, rank in ((a, 2), (pivots, 1)):
        check_writable(nest, view)
        buffers.append((view.buffer, place.views.indices(nest, view)[:-rank]))
    sizes = index_of(nest, spans[0].size), index_of(nest, spans[1].size)
    nest.builder.insert(GetrfOp(*buffers, sizes=sizes))
