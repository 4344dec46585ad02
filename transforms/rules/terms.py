"""What the rows of RAISE look at a program through: values with the loops that their dimensions run over.

A pattern is exact in shapes and axes: where a value broadcasts, which of its dimensions meets which counts, and
reshapes, transposes and expansions on the way change that, not what is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_rlx.dialects.constants import round_to
from xdsl_rlx.dialects.mir.cast import CastOp
from xdsl_rlx.dialects.mir.elementwise import (
    AddOp,
    DivOp,
    MulOp,
    NegOp,
    PowOp,
    RecipOp,
    RsqrtOp,
    SqrtOp,
    StopGradientOp,
    SubOp,
)
from xdsl_rlx.dialects.mir.reduce import ReduceMeanOp, ReduceOp, ReduceSumOp
from xdsl_rlx.dialects.mir.shape import ExpandOp, ReshapeOp, TransposeOp
from xdsl_rlx.dialects.shapes import FLOATS, element_of, shape_of
from xdsl_rlx.transforms.canonicalize.mir import splat

_ULPS: dict[Attribute, float] = {f16: 2.0**-10, bf16: 2.0**-7, f32: 2.0**-23}
"""The distance between 1 and the next number of a type; of f64 it is the last entry's default."""


class Term(NamedTuple):
    """A value in the loops of another one: dimension `d` runs over loop `at[d]`, and over none (-1) if its extent
    is 1."""

    value: SSAValue
    at: tuple[int, ...]

    @property
    def owner(self) -> Operation | None:
        """What computes it; None for an argument."""
        owner = self.value.owner
        return owner if isinstance(owner, Operation) else None


def term(value: SSAValue) -> Term:
    """A value in its own loops."""
    return Term(value, tuple(-1 if n == 1 else d for d, n in enumerate(shape_of(value))))


def _operand(value: SSAValue, at: Sequence[int]) -> Term:
    """An operand that broadcasts to the loops `at`, aligned at the right."""
    shape = shape_of(value)
    return Term(value, tuple(-1 if n == 1 else d for n, d in zip(shape, at[len(at) - len(shape) :], strict=True)))


def aligned_to(value: SSAValue, result: SSAValue) -> Term:
    """An operand that broadcasts to a result, in the loops of that."""
    return _operand(value, term(result).at)


def bare(x: Term) -> Term:
    """What a value is a reshape by ones, a transpose or an expansion of."""
    while True:
        owner = x.value.owner
        # exact classes: this is asked of most ops of a program
        before = _operand(owner.operand, x.at) if type(owner) is ExpandOp else moved_from(x)
        if before is None:
            return x
        x = before


def moved_from(x: Term) -> Term | None:
    """The operand of the reshape by ones, or of the transpose, that a value is."""
    owner = x.value.owner
    if type(owner) is ReshapeOp:
        return _without_ones(owner, x.at)
    if type(owner) is not TransposeOp:
        return None
    at = [0] * len(x.at)
    for d, source in enumerate(owner.perm_list):
        at[source] = x.at[d]
    return Term(owner.operand, tuple(at))


def in_front_of_views(x: Term) -> Term:
    """What a value is reshapes by ones and transposes of."""
    while (before := moved_from(x)) is not None:
        x = before
    return x


def _without_ones(op: ReshapeOp, at: Sequence[int]) -> Term | None:
    """The operand of a reshape that moves dimensions of 1 and nothing else."""
    before, after = shape_of(op.operand), shape_of(op.result)
    if [n for n in before if n != 1] != [n for n in after if n != 1]:
        return None
    loops = iter([d for d, n in zip(at, after, strict=True) if n != 1])
    return Term(op.operand, tuple(-1 if n == 1 else next(loops) for n in before))


def same(a: Term, b: Term) -> bool:
    """Whether two terms are one value over the same loops."""
    a, b = bare(a), bare(b)
    return a.value is b.value and a.at == b.at


def parts(x: Term, *kinds: type[Operation]) -> list[Term]:
    """The operands of the elementwise op of one of these classes that computes a value; none if none does."""
    x = bare(x)
    owner = x.value.owner
    if type(owner) not in kinds or not isinstance(owner, Operation):
        return []
    return [_operand(operand, x.at) for operand in owner.operands]


