"""Reverse mode on a line of ops: which of them lie on a differentiable path, and the cotangents that go back along it.

Of each op there is left either a `mir.vjp` (`lay_out_reverse`, the structure of a gradient) or what its rule emits
(`pull_back`): one walk serves both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.mir.control import VjpOp
from xdsl_rlx.dialects.mir.elementwise import AddOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, FLOATS, element_of
from xdsl_rlx.transforms.engines.define import define
from xdsl_rlx.transforms.located import located, recorded
from xdsl_rlx.transforms.rules.rule_table import DECOMPOSE, FLOW, INERT, VJP
from xdsl_rlx.transforms.rules.wide import rounded, wide, widened

Arrived: TypeAlias = Sequence[SSAValue | None]
"""A cotangent per result of an op, None where nothing arrives."""

Step: TypeAlias = Callable[[Operation, Arrived, Sequence[int]], Sequence[SSAValue | None]]
"""`(op, arrived, active) -> cotangents` of the operands numbered by `active`."""


def has_derivative(value: SSAValue) -> bool:
    """Whether the value is a tensor of floating-point or complex numbers."""
    return isinstance(value.type, TensorType) and element_of(value) in (*FLOATS, *COMPLEXES)


def active_operands(op: Operation, varied: set[SSAValue]) -> list[int]:
    """The numbers of the operands through which `op` passes on what varies."""
    if VJP.reason(type(op)) is not None:
        return []
    inert = INERT.of(op)
    return [index for index, x in enumerate(op.operands) if x in varied and index not in inert]


def varying(ops: Iterable[Operation], wrt: Iterable[SSAValue]) -> set[SSAValue]:
    """The values that depend differentiably on `wrt`, itself included."""
    varied = {value for value in wrt if has_derivative(value)}
    for op in ops:
        if active := active_operands(op, varied):
            varied.update(result for result in FLOW.of(op, active) if has_derivative(result))
    return varied


def lay_out_reverse(
    ops: Sequence[Operation], seeds: Mapping[SSAValue, SSAValue], wrt: Sequence[SSAValue], builder: Builder
) -> list[SSAValue | None]:
    """
    Insert a `mir.vjp` for each op on a path from `wrt` to a seeded value, and the sums of cotangents.

    Returns the cotangents of `wrt`, None where none arrives.
    """

    def lay_out(op: Operation, arrived: Arrived, active: Sequence[int]) -> Sequence[SSAValue]:
        return builder.insert(VjpOp(op, list(op.operands), list(op.results), arrived, active)).grads

    return _walk(ops, seeds, wrt, builder, lay_out)


def pull_back(
    b: MirBuilder, ops: Sequence[Operation], seeds: Mapping[SSAValue, SSAValue], wrt: Sequence[SSAValue]
) -> list[SSAValue | None]:
    """
    Insert what the rules give for each op on a path from `wrt` to a seeded value, where `b` inserts.

    An op without a rule of its own is taken apart by its definition. Returns the cotangents of `wrt`, None where none
    arrives. PassFailedException for an op that has neither.
    """

    def apply(op: Operation, arrived: Arrived, active: Sequence[int]) -> Sequence[SSAValue | None]:
        if not taken_apart(op):
            return cotangents_by_rule(op, b, op.results, arrived, active)
        with recorded(b.builder) as made:
            values = define(op, b)
        operands = list(dict.fromkeys(op.operands[index] for index in active))
        found = dict(zip(operands, pull_back(b, made, add_seeds(b, values, arrived), operands), strict=True))
        # what an operand gets by several places is in its one cotangent
        return [found.pop(op.operands[index], None) for index in active]

    return _walk(ops, seeds, wrt, b.builder, apply)


def taken_apart(op: Operation) -> bool:
    """Whether an op is differentiated by its definition, for lack of a rule of its own."""
    kind = type(op)
    return VJP.get(kind) is None and VJP.reason(kind) is None and DECOMPOSE.get(kind) is not None


def add_seeds(b: MirBuilder, values: Sequence[Value], arrived: Arrived) -> dict[SSAValue, SSAValue]:
    """The cotangents of values, of which one may stand for several results."""
    seeds: dict[SSAValue, SSAValue] = {}
    for value, cotangent in zip(values, arrived, strict=True):
        if cotangent is not None:
            seeds[value.ssa] = _plus(seeds.get(value.ssa), cotangent, b.builder)
    return seeds


def cotangents_by_rule(
    op: Operation, b: MirBuilder, outputs: Sequence[SSAValue], arrived: Arrived, wanted: Sequence[int]
) -> list[SSAValue]:
    """
    The cotangents of the operands numbered by `wanted`, by the rule of `op`.

    `outputs` are the results of `op` in the program. PassFailedException if there is no rule, or if it gives nothing,
    or something of another type, for an operand that is wanted.
    """
    rule = VJP.lookup(op)
    found: list[SSAValue] = []
    with wide(op, b, outputs) as seen:
        taken = widened if seen is not op else MirBuilder.value
        cotangents = rule(seen, b, *[None if c is None else taken(b, c) for c in arrived])
        for index in wanted:
            cotangent = cotangents[index]
            value = cotangent if cotangent is None or isinstance(cotangent, Value) else cotangent()
            if value is None or value.ssa.type != seen.operands[index].type:
                got = "nothing" if value is None else f"a value of type {value.ssa.type}"
                raise PassFailedException(f"the vjp rule of {op.name} gave {got} as the cotangent of operand {index}")
            found.append(value.ssa if seen is op else rounded(b, value, op.operands[index]).ssa)
    return found


def _walk(
    ops: Sequence[Operation], seeds: Mapping[SSAValue, SSAValue], wrt: Sequence[SSAValue], builder: Builder, step: Step
) -> list[SSAValue | None]:
    """
    Take each op on a path from `wrt` to a seeded value, the last first, and add up the cotangents.

    The invariant of the walk: when an op is reached, the cotangents of its results are complete, because all their
    users came before.
    """
    varied = varying(ops, wrt)
    cotangents: dict[SSAValue, SSAValue] = {value: seed for value, seed in seeds.items() if value in varied}
    for op in reversed(ops):
        arrived = [cotangents.get(result) for result in op.results]
        active = active_operands(op, varied)
        if not active or all(cotangent is None for cotangent in arrived):
            continue
        active = _answering(op, active, arrived)
        with located(builder, op.location):
            for index, grad in zip(active, step(op, arrived, active), strict=True):
                if grad is not None:
                    operand = op.operands[index]
                    if operand.name_hint:
                        grad.name_hint = f"d_{operand.name_hint}"
                    cotangents[operand] = _plus(cotangents.get(operand), grad, builder)
    return [cotangents.get(value) for value in wrt]


def _answering(op: Operation, active: list[int], arrived: Arrived) -> list[int]:
    """
    Those of the operands numbered by `active` on which a result with a cotangent depends differentiably.

    All of them but for an op with bodies, which may compare one operand, or compute by it what nobody asks for. A value
    that is there as several operands is asked for as all of them: a rule gives its cotangent as any one of these.
    """
    if len(active) == 1 or not op.regions:
        return active
    asked = {result for result, cotangent in zip(op.results, arrived, strict=True) if cotangent is not None}
    answering = {op.operands[index] for index in active if not asked.isdisjoint(FLOW.of(op, [index]))}
    return [index for index in active if op.operands[index] in answering]


def _plus(before: SSAValue | None, after: SSAValue, builder: Builder) -> SSAValue:
    if before is None:
        return after
    total = builder.insert(AddOp(before, after)).result
    total.name_hint = after.name_hint
    return total
