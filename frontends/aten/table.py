"""All rows: importing this module fills the table."""

from xdsl_rlx.frontends.aten import (
    attention,
    backward,
    bags,
    elementwise,
    indexing,
    linear,
    losses,
    neural,
    normalization,
    pooling,
    recurrent,
    reductions,
    resampling,
    scattering,
    shapes,
    sorting,
    updates,
)
from xdsl_rlx.frontends.aten.rows import ROWS

__all__ = [
    "ROWS",
    "attention",
    "backward",
    "bags",
    "elementwise",
    "indexing",
    "linear",
    "losses",
    "neural",
    "normalization",
    "pooling",
    "recurrent",
    "reductions",
    "resampling",
    "scattering",
    "shapes",
    "sorting",
    "updates",
]
