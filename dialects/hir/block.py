"""What all `hir` blocks share. No block is defined here."""

import abc

from xdsl_rlx.dialects.mir.core import TensorOp


class HirOp(TensorOp, abc.ABC):
    """A block of a model: its meaning is its lowering to `mir`."""
