"""What an integer op makes of its operands, as sums: one row an op. None where nothing is known of the result."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, UnrealizedConversionCastOp
from xdsl.ir import Operation

from xdsl_rlx.lowering.analysis.facts import Facts
from xdsl_rlx.lowering.analysis.linear_sums import WIDE, Linear


def _sum(r: Facts, op: Operation, a: Linear, b: Linear) -> Linear:
    return a.plus(b)


def _difference(r: Facts, op: Operation, a: Linear, b: Linear) -> Linear:
    return a.plus(b, -1)


def _same(r: Facts, op: Operation, a: Linear) -> Linear:
    return a


def _product(r: Facts, op: Operation, a: Linear, b: Linear) -> Linear:
    if not a.terms or not b.terms:
        return a.times(b.constant) if not b.terms else b.times(a.constant)
    corners = [x * y for x in r.range(a) for y in r.range(b)]
    return r.symbols.new(min(corners), max(corners))


def _quotient(r: Facts, op: Operation, a: Linear, b: Linear) -> Linear | None:
    """Towards zero, and 0 for a divisor of 0."""
    low, high = r.range(a)
    least, most = r.range(b)
    if low < 0 or least < 0:
        return None
    if least == most and most > 0:
        whole = Linear(0, tuple((s, c // most) for s, c in a.terms if c % most == 0))
        rest = a.plus(whole, -most)
        whole, rest = whole.add(rest.constant // most), rest.add(-(rest.constant // most * most))
        first, last = r.range(rest)
        if whole.terms and first >= 0 and last < most:
            return whole
    return r.symbols.new(low // most if least and most else 0, high // max(least, 1))


def _remainder(r: Facts, op: Operation, a: Linear, b: Linear) -> Linear | None:
    """With the sign of the dividend, which it is for a divisor of 0."""
    low, high = r.range(a)
    least, most = r.range(b)
    if least < 1:
        return None
    if 0 <= low == high and least == most:
        return Linear(low % least)
    if low >= 0:
        return a if high < least else r.symbols.new(0, min(high, most - 1), below=[a])
    return r.symbols.new(max(low, 1 - most), max(0, min(high, most - 1)))


def _floor_quotient(r: Facts, op: Operation, a: Linear, b: Linear) -> Linear | None:
    low, high = r.range(a)
    least, most = r.range(b)
    if least != most or most < 1:
        return None
    return _quotient(r, op, a, b) if low >= 0 else r.symbols.new(low // most, high // most)


def _ceil_quotient(r: Facts, op: Operation, a: Linear, b: Linear) -> Linear | None:
    low, high = r.range(a)
    least, most = r.range(b)
    return r.symbols.new(-(-low // most), -(-high // most)) if least == most and most > 0 else None


def _minimum(r: Facts, op: Operation, a: Linear, b: Linear) -> Linear:
    if r.holds(b.plus(a, -1)):
        return a
    if r.holds(a.plus(b, -1)):
        return b
    return r.symbols.new(min(r.range(a)[0], r.range(b)[0]), WIDE - 1, below=[a, b])


def _maximum(r: Facts, op: Operation, a: Linear, b: Linear) -> Linear:
    return _minimum(r, op, a.times(-1), b.times(-1)).times(-1)


def _unsigned(row: Callable[..., Linear | None]) -> Callable[..., Linear | None]:
    """The row of the signed op, where no operand is negative."""

    def unsigned(r: Facts, op: Operation, *operands: Linear) -> Linear | None:
        return row(r, op, *operands) if all(r.range(x)[0] >= 0 for x in operands) else None

    return unsigned


def _and(r: Facts, op: Operation, a: Linear, b: Linear) -> Linear | None:
    tops = [high for low, high in (r.range(a), r.range(b)) if low >= 0]
    return r.symbols.new(0, min(tops)) if tops else None


def _or(r: Facts, op: Operation, a: Linear, b: Linear) -> Linear | None:
    (low, high), (least, most) = r.range(a), r.range(b)
    if low < 0 or least < 0:
        return None
    return r.symbols.new(0, (1 << max(high, most).bit_length()) - 1)


def _shift_left(r: Facts, op: Operation, a: Linear, b: Linear) -> Linear | None:
    return a.times(1 << b.constant) if not b.terms and 0 <= b.constant < 63 else None


def _shift_right(r: Facts, op: Operation, a: Linear, b: Linear) -> Linear | None:
    if b.terms or not 0 <= b.constant < 63 or r.range(a)[0] < 0:
        return None
    return _quotient(r, op, a, Linear(1 << b.constant))


def _logical_shift(r: Facts, op: Operation, a: Linear, b: Linear) -> Linear | None:
    if r.range(a)[0] >= 0 or b.terms or b.constant < 1:
        return _shift_right(r, op, a, b)
    type_ = op.results[0].type
    width = type_.bitwidth if isinstance(type_, IntegerType) else 64
    return r.symbols.new(0, (1 << max(width - b.constant, 0)) - 1)


def _zero_extended(r: Facts, op: Operation, a: Linear) -> Linear | None:
    type_ = op.operands[0].type
    if r.range(a)[0] >= 0:
        return a
    return r.symbols.new(0, (1 << type_.bitwidth) - 1) if isinstance(type_, IntegerType) else None


def _sign_extended(r: Facts, op: Operation, a: Linear) -> Linear | None:
    return a if op.operands[0].type != IntegerType(1) else a.times(-1)


ROWS: dict[type[Operation], Callable[..., Linear | None]] = {
    arith.AddiOp: _sum,
    arith.SubiOp: _difference,
    arith.MuliOp: _product,
    arith.DivSIOp: _quotient,
    arith.RemSIOp: _remainder,
    arith.FloorDivSIOp: _floor_quotient,
    arith.CeilDivSIOp: _ceil_quotient,
    arith.MinSIOp: _minimum,
    arith.MaxSIOp: _maximum,
    arith.MinUIOp: _unsigned(_minimum),
    arith.MaxUIOp: _unsigned(_maximum),
    arith.AndIOp: _and,
    arith.OrIOp: _or,
    arith.XOrIOp: _or,
    arith.ShLIOp: _shift_left,
    arith.ShRSIOp: _shift_right,
    arith.ShRUIOp: _logical_shift,
    arith.IndexCastOp: _sign_extended,
    arith.ExtSIOp: _sign_extended,
    arith.ExtUIOp: _zero_extended,
    arith.TruncIOp: _same,
    UnrealizedConversionCastOp: _same,
}
