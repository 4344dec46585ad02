"""Which keys each query sees, read off constants: what rows of RAISE tell a causal mask by."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf
from typing import Literal, cast

from xdsl.dialects.builtin import AnyFloat, FixedBitwidthType, IntegerType, bf16, f16, f32, f64
from xdsl.ir import Attribute, Operation

from xdsl_rlx.dialects.constants import AnyDense
from xdsl_rlx.dialects.mir.cast import CastOp
from xdsl_rlx.dialects.mir.creation import IotaOp
from xdsl_rlx.dialects.mir.elementwise import (
    AddOp,
    AndOp,
    CompareOp,
    ConstantOp,
    EqOp,
    GeOp,
    GtOp,
    LeOp,
    LtOp,
    NeOp,
    SubOp,
    WhereOp,
)
from xdsl_rlx.dialects.shapes import INTS, element_of, i1, shape_of, u8, u32
from xdsl_rlx.transforms.canonicalize.mir import splat
from xdsl_rlx.transforms.rules.terms import Term, bare, either_way, number, parts

Row = tuple[int, int]
"""The keys that a query sees: from the first number on, below the second; `(0, 0)` if none."""

_WITHIN: dict[type[Operation], Callable[[Sequence[float], float], Row]] = {
    # positions of an ascending list whose elements y satisfy `x ? y`
    GeOp: lambda ys, x: (0, bisect_right(ys, x)),
    GtOp: lambda ys, x: (0, bisect_left(ys, x)),
    LeOp: lambda ys, x: (bisect_left(ys, x), len(ys)),
    LtOp: lambda ys, x: (bisect_right(ys, x), len(ys)),
}
_TURNED: dict[type[Operation], type[Operation]] = {GeOp: LeOp, GtOp: LtOp, LeOp: GeOp, LtOp: GtOp}


def rows_seen(mask: Term, row: int, column: int, queries: int, keys: int) -> list[Row] | None:
    """
    What each query sees by a constant mask that is the same for all batches and heads, in loops `row` and `column`.

    None for what is no constant, or a mask by which a query sees keys with others between them.
    """
    x = _by_query_and_key(_without_truth(mask), row, column)
    return None if x is None else _rows(x, queries, keys)


def _without_truth(mask: Term) -> Term:
    """What a mask takes as it is: `and` with true of the shape of all batches and heads, as JAX begins one with."""
    x = bare(mask)
    for part, other in either_way(x, AndOp):
        if splat(other.value):
            return _without_truth(part)
    return x


def _by_query_and_key(mask: Term, row: int, column: int) -> Term | None:
    """A mask with queries as loop 0 and keys as loop 1, if it is the same for all batches and heads."""
    loops = {row: 0, column: 1, -1: -1}
    return Term(mask.value, tuple(loops[loop] for loop in mask.at)) if {*mask.at} <= {*loops} else None


def all_rows_see(mask: Term, column: int, keys: int, is_hidden: bool) -> bool:
    """Whether each query sees a key by a constant mask, which may say what is hidden; False for what is no constant."""
    x = bare(mask)
    owner = x.owner
    if not isinstance(owner, ConstantOp) or element_of(x.value) != i1 or x.at[-1:] != (column if keys != 1 else -1,):
        return False
    data = truths(owner.value)
    return all(0 < data.count(1, at, at + keys) + is_hidden < keys + 1 for at in range(0, len(data), keys))


def _rows(x: Term, queries: int, keys: int, depth: int = 8) -> list[Row] | None:
    x = bare(x)
    op = x.owner if depth else None
    match op:
        case ConstantOp():
            return _rows_of_constant(op.value, x, queries, keys)
        case AndOp():
            first, second = (_rows(part, queries, keys, depth - 1) for part in parts(x, AndOp))
            return (
                None if first is None or second is None else [_both(a, b) for a, b in zip(first, second, strict=True)]
            )
        case CastOp():
            return None if element_of(op.operand) != i1 else _rows(Term(op.operand, x.at), queries, keys, depth - 1)
        case EqOp() | NeOp():
            return _rows_of_test(x, queries, keys, depth - 1)
        case WhereOp():
            return _rows_of_choice(x, queries, keys, depth - 1)
        case CompareOp():
            return _rows_of_order(x, op, queries, keys)
        case _:
            return None


def _both(a: Row, b: Row) -> Row:
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low < high else (0, 0)


def _rows_of_constant(value: AnyDense, x: Term, queries: int, keys: int) -> list[Row] | None:
    data = truths(value)
    kept = [loop for loop in x.at if loop >= 0]
    if kept == [1, 0]:
        lines = [data[query::queries] for query in range(queries)]
    elif kept in ([0, 1], [0], [1], []):
        width = keys if 1 in kept else 1
        lines = [data[at : at + width] for at in range(0, len(data), width)]
    else:
        return None
    found = [_row_of_line(line, keys) for line in lines]
    if any(row is None for row in found):
        return None
    rows = [row for row in found if row is not None]
    return rows if len(rows) == queries else rows * queries


def truths(value: AnyDense) -> bytes:
    """The elements of a constant of i1 as bytes that are 0 or 1."""
    return value.data.data.translate(bytes([0] + [1] * 255))


def _row_of_line(line: bytes, keys: int) -> Row | None:
    if len(line) == 1 != keys:
        line *= keys
    low, count = line.find(1), line.count(1)
    if not count:
        return 0, 0
    return (low, low + count) if line.find(0, low) in (-1, low + count) else None


def _rows_of_test(x: Term, queries: int, keys: int, depth: int) -> list[Row] | None:
    """A mask compared with a truth value, itself or its opposite, or a constant with 0."""
    first, second = parts(x, EqOp, NeOp)
    for side, other in ((first, second), (second, first)):
        found = other.owner
        if element_of(side.value) != i1:
            rows = _zeros(bare(side), queries, keys, lambda _: True) if number(other) == 0 else None
            keep = isinstance(x.owner, EqOp)
        elif isinstance(found, ConstantOp) and shape_of(other.value) == ():
            rows = _rows(side, queries, keys, depth)
            keep = any(truths(found.value)) == isinstance(x.owner, EqOp)
        else:
            continue
        if rows is not None:
            return rows if keep else opposite(rows, keys)
    return None


def _rows_of_choice(x: Term, queries: int, keys: int, depth: int) -> list[Row] | None:
    """True where a mask says so and False elsewhere, or the other way round."""
    cond, *sides = parts(x, WhereOp)
    chosen = [splat(side.value) for side in sides]
    if None in chosen or bool(chosen[0]) == bool(chosen[1]):
        return None
    rows = _rows(cond, queries, keys, depth)
    return rows if rows is None or chosen[0] else opposite(rows, keys)


def opposite(rows: Sequence[Row], keys: int) -> list[Row] | None:
    """The keys that each query does not see; None where there are some on both sides."""
    turned: list[Row] = []
    for low, high in rows:
        if low == high:
            turned.append((0, keys))
        elif low and high < keys:
            return None
        else:
            turned.append(_both((high, keys) if not low else (0, low), (0, keys)))
    return turned


def _rows_of_order(x: Term, op: CompareOp, queries: int, keys: int) -> list[Row] | None:
    """The numbers of queries compared with those of keys."""
    first, second = (_line(part) for part in parts(x, type(op)))
    if first is None or second is None:
        return None
    (xs, row), (ys, column), kind = first, second, type(op)
    if (row, column) == (1, 0):
        xs, ys, kind = ys, xs, _TURNED.get(kind, kind)
    elif (row, column) != (0, 1):
        return None
    if kind not in _WITHIN or len(xs) != queries or len(ys) != keys or any(a >= b for a, b in pairwise(ys)):
        return None
    return [_both(_WITHIN[kind](ys, x), (0, keys)) for x in xs]


def _line(x: Term) -> tuple[list[float], int] | None:
    """A list of constant integers or positions, or one of them plus a number, and the loop that it runs over."""
    found = _counted(bare(x))
    if found is None:
        return None
    line, loop = found
    low, high = _bounds(element_of(x.value))
    # what the type does not hold has wrapped, or was rounded
    is_held = all(low <= n <= high and n.is_integer() for n in line)
    return (line, loop) if is_held else None


def _counted(x: Term) -> tuple[list[float], int] | None:
    """A list as it would be if its type held all integers, and its loop."""
    op = x.owner
    if isinstance(op, IotaOp):
        return [float(n) for n in range(shape_of(x.value)[op.axis_index])], x.at[op.axis_index]
    if len(found := parts(x, SubOp)) == 2:
        line, shift = _line(found[0]), number(found[1])
        return None if line is None or shift is None else ([n - shift for n in line[0]], line[1])
    for part, other in either_way(x, AddOp):
        if (shift := number(other)) is not None and (line := _line(part)) is not None:
            return [n + shift for n in line[0]], line[1]
    loops = [loop for loop in x.at if loop >= 0]
    if not isinstance(op, ConstantOp) or len(loops) != 1 or element_of(op.result) not in INTS:
        return None
    numbers = cast("Sequence[object]", op.value.get_values())
    return [float(n) for n in numbers if isinstance(n, int)], loops[0]


_DIGITS: dict[Attribute, int] = {f16: 11, bf16: 8, f32: 24, f64: 53}
"""Of the integers that a float type holds without a gap, in binary."""


def _bounds(element: Attribute) -> tuple[int, int]:
    """The integers between which a type holds all."""
    if isinstance(element, IntegerType):
        bits = element.bitwidth
        return (0, (1 << bits) - 1) if element in (u8, u32) else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    largest = 1 << _DIGITS.get(element, 0)
    return -largest, largest


def rows_kept(
    bias: Term, row: int, column: int, queries: int, keys: int, is_low: Callable[[float], bool]
) -> list[Row] | None:
    """What each query sees by a constant added to its scores: 0 where it sees a key, a number that is low elsewhere."""
    mask = _by_query_and_key(bias, row, column)
    if mask is None:
        return None
    x = bare(mask)
    found = parts(x, WhereOp)
    if len(found) == 3:
        kept, lost = number(found[1]), number(found[2])
        shown = kept == 0 and lost is not None and is_low(lost)
        hidden = lost == 0 and kept is not None and is_low(kept)
        rows = _rows(found[0], queries, keys) if shown or hidden else None
        return rows if rows is None or shown else opposite(rows, keys)
    return _zeros(x, queries, keys, is_low)


def _zeros(x: Term, queries: int, keys: int, is_low: Callable[[float], bool]) -> list[Row] | None:
    """Where each row of a constant is 0, if it is one number elsewhere, which is as it is to be."""
    op = x.owner
    kept = [loop for loop in x.at if loop >= 0]
    if not isinstance(op, ConstantOp) or kept not in ([0, 1], [1, 0]):
        return None
    numbers = memoryview(op.value.data.data).cast(_word(element_of(op.result)))
    if kept == [0, 1]:
        places = [range(at, at + keys) for at in range(0, len(numbers), keys)]
    else:
        places = [range(query, len(numbers), queries) for query in range(queries)]
    lows = [index for line in places[:2] for index in line if numbers[index]] or [len(numbers) - 1]
    values = cast("Sequence[object]", op.value.get_values())
    lost, low = numbers[lows[-1]], values[lows[-1]]
    if lost and not (isinstance(low, int | float) and is_low(low)):
        return None
    lines = [_row_of_words(numbers[line.start : line.stop : line.step].tolist(), lost) for line in places]
    rows = [row for row in lines if row is not None]
    return rows if len(rows) == queries else None


def hides_a_row(bias: Term, row: int, column: int, queries: int, keys: int, factor: float) -> bool:
    """Whether a query may see no key by a constant times a factor that is added to its scores, -inf for all: NaN."""
    rows = rows_kept(bias, row, column, queries, keys, lambda n: n * factor == -inf)
    if rows is not None:
        return any(low == high for low, high in rows)
    x = bare(bias)
    op, element = x.owner, element_of(bias.value)
    if not isinstance(op, ConstantOp) or not isinstance(element, AnyFloat):
        return False
    lost, data = element.pack([-inf if factor > 0 else inf]), op.value.data.data
    # a constant that is transposed and has other numbers, too, is not looked at row by row
    length = len(lost) * (keys if x.at[-1:] == (column,) else 1)
    line = lost * (length // len(lost))
    return any(data[at : at + length] == line for at in range(0, len(data), length))


def _word(element: Attribute) -> Literal["B", "H", "I", "Q"]:
    """Unsigned integers as wide as the numbers of a type: equal where these are, bit for bit."""
    assert isinstance(element, FixedBitwidthType)
    return _WORDS[element.size]


_WORDS: dict[int, Literal["B", "H", "I", "Q"]] = {1: "B", 2: "H", 4: "I", 8: "Q"}


def _row_of_words(line: list[int], lost: int) -> Row | None:
    """The zeros of a line that is one number elsewhere."""
    count = line.count(0)
    if line.count(lost) != len(line) - count and lost:
        return None
    low = line.index(0) if count else 0
    return (low, low + count) if line[low : low + count] == [0] * count else None
