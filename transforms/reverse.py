"""The structure of a gradient: which ops lie on a differentiable path, and a `mir.vjp` for each in reverse order.
What becomes of a `mir.vjp` is in `mir_emit_vjp.py`."""

from collections.abc import Iterable, Mapping, Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.mir.control import VjpOp
from xdsl_rlx.dialects.mir.elementwise import AddOp
from xdsl_rlx.dialects.shapes import COMPLEXES, FLOATS, element_of
from xdsl_rlx.transforms.rules import INERT, VJP


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
        if active_operands(op, varied):
            varied.update(result for result in op.results if has_derivative(result))
    return varied


def lay_out_reverse(
    ops: Sequence[Operation], seeds: Mapping[SSAValue, SSAValue], wrt: Sequence[SSAValue], builder: Builder
) -> list[SSAValue | None]:
    """
    Insert a `mir.vjp` for each op on a path from `wrt` to a seeded value, and the sums of cotangents.

    The invariant of the walk: when an op is reached, the cotangents of its results are complete, because all their
    users came before. Returns the cotangents of `wrt`, None where none arrives.
    """
    varied = varying(ops, wrt)
    cotangents: dict[SSAValue, SSAValue] = {value: seed for value, seed in seeds.items() if value in varied}
    for op in reversed(ops):
        arrived = [cotangents.get(result) for result in op.results]
        active = active_operands(op, varied)
        if not active or all(cotangent is None for cotangent in arrived):
            continue
        vjp = VjpOp(op, list(op.operands), list(op.results), arrived, active)
        vjp.location = op.location
        builder.insert(vjp)
        for index, grad in zip(active, vjp.grads, strict=True):
            operand = op.operands[index]
            grad.name_hint = f"d_{operand.name_hint}" if operand.name_hint else None
            cotangents[operand] = _plus(cotangents.get(operand), grad, op, builder)
    return [cotangents.get(value) for value in wrt]


def _plus(before: SSAValue | None, grad: SSAValue, op: Operation, builder: Builder) -> SSAValue:
    if before is None:
        return grad
    total = AddOp(before, grad)
    total.location = op.location
    total.result.name_hint = grad.name_hint
    return builder.insert(total).result
