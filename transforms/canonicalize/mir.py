"""Local algebra on `mir`: what `canonicalize` does to each op. Only what keeps every bit, or the order of a sum, free.

Ops reach their patterns by `MirOp.get_canonicalization_patterns`. Constants are not folded through arithmetic.
"""

from collections.abc import Callable, Sequence
from math import copysign, frexp, inf
from typing import TypeAlias, TypeVar

from xdsl.dialects.builtin import IntegerType, TensorType, bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xdsl_rlx.dialects.constants import Number, splat_value
from xdsl_rlx.dialects.mir import (
    attention,
    bits,
    cast,
    complex,
    elementwise,
    index,
    linalg,
    reduce,
    rounding,
    shape,
    transcendental,
)
from xdsl_rlx.dialects.mir.compositions import every, repeat
from xdsl_rlx.dialects.mir.fields import settings_of
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import FLOATS, broadcast_shapes, element_of, shape_of, u8, u32
from xdsl_rlx.transforms.driver import is_differentiated, is_elementwise
from xdsl_rlx.transforms.located import located

OpT = TypeVar("OpT", bound=Operation)

Replacement: TypeAlias = Value | SSAValue | Sequence[Value | SSAValue | None] | None
"""What takes the place of an op's result, or of each of several (None: nothing reads it); None: the op stays."""

Rewrite: TypeAlias = Callable[[OpT, MirBuilder], Replacement]
"""`(op, b) -> values` that take the place of the op's results, or None where nothing is to be done."""

_PATTERNS: dict[type[Operation], tuple[RewritePattern, ...]] = {}


class _ReplaceResults(RewritePattern):
    """Replaces an op by the values that a function gives, located where the op was: any driver may run it."""

    def __init__(self, rewrite: Callable[..., Replacement]):
        self.rewrite = rewrite

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if is_differentiated(op):
            return
        with located(rewriter, op.location):
            found = self.rewrite(op, MirBuilder(rewriter))
        if found is not None:
            values = found if isinstance(found, Sequence) else (found,)
            rewriter.replace(op, [], [value.ssa if isinstance(value, Value) else value for value in values])
        else:
            assert not rewriter.has_done_action, f"{self.rewrite.__name__} built ops and replaced nothing"


def patterns_of(op: type[Operation]) -> tuple[RewritePattern, ...]:
    """The patterns of an op class, in the order they are tried."""
    return _PATTERNS.get(op, ())


def canonical(*ops: type[OpT]) -> Callable[[Rewrite[OpT]], Rewrite[OpT]]:
    """Decorator: the function rewrites ops of these classes."""

    def register(rewrite: Rewrite[OpT]) -> Rewrite[OpT]:
        for op in ops:
            _PATTERNS[op] = (*patterns_of(op), _ReplaceResults(rewrite))
        return rewrite

    return register


def splat(value: SSAValue) -> Number | None:
    """The number that a value is everywhere, if it is a constant, reshaped or expanded or not."""
    owner = value.owner
    # Asked of all operands of all ops: comparing classes is what that costs least.
    while type(owner) is shape.ExpandOp or type(owner) is shape.ReshapeOp:
        owner = owner.operand.owner
    return splat_value(owner.value) if type(owner) is elementwise.ConstantOp else None


def _is(value: SSAValue, number: float) -> bool:
    found = splat(value)
    # Equality does not tell 0.0 from -0.0.
    return found == number and (not isinstance(found, float) or copysign(1, found) == copysign(1, number))


@canonical(elementwise.NegOp)
def cancel_double_neg(op: elementwise.NegOp, b: MirBuilder) -> SSAValue | None:
    inner = op.operand.owner
    return inner.operand if isinstance(inner, elementwise.NegOp) else None


