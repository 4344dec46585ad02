"""All rows: importing this module fills the table."""

from xdsl_rlx.frontends.aten import backward, elementwise, flash_attention, indexing, linear, neural, reductions, shapes
from xdsl_rlx.frontends.aten.rows import ROWS

__all__ = ["ROWS", "backward", "elementwise", "flash_attention", "indexing", "linear", "neural", "reductions", "shapes"]
