"""Half floats and rules: what a rule builds of several steps computes in f32 and is rounded once, at its end.
What is rounded where one kernel computes several ops is in `lowering/`: nothing but what is stored."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import BFloat16Type, Float16Type, TensorType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_rlx.dialects.mir.core import Elementwise, HasKernel
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.rules.rule_table import DECOMPOSE, IN_F32, NARROW


def is_half(value: SSAValue) -> bool:
    """Whether a value is a tensor of half floats."""
    return isinstance(value.type, TensorType) and isinstance(element_of(value), Float16Type | BFloat16Type)


def widened(b: MirBuilder, value: SSAValue) -> Value:
    """The value, as f32 if it is of half floats."""
    return b.cast(value, f32) if is_half(value) else b.value(value)


def rounded(b: MirBuilder, value: Value, like: SSAValue) -> Value:
    """What was computed in f32 in place of `like`, of its type."""
    return b.cast(value, element_of(like)) if is_half(like) else value


@contextmanager
def wide(op: Operation, b: MirBuilder, outputs: Sequence[SSAValue] = ()) -> Generator[Operation]:
    """
    For a rule to look at: `op` with its half floats as f32, operands and results; `op` itself if that changes nothing.

    A derivative may read the results, which are `outputs` in the program. Those of an elementwise op or of a definition
    are computed again, in f32: `1 - tanh(x)^2` of a rounded tanh has no digit left where that is near 1. So are those
    of an op that lowering computes in f32 anyway, which is then shared. Else they are taken as they are, and what the
    rule looks at is gone when the rule, and what that has deferred, are done.
    """
    if op.regions or NARROW.has(op) or not any(is_half(operand) for operand in op.operands):
        yield op
        return
    twin = type(op).create(
        operands=[widened(b, operand).ssa for operand in op.operands],
        result_types=[_wide_type(result) for result in op.results],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
    twin.location = op.location
    if outputs and _is_computed_again(op):
        yield b.builder.insert(twin)
        return
    results = [widened(b, output).ssa for output in outputs]
    try:
        yield twin
        for result, value in zip(twin.results, results, strict=False):
            result.replace_all_uses_with(value)
    finally:
        twin.erase(safe_erase=False)


def _is_computed_again(op: Operation) -> bool:
    if DECOMPOSE.get(type(op)) is None:
        return op.has_trait(Elementwise)
    return op.has_trait(Elementwise) or type(op) in IN_F32 or not op.has_trait(HasKernel)


def _wide_type(value: SSAValue) -> Attribute:
    return TensorType(f32, shape_of(value)) if is_half(value) else value.type