@canonical(elementwise.AddOp)
def drop_added_zero(op: elementwise.AddOp, b: MirBuilder) -> Value | None:
    # x + 0.0 is not x for x = -0.0, but x + -0.0 is.
    zero = 0 if isinstance(element_of(op.results[0]), IntegerType) else -0.0
    lhs, rhs = op.operands
    for kept, other in ((lhs, rhs), (rhs, lhs)):
        if _is(other, zero):
            return b.expand(kept, shape_of(op.result))
    return None


@canonical(elementwise.SubOp)
def drop_subtracted_zero(op: elementwise.SubOp, b: MirBuilder) -> Value | None:
    return b.expand(op.lhs, shape_of(op.result)) if _is(op.rhs, 0) else None


@canonical(elementwise.MulOp)
def drop_factor_one(op: elementwise.MulOp, b: MirBuilder) -> Value | None:
    lhs, rhs = op.operands
    for kept, other in ((lhs, rhs), (rhs, lhs)):
        found = splat(other)
        if found == 1:
            return b.expand(kept, shape_of(op.result))
        if found == -1:
            return b.neg(b.expand(kept, shape_of(op.result)))
    return None


@canonical(elementwise.DivOp)
def divide_by_multiplying(op: elementwise.DivOp, b: MirBuilder) -> Value | None:
    """By one: nothing. By a power of two whose reciprocal is a normal number: the product is the same real number."""
    divisor = splat(op.rhs)
    if not isinstance(divisor, float) or element_of(op.rhs) not in FLOATS:
        return None
    mantissa, exponent = frexp(divisor)
    if divisor == 1.0:
        return b.expand(op.lhs, shape_of(op.result))
    if abs(mantissa) != 0.5 or not -13 < exponent - 1 < 14:
        return None
    return b.expand(b.mul(op.lhs, 1 / divisor), shape_of(op.result))


@canonical(elementwise.PowOp)
def expand_small_powers(op: elementwise.PowOp, b: MirBuilder) -> Value | None:
    """Powers of few products, and roots, which take a tenth of the time; half floats are rounded once."""
    power = _POWERS.get(exponent) if isinstance(exponent := splat(op.rhs), float) else None
    if power is None:
        return None
    base, element = b.expand(op.lhs, shape_of(op.result)), element_of(op.result)
    half = element in (f16, bf16)
    return b.cast(power(b, b.cast(base, f32 if half else element)), element)


def _root(b: MirBuilder, x: Value) -> Value:
    """`x^0.5` as IEEE pow has it: 0 of -0, and infinity of -infinity."""
    return b.where(b.eq(x, -inf), inf, b.sqrt(x) + 0.0)


_POWERS: dict[float, Callable[[MirBuilder, Value], Value]] = {
    1.0: lambda b, x: x,
    2.0: lambda b, x: x * x,
    3.0: lambda b, x: x * x * x,
    4.0: lambda b, x: (x * x) * (x * x),
    -1.0: lambda b, x: b.recip(x),
    # a square that overflows has a reciprocal that does not
    -2.0: lambda b, x: b.recip(x) * b.recip(x),
    0.5: _root,
    -0.5: lambda b, x: b.recip(_root(b, x)),
}


@canonical(elementwise.WhereOp)
def select_known_branch(op: elementwise.WhereOp, b: MirBuilder) -> Value | None:
    condition = splat(op.cond)
    if op.on_true == op.on_false or condition:
        return b.expand(op.on_true, shape_of(op.result))
    return b.expand(op.on_false, shape_of(op.result)) if condition is not None else None


