"""All rows: importing this module fills the table."""

from xdsl_rlx.frontends.stablehlo import (
    contractions,
    control,
    custom_calls,
    elementwise,
    indexing,
    matrices,
    normalization,
    reductions,
    several_devices,
    shapes,
    sorting,
)
from xdsl_rlx.frontends.stablehlo.rows import ROWS

__all__ = [
    "ROWS",
    "contractions",
    "control",
    "custom_calls",
    "elementwise",
    "indexing",
    "matrices",
    "normalization",
    "reductions",
    "several_devices",
    "shapes",
    "sorting",
]
