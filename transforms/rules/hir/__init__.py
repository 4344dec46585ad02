"""What each `hir` block means in `mir`, for all fusion policies: a file per family, with the name of its dialect's.

The table itself is in `block_table.py`, the pass in `convert_hir_to_mir.py`.
"""

from importlib import import_module
from pkgutil import iter_modules

from xdsl_rlx.dialects.hir import Hir
from xdsl_rlx.dialects.hir.block import OneOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.transforms.rules.block_table import BLOCKS, FusionPolicy

__all__ = ["BLOCKS"]

for _info in iter_modules(__path__):
    import_module(f"{__name__}.{_info.name}")


def _one_op(op: OneOp, b: MirBuilder, policy: FusionPolicy) -> list[Value]:
    """The mir op that the block is."""
    return list(op.as_mir(b))


for _op in Hir.operations:
    if issubclass(_op, OneOp) and BLOCKS.get(_op) is None:
        BLOCKS.add(_op, _one_op)
