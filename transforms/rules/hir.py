"""What each `hir` block means in `mir`, for both fusion policies. The pass is `convert_hir_to_mir.py`."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from xdsl.ir import Operation
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.hir.linear import LinearOp
from xdsl_rlx.dialects.mir.builder import MirBuilder, Value

OpT = TypeVar("OpT", bound=Operation)


class FusionPolicy(StrEnum):
    """Composite mir ops where there is one, or primitive ops for fusion to group."""

    DIRECT = "direct"
    FUSABLE = "fusable"


BlockRule: TypeAlias = Callable[[OpT, MirBuilder, FusionPolicy], Sequence[Value]]
"""`(block, b, policy) -> values` of the block's results."""

BLOCKS: dict[type[Operation], BlockRule[Any]] = {}


def block(op: type[OpT]) -> Callable[[BlockRule[OpT]], BlockRule[OpT]]:
    """Decorator: the function is the meaning of `op`."""

    def register(function: BlockRule[OpT]) -> BlockRule[OpT]:
        assert op not in BLOCKS, f"second lowering of {op.name}"
        BLOCKS[op] = function
        return function

    return register


@block(LinearOp)
def linear(op: LinearOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    activation = None if op.activation is None else op.activation.data
    if op.b is not None and policy is FusionPolicy.DIRECT:
        return [b.fused_matmul_bias_act(op.x, op.w, op.b, activation)]
    product = b.matmul(op.x, op.w)
    return [b.activation(product if op.b is None else product + op.b, activation)]