@canonical(
    elementwise.AddOp,
    elementwise.SubOp,
    elementwise.MulOp,
    elementwise.DivOp,
    elementwise.MaxOp,
    elementwise.MinOp,
    elementwise.PowOp,
    elementwise.AndOp,
    elementwise.ShiftRightLogicalOp,
    elementwise.EqOp,
    elementwise.NeOp,
    elementwise.LtOp,
    elementwise.LeOp,
    elementwise.GtOp,
    elementwise.GeOp,
    elementwise.WhereOp,
    rounding.RemOp,
    rounding.ModOp,
    rounding.FloordivOp,
    rounding.CopysignOp,
    rounding.OrOp,
    rounding.XorOp,
    rounding.ShiftLeftOp,
    rounding.ShiftRightOp,
    transcendental.LogaddexpOp,
    bits.NextafterOp,
)
def leave_broadcasting_to_the_op(op: Operation, b: MirBuilder) -> Value | None:
    """An operand that is expanded to the shape which the op gives it anyway."""
    operands = list(op.operands)
    for number, operand in enumerate(operands):
        expand = operand.owner
        if type(expand) is not shape.ExpandOp:
            continue
        others = [shape_of(v) for i, v in enumerate(operands) if i != number]
        if broadcast_shapes(shape_of(expand.operand), *others) == shape_of(op.results[0]):
            operands[number] = expand.operand
    if operands == list(op.operands):
        return None
    copy = b.builder.insert(type(op).create(operands=operands, result_types=[op.results[0].type]))
    return b.value(copy.results[0])


EXACT_IN: dict[Attribute, tuple[Attribute, ...]] = {
    i1: (f16, bf16, f32, f64, i8, u8, i16, i32, u32, i64),
    i8: (f16, bf16, f32, f64, i16, i32, i64),
    u8: (f16, bf16, f32, f64, i16, i32, u32, i64),
    i16: (f32, f64, i32, i64),
    i32: (i64, f64),
    u32: (i64, f64),
    f16: (f32, f64),
    bf16: (f32, f64),
    f32: (f64,),
}
"""The element types that hold every value of an element type."""


@canonical(cast.CastOp)
def cast_once(op: cast.CastOp, b: MirBuilder) -> Value | SSAValue | None:
    to = element_of(op.result)
    if element_of(op.operand) == to:
        return op.operand
    inner = op.operand.owner
    if isinstance(inner, cast.CastOp) and element_of(op.operand) in EXACT_IN.get(element_of(inner.operand), ()):
        return b.cast(inner.operand, to)
    return None


@canonical(bits.BitcastConvertTypeOp)
def bitcast_once(op: bits.BitcastConvertTypeOp, b: MirBuilder) -> Value | SSAValue | None:
    """The same type is no conversion, and the bits of a bitcast are those of its operand."""
    if op.operand.type == op.result.type:
        return op.operand
    inner = op.operand.owner
    return b.bitcast_convert_type(inner.operand, element_of(op.result)) if isinstance(inner, type(op)) else None


@canonical(bits.ReducePrecisionOp)
def keep_whole_precision(op: bits.ReducePrecisionOp, b: MirBuilder) -> SSAValue | None:
    """As many bits as the type has, or as a first op has left."""
    exponent, mantissa, element = op.exponent_bits.value.data, op.mantissa_bits.value.data, element_of(op.operand)
    if exponent >= bits.EXPONENT_BITS[element] and mantissa >= bits.MANTISSA_BITS[element]:
        return op.operand
    inner = op.operand.owner
    if isinstance(inner, bits.ReducePrecisionOp) and (inner.exponent_bits, inner.mantissa_bits) == (
        op.exponent_bits,
        op.mantissa_bits,
    ):
        return op.operand
    return None


@canonical(complex.RealOp)
def take_known_real_part(op: complex.RealOp, b: MirBuilder) -> SSAValue | None:
    inner = op.operand.owner
    return inner.lhs if isinstance(inner, complex.ComplexOp) else None


@canonical(complex.ImagOp)
def take_known_imaginary_part(op: complex.ImagOp, b: MirBuilder) -> SSAValue | None:
    inner = op.operand.owner
    return inner.rhs if isinstance(inner, complex.ComplexOp) else None


@canonical(complex.ConjugateOp)
def conjugate_once(op: complex.ConjugateOp, b: MirBuilder) -> SSAValue | None:
    inner = op.operand.owner
    return inner.operand if isinstance(inner, complex.ConjugateOp) else None


