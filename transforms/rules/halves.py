"""Composite ops on half floats, seen between the casts that they mean: the inverse of `wide.py`."""

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.constants import round_to
from xdsl_rlx.dialects.mir.cast import CastOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.rules.raise_table import Raised
from xdsl_rlx.transforms.rules.terms import number, term
from xdsl_rlx.transforms.rules.wide import is_half


def narrowed(kind: type[Operation], cast: CastOp) -> Raised | None:
    """
    An op of that class in f32, between casts from half floats and to them, as one on half floats: what that means.

    The inverse of `wide`, for the rows of RAISE. Other operands in f32 are numbers that half floats have as well.
    """
    op = cast.operand.owner
    if (
        not isinstance(op, Operation)
        or type(op) is not kind
        or not is_half(cast.result)
        or cast.operand is not op.results[0]
    ):
        return None
    half, leaves = element_of(cast.result), list[SSAValue]()
    for operand in op.operands:
        source = operand.owner.operand if isinstance(operand.owner, CastOp) else operand
        if element_of(source) == f32:
            n = number(term(operand))
            if n is None or round_to(n, half) != n:
                return None
        elif element_of(operand) == f32 and element_of(source) != half:
            return None
        leaves.append(source if element_of(operand) == f32 else operand)

    def build(b: MirBuilder) -> Value:
        known = [number(term(x)) if element_of(x) == f32 else None for x in leaves]
        operands = [x if n is None else b.full(shape_of(x), n, half).ssa for x, n in zip(leaves, known, strict=True)]
        types = [cast.result.type, *op.result_types[1:]]
        twin = type(op).create(operands=operands, result_types=types, properties=dict(op.properties))
        return b.value(b.builder.insert(twin).results[0])

    return Raised(leaves, build)
