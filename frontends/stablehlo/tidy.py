"""StableHLO modules that were written: equal operations once, none that is unused, constants first in their block.

Import of such a module, and its export, give the same text.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from xdsl_rlx.dialects.dense_text import elements_of

_RETURNS = ("func.return", "stablehlo.return")
_MOVED = ("stablehlo.iota", "stablehlo.broadcast_in_dim")
"""Operations that stand beside constants if their operands are constants."""


def tidy(module: ModuleOp) -> None:
    """Share equal operations of each block, remove unused ones, and put constants in front, in the order of uses."""
    for function in module.ops:
        for region in function.regions:
            for block in region.blocks:
                _tidy(block)


def _tidy(block: Block) -> None:
    seen: dict[Hashable, Operation] = {}
    for op in list(block.ops):
        if op.regions:
            for region in op.regions:
                for inner in region.blocks:
                    _tidy(inner)
        elif _name(op) not in _RETURNS and (first := seen.setdefault(_key(op), op)) is not op:
            for old, new in zip(op.results, first.results, strict=True):
                new.name_hint = new.name_hint or old.name_hint
                old.replace_all_uses_with(new)
    for op in list(reversed(block.ops)):
        if _name(op) not in _RETURNS and all(result.first_use is None for result in op.results):
            op.detach()
            op.erase()
    _constants_first(block)


def is_operation(op: Operation, name: str) -> bool:
    """Whether an op is the operation of this name."""
    return _name(op) == name


def _name(op: Operation) -> str:
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def _key(op: Operation) -> Hashable:
    """What tells operations without regions apart."""
    attributes = tuple((name, elements_of(value) or value) for name, value in op.attributes.items())
    return _name(op), tuple(op.operands), tuple(x.type for x in op.results), attributes


def _constants_first(block: Block) -> None:
    order: dict[Operation, None] = {}

    def meet(x: SSAValue) -> None:
        if isinstance(x, OpResult) and x.op.parent is block and x.op not in order and _is_constant(x.op):
            for operand in x.op.operands:
                meet(operand)
            order[x.op] = None

    for op in list(block.ops):
        for inner in op.walk():
            if not _is_constant(inner):
                for x in inner.operands:
                    meet(x)
    for op in order:
        op.detach()
    before = block.first_op
    assert before is not None
    for op in order:
        block.insert_op_before(op, before)


def _is_constant(op: Operation) -> bool:
    if _name(op) == "stablehlo.constant":
        return True
    return _name(op) in _MOVED and all(isinstance(x, OpResult) and _is_constant(x.op) for x in op.operands)