@canonical(shape.ReshapeOp)
def reshape_once(op: shape.ReshapeOp, b: MirBuilder) -> Value | SSAValue | None:
    if op.operand.type == op.result.type:
        return op.operand
    inner = op.operand.owner
    return b.reshape(inner.operand, shape_of(op.result)) if isinstance(inner, shape.ReshapeOp) else None


@canonical(shape.TransposeOp)
def transpose_once(op: shape.TransposeOp, b: MirBuilder) -> Value | SSAValue | None:
    perm = op.perm_list
    if perm == tuple(range(len(perm))):
        return op.operand
    inner = op.operand.owner
    if isinstance(inner, shape.TransposeOp):
        return b.transpose(inner.operand, [inner.perm_list[p] for p in perm])
    before = shape_of(op.operand)
    moved = [p for p in perm if before[p] != 1]
    return b.reshape(op.operand, shape_of(op.result)) if moved == sorted(moved) else None


@canonical(shape.TransposeOp)
def multiply_transposed(op: shape.TransposeOp, b: MirBuilder) -> Value | None:
    """`(a b)^T = b^T a^T`, where nothing else reads the product: operands are transposed for free, a product is not."""
    inner, perm = op.operand.owner, op.perm_list
    rank = len(perm)
    if not isinstance(inner, linalg.MatmulOp) or not inner.result.has_one_use():
        return None
    swap = (*range(rank - 2), rank - 1, rank - 2)
    if perm != swap or any(len(shape_of(x)) != rank for x in inner.operands):
        return None
    return b.matmul(b.transpose(inner.rhs, swap), b.transpose(inner.lhs, swap))


@canonical(shape.TransposeOp)
def transpose_elements(op: shape.TransposeOp, b: MirBuilder) -> Value | None:
    """
    `f(x^T, v)^T = f(x, v)` of elementwise ops that nothing else reads, where no other operand has to be moved.

    What has one dimension but for those of 1 is left to `transpose_once`.
    """
    inner, perm = op.operand.owner, op.perm_list
    if not isinstance(inner, Operation) or not is_elementwise(type(inner)) or not _has_two_axes(op.operand):
        return None
    return b.value(_moved(b, op.operand, perm)) if _moves_for_free(op.operand, perm) else None


def _has_two_axes(x: SSAValue) -> bool:
    return sum(n != 1 for n in shape_of(x)) > 1


def _is_reshaped_by(x: SSAValue, perm: Sequence[int]) -> bool:
    """Whether axes move past axes of extent 1 only, of an operand that broadcasts to as many axes as `perm` has."""
    full = (1,) * (len(perm) - len(shape_of(x))) + shape_of(x)
    moved = [p for p in perm if full[p] != 1]
    return moved == sorted(moved)


def _moves_for_free(x: SSAValue, perm: Sequence[int], depth: int = 8) -> bool:
    """Whether an operand of an elementwise op, or the op, is as it would be transposed without a transpose."""
    owner = x.owner
    if _is_reshaped_by(x, perm):
        return True
    if isinstance(owner, shape.TransposeOp):
        return [owner.perm_list[p] for p in perm] == [*range(len(perm))]
    return _has_elements_only_for(x, lambda y: _moves_for_free(y, perm, depth - 1), depth)


def _has_elements_only_for(x: SSAValue, is_free: Callable[[SSAValue], bool], depth: int) -> bool:
    """Whether an elementwise op that is read once computes a value, from operands that are all free to move."""
    owner = x.owner
    if not depth or not isinstance(owner, Operation) or not is_elementwise(type(owner)) or not x.has_one_use():
        return False
    return bool(owner.operands) and all(map(is_free, owner.operands))


def _moved(b: MirBuilder, x: SSAValue, perm: Sequence[int]) -> SSAValue:
    """The value transposed, where that is for free."""
    owner, own = x.owner, shape_of(x)
    if not own:
        return x
    full = (1,) * (len(perm) - len(own)) + own
    wanted = [full[p] for p in perm]
    if _is_reshaped_by(x, perm):
        return b.reshape(x, wanted).ssa
    if isinstance(owner, shape.TransposeOp):
        return owner.operand
    return _recomputed(b, x, wanted, lambda y: _moved(b, y, perm))


