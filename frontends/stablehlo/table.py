"""All rows: importing this module fills the table."""

from xdsl_rlx.frontends.stablehlo import contractions, control, elementwise, reductions, shapes
from xdsl_rlx.frontends.stablehlo.rows import ROWS

__all__ = ["ROWS", "contractions", "control", "elementwise", "reductions", "shapes"]