def either_way(x: Term, kind: type[Operation]) -> Iterator[tuple[Term, Term]]:
    """The two operands of a commutative op of that class, in both orders."""
    found = parts(x, kind)
    if found:
        yield found[0], found[1]
        yield found[1], found[0]


def number(x: Term) -> float | None:
    """The real number that a value is everywhere, as each type that it is cast to rounds it; None through integers."""
    value, casts = x.value, list[Attribute]()
    while isinstance(owner := value.owner, CastOp | ExpandOp | ReshapeOp):
        if isinstance(owner, CastOp):
            casts.append(element_of(value))
        value = owner.operand
    found = splat(value)
    if found is None or isinstance(found, bool | complex) or any(element not in FLOATS for element in casts):
        return None
    found = float(found)
    for element in reversed(casts):
        found = round_to(found, element)
    return found


def is_close(found: float | None, expected: float, element: Attribute) -> bool:
    """Whether a number is another one but for what two or three roundings to an element type leave, one of halves."""
    most = 1 if element in (f16, bf16) else 3
    return found is not None and abs(found - expected) <= most * _ULPS.get(element, 2.0**-52) * abs(expected)


def shortest(found: float, element: Attribute) -> float:
    """The number with the fewest digits that an element type rounds to the same: 1e-05, not what f32 makes of it."""
    if element not in _ULPS:
        return found
    short = (float(f"{found:.{digits}g}") for digits in range(1, 18))
    return next((x for x in short if round_to(x, element) == found), found)


def negated(x: Term) -> Term | None:
    """What a value is the negative of."""
    for inner in parts(x, NegOp):
        return inner
    for a, b in either_way(x, MulOp):
        if number(b) == -1.0:
            return a
    if (found := parts(x, SubOp)) and number(found[0]) == 0.0:
        return found[1]
    return None


def reciprocal(x: Term) -> Term | None:
    """What a value is one over."""
    for inner in parts(x, RecipOp):
        return inner
    if (found := parts(x, DivOp)) and number(found[0]) == 1.0:
        return found[1]
    if (found := parts(x, PowOp)) and number(found[1]) == -1.0:
        return found[0]
    return None


def quotients(x: Term) -> Iterator[tuple[Term, Term]]:
    """Each `a, b` of which a value is `a / b`."""
    if found := parts(x, DivOp):
        yield found[0], found[1]
    for a, b in either_way(x, MulOp):
        if (divisor := reciprocal(b)) is not None:
            yield a, divisor


def root_quotients(x: Term) -> Iterator[tuple[Term, Term]]:
    """Each `a, b` of which a value is `a / sqrt(b)`."""
    for a, b in either_way(x, MulOp):
        for inner in parts(b, RsqrtOp):
            yield a, inner
        if (found := parts(b, PowOp)) and number(found[1]) == -0.5:
            yield a, found[0]
    for a, b in quotients(x):
        for inner in parts(b, SqrtOp):
            yield a, inner
        if (found := parts(b, PowOp)) and number(found[1]) == 0.5:
            yield a, found[0]


def square(x: Term) -> Term | None:
    """What a value is the square of."""
    if (found := parts(x, MulOp)) and same(*found):
        return found[0]
    if (found := parts(x, PowOp)) and number(found[1]) == 2.0:
        return found[0]
    return None


def unstopped(x: Term) -> Term:
    """A value without the ops that stop its gradient."""
    while found := parts(x, StopGradientOp):
        x = found[0]
    return x


class AlongOneAxis(NamedTuple):
    """A reduction along one axis of a value of full shape, whose result meets the value's other dimensions."""

    operand: SSAValue
    axis: int