def _recomputed(b: MirBuilder, x: SSAValue, wanted: Sequence[int], moved: Callable[[SSAValue], SSAValue]) -> SSAValue:
    """The elementwise op that computes a value, of operands that have been moved."""
    owner = x.owner
    assert isinstance(owner, Operation)
    operands = [moved(y) for y in owner.operands]
    types = [TensorType(element_of(x), wanted)]
    copy = type(owner).create(operands=operands, result_types=types, properties=dict(owner.properties))
    return b.builder.insert(copy).results[0]


@canonical(shape.ReshapeOp)
def reshape_elements(op: shape.ReshapeOp, b: MirBuilder) -> Value | None:
    """
    `reshape(f(reshape(x), c)) = f(x, c)` of elementwise ops that nothing else reads, for the shape of `x`.

    A reshape between an op and its operand keeps `transpose_elements` and the fusion of `f` from what is behind it.
    """
    inner, wanted = op.operand.owner, shape_of(op.result)
    if not isinstance(inner, Operation) or not is_elementwise(type(inner)) or not _has_two_axes(op.operand):
        return None
    return b.value(_reshaped(b, op.operand, wanted)) if _reshapes_for_free(op.operand, wanted) else None


def _is_number(x: SSAValue) -> bool:
    return all(n == 1 for n in shape_of(x))


def _reshapes_for_free(x: SSAValue, wanted: Sequence[int], depth: int = 8) -> bool:
    """Whether an operand of an elementwise op, or the op, has this shape without a reshape."""
    if _is_number(x):
        return True
    if isinstance(x.owner, shape.ReshapeOp):
        return shape_of(x.owner.operand) == tuple(wanted)
    return _has_elements_only_for(x, lambda y: _reshapes_for_free(y, wanted, depth - 1), depth)


def _reshaped(b: MirBuilder, x: SSAValue, wanted: Sequence[int]) -> SSAValue:
    """The value reshaped, where that is for free."""
    if _is_number(x):
        return b.reshape(x, ()).ssa
    if isinstance(x.owner, shape.ReshapeOp):
        return x.owner.operand
    return _recomputed(b, x, wanted, lambda y: _reshaped(b, y, wanted))


@canonical(shape.ExpandOp)
def expand_once(op: shape.ExpandOp, b: MirBuilder) -> Value | SSAValue | None:
    if op.operand.type == op.result.type:
        return op.operand
    inner = op.operand.owner
    if isinstance(inner, shape.ExpandOp):
        return b.expand(inner.operand, shape_of(op.result))
    if isinstance(inner, shape.ReshapeOp):
        # Expanding aligns shapes on the right, so ones in front need not be put there.
        before, after = shape_of(inner.operand), shape_of(inner.result)
        if after == (1,) * (len(after) - len(before)) + before:
            return b.expand(inner.operand, shape_of(op.result))
    return None


@canonical(shape.NarrowOp)
def narrow_once(op: shape.NarrowOp, b: MirBuilder) -> Value | SSAValue | None:
    if op.operand.type == op.result.type:
        return op.operand
    axis, start, length = op.bounds
    inner = op.operand.owner
    if isinstance(inner, shape.NarrowOp):
        inner_axis, inner_start, _ = inner.bounds
        return b.narrow(inner.operand, axis, inner_start + start, length) if inner_axis == axis else None
    if isinstance(inner, shape.ConcatOp) and inner.axis_index == axis and (found := _part(inner, start, length)):
        return b.narrow(found[0], axis, found[1], length)
    return None


SEARCHED = 16
"""Elementwise ops in a row behind which `narrow_elements` looks for a concat: more than stand between a pad and its
gradient."""


