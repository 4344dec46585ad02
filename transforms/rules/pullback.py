"""The cotangents of a straight line of ops at once, for definitions that are the derivative of another one.
The transformation of whole functions is `mir_grad.py`, which leaves a `mir.vjp` for each op."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.mir.builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import FLOATS, element_of
from xdsl_rlx.transforms.rules.table import INERT, VJP


def _active(op: Operation, varied: set[SSAValue]) -> list[int]:
    """The numbers of the operands through which what varies passes."""
    if VJP.reason(type(op)) is not None:
        return []
    inert = INERT.of(op)
    return [index for index, x in enumerate(op.operands) if x in varied and index not in inert]


def _has_derivative(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and element_of(value) in FLOATS


def pull_back(
    b: MirBuilder, ops: Sequence[Operation], value: SSAValue, cotangent: Value, wrt: Sequence[SSAValue]
) -> list[Value]:
    """The cotangents of `wrt` where `value`, computed by `ops`, has `cotangent`: zeros where nothing arrives."""
    varied = set(wrt)
    for op in ops:
        if _active(op, varied):
            varied.update(result for result in op.results if _has_derivative(result))
    found: dict[SSAValue, Value] = {value: cotangent}
    for op in reversed(ops):
        arrived = [found.get(result) for result in op.results]
        active = _active(op, varied)
        if not active or all(x is None for x in arrived):
            continue
        parts = VJP.lookup(op)(op, b, *arrived)
        for index in active:
            part = parts[index]
            new = part if part is None or isinstance(part, Value) else part()
            if new is not None:
                before = found.get(op.operands[index])
                found[op.operands[index]] = new if before is None else before + new
    return [found[x] if x in found else b.zeros_like(x) for x in wrt]
