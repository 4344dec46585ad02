"""The `hir` dialect: the blocks that model authors write."""

from xdsl.ir import Dialect

Hir = Dialect("hir", [])