@canonical(shape.NarrowOp)
def narrow_elements(op: shape.NarrowOp, b: MirBuilder) -> SSAValue | None:
    """`narrow(f(concat(.., x, ..), c)) = f(x, c)` of elementwise ops that nothing else reads: gradients of pads."""
    axis, start, length = op.bounds
    axis -= len(shape_of(op.operand))
    owner = op.operand.owner
    if not isinstance(owner, Operation) or not is_elementwise(type(owner)):
        return None
    if not _has_part(op.operand, axis, start, length, SEARCHED):
        return None
    return _narrowed(b, op.operand, axis, start, length)


def _has_part(x: SSAValue, axis: int, start: int, length: int, depth: int) -> bool | None:
    """
    Whether a window, along an axis counted from the back, is of one part of each concat; None without a concat.

    Concats are looked for behind `depth` elementwise ops.
    """
    owner, extents = x.owner, shape_of(x)
    if len(extents) < -axis or extents[axis] == 1 or splat(x) is not None:
        return None
    if isinstance(owner, shape.ConcatOp):
        return owner.axis_index == len(extents) + axis and _part(owner, start, length) is not None
    users = {use.operation for use in x.uses}
    if not isinstance(owner, Operation) or not is_elementwise(type(owner)) or len(owner.results) > 1 or len(users) > 1:
        return False
    if not depth:
        return False
    found = [_has_part(y, axis, start, length, depth - 1) for y in owner.operands]
    return None if all(one is None for one in found) else all(one is not False for one in found)


def _part(op: shape.ConcatOp, start: int, length: int) -> tuple[SSAValue, int] | None:
    """The part that a window is within, and where it begins there."""
    for part in op.parts:
        extent = shape_of(part)[op.axis_index]
        if start >= 0 and start + length <= extent:
            return part, start
        start -= extent
    return None


def _narrowed(b: MirBuilder, x: SSAValue, axis: int, start: int, length: int) -> SSAValue:
    """The window of a value of which `_has_part` holds."""
    owner, extents = x.owner, list(shape_of(x))
    if len(extents) < -axis or extents[axis] == 1:
        return x
    if (number := splat(x)) is not None:
        extents[axis] = length
        return b.full(extents, number, element_of(x)).ssa
    if isinstance(owner, shape.ConcatOp):
        found = _part(owner, start, length)
        assert found is not None
        return b.narrow(found[0], axis, found[1], length).ssa
    extents[axis] = length
    return _recomputed(b, x, extents, lambda y: _narrowed(b, y, axis, start, length))


@canonical(shape.ConcatOp)
def drop_empty_parts(op: shape.ConcatOp, b: MirBuilder) -> Value | SSAValue | None:
    if len(op.parts) == 1:
        return op.parts[0]
    axis = op.axis_index
    parts = [part for part in op.parts if shape_of(part)[axis]]
    return b.concat(parts, axis) if parts and len(parts) < len(op.parts) else None


