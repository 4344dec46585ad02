"""The `hir` dialect: the blocks that model authors write. One file per family of blocks."""

from types import ModuleType

from xdsl.ir import Dialect

from xdsl_rlx.dialects.hir import linear, recurrent
from xdsl_rlx.dialects.mir import ops_of

FAMILIES: tuple[ModuleType, ...] = (linear, recurrent)

Hir = Dialect("hir", [op for family in FAMILIES for op in ops_of(family)])
