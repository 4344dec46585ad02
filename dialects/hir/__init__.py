"""The `hir` dialect: the blocks that model authors write.

One file per family, and every file here is one but those of all blocks: a block is registered by being defined.
"""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from xdsl.ir import Dialect

from xdsl_rlx.dialects.mir import ops_of

_SHARED = {"block", "hir_builder"}
FAMILIES: tuple[ModuleType, ...] = tuple(
    import_module(f"{__name__}.{info.name}") for info in iter_modules(__path__) if info.name not in _SHARED
)

Hir = Dialect("hir", [op for family in FAMILIES for op in ops_of(family)])
