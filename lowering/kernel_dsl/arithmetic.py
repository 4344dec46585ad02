"""Operators of nests: what numbers of different types become together, and index arithmetic that folds.

A number of Python takes the type of what it meets. Of two types the wider is taken; an integer that meets an index
becomes one; integers and floats do not meet without a `cast`."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, Signedness, f32, f64, i1
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.scalar_builder import INDEX, PlainNumber, Scalar, ScalarBuilder, int_width, is_float

Operand: TypeAlias = "Scalar | PlainNumber"


def _is_in(a: Any, b: Any) -> bool:
    return a in b


def _is_not_in(a: Any, b: Any) -> bool:
    return a not in b


_PYTHON: Any = operator

STATIC: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: _PYTHON.add,
    ast.Sub: _PYTHON.sub,
    ast.Mult: _PYTHON.mul,
    ast.Div: _PYTHON.truediv,
    ast.FloorDiv: _PYTHON.floordiv,
    ast.Mod: _PYTHON.mod,
    ast.Pow: _PYTHON.pow,
    ast.BitAnd: _PYTHON.and_,
    ast.BitOr: _PYTHON.or_,
    ast.BitXor: _PYTHON.xor,
    ast.LShift: _PYTHON.lshift,
    ast.RShift: _PYTHON.rshift,
    ast.Eq: _PYTHON.eq,
    ast.NotEq: _PYTHON.ne,
    ast.Lt: _PYTHON.lt,
    ast.LtE: _PYTHON.le,
    ast.Gt: _PYTHON.gt,
    ast.GtE: _PYTHON.ge,
    ast.Is: _PYTHON.is_,
    ast.IsNot: _PYTHON.is_not,
    ast.In: _is_in,
    ast.NotIn: _is_not_in,
    ast.USub: _PYTHON.neg,
    ast.UAdd: _PYTHON.pos,
    ast.Not: _PYTHON.not_,
    ast.Invert: _PYTHON.invert,
}
"""Operators on what is known now."""


class TypesError(Exception):
    """Operands that do not go together, and the cure."""


def is_unsigned(type_: Attribute) -> bool:
    """Whether scalars of this type are integers without a sign, of which nothing but a `cast` is computed."""
    integer: Any = type_
    return type_.__class__ is IntegerType and integer.signedness.data is Signedness.UNSIGNED


def cast(s: ScalarBuilder, x: Operand, type_: Attribute) -> Scalar:
    """Convert, reading and making an unsigned integer as one."""
    if not isinstance(x, Scalar):
        return s.const(x, type_)
    here = s.of(x.value)
    if x.type == type_:
        return here
    signed = not is_unsigned(x.type) and not is_unsigned(type_)
    if is_unsigned(x.type):
        here = s.cast(here, _signless(x.type))
    if is_unsigned(type_):
        return s.cast(s.cast(here, _signless(type_), signed=signed), type_)
    return s.cast(here, type_, signed=signed)


def _signless(type_: Attribute) -> IntegerType:
    return IntegerType(int_width(type_) or 64)


class Arithmetic:
    """The operators, and which values are known not to be negative: of those, division truncates as Python's floors."""

    def __init__(self) -> None:
        self._natural: set[SSAValue] = set()
        self._known: dict[tuple[ScalarBuilder, type[ast.operator], SSAValue, SSAValue], Scalar] = {}
        """What was computed at a place already: indices of neighbours have much in common."""

    def mark_natural(self, value: SSAValue) -> None:
        """An index that is never below 0."""
        self._natural.add(value)

    def is_natural(self, x: Operand) -> bool:
        """Whether a number is known not to be negative."""
        return x.value in self._natural if isinstance(x, Scalar) else x >= 0

    def together(self, s: ScalarBuilder, a: Operand, b: Operand) -> tuple[Scalar, Scalar]:
        """Both operands in one type."""
        type_ = self.common(a, b)
        return self._into(s, a, type_), self._into(s, b, type_)

    def common(self, a: Operand, b: Operand) -> Attribute:
        """The type in which two numbers meet, one of which at least is one of the kernel."""
        if not isinstance(a, Scalar):
            a, b = b, a
        assert isinstance(a, Scalar)
        known = a.type
        if is_float(known) and (not isinstance(b, Scalar) or b.value.type is known):
            return known
        for x in (a, b):
            if isinstance(x, Scalar) and is_unsigned(x.type):
                raise TypesError(f"arithmetic on unsigned integers; write cast(x, i32) or a wider type, got {x.type}")
        if not isinstance(b, Scalar):
            if isinstance(b, float) and not is_float(known):
                raise TypesError(
                    f"a float and an integer are mixed; write cast(x, f32) or cast(x, f64), got {known} and {b}"
                )
            if isinstance(b, int) and not isinstance(b, bool) and known == i1:
                raise TypesError(f"a number and a boolean are mixed; write cast(x, i32), got {b}")
            return known
        if known is b.type or known == b.type:
            return known
        return _wider(known, b.type)

    def _into(self, s: ScalarBuilder, x: Operand, type_: Attribute) -> Scalar:
        if not isinstance(x, Scalar):
            return s.const(x, type_)
        if x.value.type is type_:
            return x if x.b is s else s.of(x.value)
        made = cast(s, x, type_)
        if x.value in self._natural:
            self._natural.add(made.value)
        return made

    def binary(self, s: ScalarBuilder, kind: type[ast.operator], a: Operand, b: Operand) -> Operand:
        """`a kind b`, folded where an operand of an index changes nothing."""
        if (known := _folded(kind, a, b)) is not None:
            return known
        x, y = self.together(s, a, b)
        row = _BINARY.get(kind)
        if row is None:
            raise TypesError("this operator is not supported; write repeated multiplications, or use np.power")
        key = s, kind, x.value, y.value
        if (made := self._known.get(key)) is None:
            made = self._known[key] = row(self, s, x, y)
            if kind is not ast.Sub and not is_float(x.type) and self.is_natural(a) and self.is_natural(b):
                self._natural.add(made.value)
        return made

    def extreme(self, s: ScalarBuilder, largest: bool, a: Operand, b: Operand) -> Scalar:
        """The larger or smaller one; NaN if one is NaN."""
        x, y = self.together(s, a, b)
        made = s.maximum(x, y) if largest else s.minimum(x, y)
        some = self.is_natural(a), self.is_natural(b)
        if not is_float(x.type) and (any(some) if largest else all(some)):
            self._natural.add(made.value)
        return made

    def quotient(self, s: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        """The integer at or below `x / y`."""
        self._integers(x, "`//`", "/")
        return s.div(x, y) if self._is_positive(x, y) else s.floordiv(x, y)

    def remainder(self, s: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        """The remainder with the sign of the divisor."""
        self._integers(x, "`%`", "x - np.floor(x / y) * y")
        if self._is_positive(x, y):
            return s.rem(x, y)
        return x - s.floordiv(x, y) * y

    def _is_positive(self, x: Scalar, y: Scalar) -> bool:
        return x.value in self._natural and (y.value in self._natural or _is_positive_constant(y))

    def _integers(self, x: Scalar, what: str, cure: str) -> None:
        if is_float(x.type):
            raise TypesError(f"{what} is not supported for floats; write {cure}")

    def true_quotient(self, s: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        """`x / y` of floats."""
        if not is_float(x.type):
            raise TypesError("`/` of integers; write // or cast to a float")
        return s.div(x, y)


def compare(s: ScalarBuilder, kind: type[ast.cmpop], x: Scalar, y: Scalar) -> Scalar:
    """A comparison, false where a float is NaN but for `!=`."""
    if (row := _COMPARISONS.get(kind)) is None:
        raise TypesError("this comparison needs values that are known at compile time")
    return s.compare(*row, x, y)


def _is_positive_constant(y: Scalar) -> bool:
    known = constant_index(y.value)
    return known is not None and known > 0


def _wider(a: Attribute, b: Attribute) -> Attribute:
    """The type of two that holds the numbers of both."""
    if is_float(a) and is_float(b):
        return f64 if f64 in (a, b) else f32
    widths = int_width(a), int_width(b)
    if None in widths:
        raise TypesError(f"an integer and a float are mixed; cast one of them, got {a} and {b}")
    if i1 in (a, b):
        raise TypesError(f"a boolean and a number are mixed; write cast(x, i32), got {a} and {b}")
    if INDEX in (a, b):
        return INDEX
    return a if (widths[0] or 0) > (widths[1] or 0) else b


def _folded(kind: type[ast.operator], a: Operand, b: Operand) -> Operand | None:
    """The result where index arithmetic leaves an operand as it is, or makes it 0."""
    if isinstance(b, Scalar):
        if isinstance(a, Scalar) or b.type != INDEX:
            return None
        if (kind is ast.Add and a == 0) or (kind is ast.Mult and a == 1):
            return b
        return 0 if kind is ast.Mult and a == 0 else None
    if not isinstance(a, Scalar) or a.type != INDEX or isinstance(b, float):
        return None
    if (kind in (ast.Add, ast.Sub) and b == 0) or (kind in (ast.Mult, ast.FloorDiv) and b == 1):
        return a
    if (kind is ast.Mult and b == 0) or (kind is ast.Mod and b == 1):
        return 0
    return None


def _bits(kind: type[Any]) -> Callable[[Arithmetic, ScalarBuilder, Scalar, Scalar], Scalar]:
    def emit(_: Arithmetic, s: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        if is_float(x.type):
            raise TypesError(
                "bitwise operators are not supported for floats; write bitcast(x, i32) or bitcast(x, i64) first"
            )
        return s.integer(kind, x, y)

    return emit


_BINARY: dict[type[ast.operator], Callable[[Arithmetic, ScalarBuilder, Scalar, Scalar], Scalar]] = {
    ast.Add: lambda _, s, x, y: s.add(x, y),
    ast.Sub: lambda _, s, x, y: s.sub(x, y),
    ast.Mult: lambda _, s, x, y: s.mul(x, y),
    ast.Div: Arithmetic.true_quotient,
    ast.FloorDiv: Arithmetic.quotient,
    ast.Mod: Arithmetic.remainder,
    ast.BitAnd: _bits(arith.AndIOp),
    ast.BitOr: _bits(arith.OrIOp),
    ast.BitXor: _bits(arith.XOrIOp),
    ast.LShift: lambda _, s, x, y: x << y,
    ast.RShift: lambda _, s, x, y: x >> y,
}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("oeq", "eq"),
    ast.NotEq: ("une", "ne"),
    ast.Lt: ("olt", "slt"),
    ast.LtE: ("ole", "sle"),
    ast.Gt: ("ogt", "sgt"),
    ast.GtE: ("oge", "sge"),
}