def reduction(x: Term, kind: type[ReduceOp]) -> AlongOneAxis | None:
    """The reduction of that class along one axis that a value is."""
    x = bare(x)
    op = x.value.owner
    if type(op) is not kind or not isinstance(op, ReduceOp):
        return None
    axes, shape = op.axis_list, shape_of(op.operand)
    if len(axes) != 1:
        return None
    full = term(op.operand).at
    kept = [-1 if d == axes[0] else loop for d, loop in enumerate(full)]
    expected = kept if len(x.at) == len(shape) else [loop for d, loop in enumerate(kept) if d != axes[0]]
    return AlongOneAxis(op.operand, axes[0]) if list(x.at) == expected else None


def reduced(x: Term, kind: type[ReduceOp], loop: int) -> Term | None:
    """What a value is the reduction of, of that class along one axis, which runs over a loop; moved around or not."""
    x = bare(x)
    op = x.value.owner
    if type(op) is not kind or not isinstance(op, ReduceOp) or len(op.axis_list) != 1:
        return None
    (axis,), at = op.axis_list, list(x.at)
    if len(at) == len(shape_of(op.operand)):
        at[axis] = loop
    else:
        at.insert(axis, loop)
    return Term(op.operand, tuple(at))


def mean(x: Term) -> AlongOneAxis | None:
    """The mean along one axis that a value is, also as a sum divided by the extent."""
    if (found := reduction(x, ReduceMeanOp)) is not None:
        return found
    element = element_of(x.value)
    sides = [(total, by, False) for total, by in quotients(x)] + [(*both, True) for both in either_way(x, MulOp)]
    for total, by, is_share in sides:
        count, found = number(by), reduction(total, ReduceSumOp)
        extent = 0 if count is None or found is None else shape_of(found.operand)[found.axis]
        if not extent:
            continue
        expected = 1 / extent if is_share else float(extent)
        # one more or less is a difference of some percent, which roundings of half floats are as well
        is_half = element in (f16, bf16)
        if count == round_to(expected, element) if is_half else is_close(count, expected, element):
            return found
    return None


Powers = dict[tuple[int, ...], float]
"""The coefficients of a polynomial by the exponents of its unknowns."""


def polynomial(x: Term, unknowns: Sequence[Term], depth: int = 8) -> Powers | None:
    """What a value is as a polynomial in others; None if it is no polynomial, or one of many steps."""
    for index, unknown in enumerate(unknowns):
        if same(x, unknown):
            return {tuple(int(i == index) for i in range(len(unknowns))): 1.0}
    if (n := number(x)) is not None:
        return {(0,) * len(unknowns): n}
    found = parts(x, AddOp, SubOp, MulOp, DivOp, NegOp, PowOp) if depth else []
    if not found:
        return None
    sides = [polynomial(part, unknowns, depth - 1) for part in found]
    first, second = sides[0], sides[-1]
    if first is None or second is None:
        return None
    return _combined(type(bare(x).value.owner), first, second)


def _combined(kind: type[object], a: Powers, b: Powers) -> Powers | None:
    if kind is AddOp:
        return _plus(a, b)
    if kind is MulOp:
        return _times(a, b)
    if kind is NegOp:
        return {powers: -c for powers, c in a.items()}
    if kind is SubOp:
        return _plus(a, {powers: -c for powers, c in b.items()})
    constant = b.get((0,) * len(next(iter(b)))) if len(b) == 1 else None
    if not constant:
        return None
    if kind is DivOp:
        return {powers: c / constant for powers, c in a.items()}
    if constant not in (2.0, 3.0):
        return None
    return _times(a, a) if constant == 2.0 else _times(a, _times(a, a))


def _plus(a: Powers, b: Powers) -> Powers:
    return a | {powers: a.get(powers, 0.0) + c for powers, c in b.items()}


def _times(a: Powers, b: Powers) -> Powers:
    total: Powers = {}
    for p, c in a.items():
        for q, d in b.items():
            powers = tuple(i + j for i, j in zip(p, q, strict=True))
            total[powers] = total.get(powers, 0.0) + c * d
    return total


def is_polynomial(found: Powers | None, expected: Powers, element: Attribute) -> bool:
    """Whether coefficients are the expected ones, but for rounding."""
    if found is None:
        return False
    found = {powers: c for powers, c in found.items() if c}
    return found.keys() == expected.keys() and all(is_close(found[p], c, element) for p, c in expected.items())
