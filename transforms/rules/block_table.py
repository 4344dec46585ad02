"""The table of what `hir` blocks mean in `mir`, and the policies. Its rows are in `hir/`, a file a family."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from xdsl.ir import Operation
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.locations import named
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.transforms.rules.rule_table import RuleTable

OpT = TypeVar("OpT", bound=Operation)


class FusionPolicy(StrEnum):
    """Composite mir ops where there is one, or primitive ops for fusion to group; derivatives are of primitive ones."""

    DIRECT = "direct"
    FUSABLE = "fusable"
    FOR_AUTODIFF = "for_autodiff"

    @property
    def composite(self) -> bool:
        """Whether composite ops are wanted."""
        return self is FusionPolicy.DIRECT


BlockRule: TypeAlias = Callable[[OpT, MirBuilder, FusionPolicy], Sequence[Value]]
"""`(block, b, policy) -> values` of the block's results."""


class BlockTable(RuleTable[BlockRule[Any]]):
    """What blocks mean."""

    def complaint(self, op: Operation) -> str:
        family = type(op).__module__.rsplit(".", 1)[-1]
        return f"no lowering for {named(op)}: add one to transforms/rules/hir/{family}.py"

    def rule(self, *ops: type[OpT]) -> Callable[[BlockRule[OpT]], BlockRule[OpT]]:
        """Decorator: the function is the row of these ops."""
        return self.row_of(*ops)


BLOCKS = BlockTable("block")