@canonical(index.GatherOp)
def slice_instead_of_gathering(op: index.GatherOp, b: MirBuilder) -> Value | None:
    """Slices at known places that rise or fall evenly, each perhaps several times: views, and repetitions of them."""
    at = op.indices.owner
    if type(at) is not elementwise.ConstantOp or len(shape_of(op.indices)) != 1 or element_of(op.indices) in FLOATS:
        return None
    axis, table = op.axis_index, b.value(op.table)
    last = table.shape[axis] - 1
    places = [min(max(int(place), 0), last) for place in at.value.get_values()]
    if last < 0 or not places:
        return None
    times = next((k for k, place in enumerate(places) if place != places[0]), len(places))
    once = places[::times]
    step = once[1] - once[0] if len(once) > 1 else 1
    evenly = range(once[0], once[0] + step * len(once), step)
    if len(places) % times or any(place != evenly[k // times] for k, place in enumerate(places)):
        return None
    rising = every(table, axis, evenly if step > 0 else evenly[::-1])
    return repeat(b, rising if step > 0 else b.flip(rising, axis), times, axis)


REDUCTIONS = reduce.ReduceOp.__subclasses__()


@canonical(*REDUCTIONS)
def reshape_instead_of_reducing_one(op: reduce.ReduceOp, b: MirBuilder) -> Value | None:
    """A reduction over no axes, or over axes of extent 1."""
    before = shape_of(op.operand)
    return b.reshape(op.operand, shape_of(op.result)) if all(before[a] == 1 for a in op.axis_list) else None


@canonical(*REDUCTIONS)
def reshape_instead_of_keeping_axes(op: reduce.ReduceOp, b: MirBuilder) -> Value | None:
    """Reductions that differ in this alone are equal: a loss sums exponentials without the axis, its gradient with."""
    return b.reshape(b.op(type(op), op.operand, op.axis_list), shape_of(op.result)) if op.keep_dim is not None else None


@canonical(*REDUCTIONS)
def reduce_once(op: reduce.ReduceOp, b: MirBuilder) -> Value | None:
    """
    A reduction of a reduction of the same kind that nothing else reads.

    With axes between theirs, two are faster: each sweeps over memory in order.
    """
    inner = op.operand.owner
    with_ones = isinstance(inner, shape.ReshapeOp)
    if isinstance(inner, shape.ReshapeOp) and op.operand.has_one_use():
        inner = inner.operand.owner
    if not isinstance(inner, reduce.ReduceOp) or type(inner) is not type(op) or not inner.result.has_one_use():
        return None
    before = shape_of(inner.operand)
    if with_ones and shape_of(op.operand) != tuple(1 if a in inner.axis_list else n for a, n in enumerate(before)):
        return None
    kept = [a for a in range(len(before)) if with_ones or a not in inner.axis_list]
    axes = sorted({*inner.axis_list, *(kept[a] for a in op.axis_list)})
    if any(before[a] != 1 for a in range(axes[0], axes[-1]) if a not in axes):
        return None
    return b.reshape(b.op(type(op), inner.operand, axes), shape_of(op.result))


@canonical(*REDUCTIONS)
def reduce_as_it_lies(op: reduce.ReduceOp, b: MirBuilder) -> Value | None:
    """`sum(f(x^T), axes) = sum(f(x), axes of x)` of elementwise ops that nothing else reads: sums read `x` in order."""
    perm = _perm_inside(op.operand)
    if perm is None or op.keep_dim is not None:
        return None
    back = [perm.index(axis) for axis in range(len(perm))]
    if not _moves_for_free(op.operand, back):
        return None
    found = b.op(type(op), _moved(b, op.operand, back), sorted(perm[axis] for axis in op.axis_list))
    kept = [perm[axis] for axis in range(len(perm)) if axis not in op.axis_list]
    order = [sorted(kept).index(axis) for axis in kept]
    return b.transpose(found, order) if order != [*range(len(order))] else found


def _perm_inside(x: SSAValue, depth: int = 8) -> Sequence[int] | None:
    """How a transpose below elementwise ops, or the value itself, moves the axes."""
    if isinstance(x.owner, shape.TransposeOp):
        return x.owner.perm_list
    if not depth or not isinstance(x.owner, Operation) or not is_elementwise(type(x.owner)) or not x.has_one_use():
        return None
    found = (_perm_inside(y, depth - 1) for y in x.owner.operands if len(shape_of(y)) == len(shape_of(x)))
    return next((perm for perm in found if perm is not None), None)


@canonical(attention.AttentionBackwardOp)
def drop_unread_bias_cotangent(op: attention.AttentionBackwardOp, b: MirBuilder) -> Replacement:
    """Large as it may be, where nothing reads it."""
    if op.dbias is None or op.dbias.first_use is not None:
        return None
    operands = (op.q, op.k, op.v, op.out, op.lse, op.dy, op.mask, op.d_lse)
    without = b.emit(attention.AttentionBackwardOp, *operands, **settings_of(op))
    return [*without.results, None]
