"""All rows: importing this module fills the table."""

from xdsl_rlx.frontends.aten import (
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
    shapes,
)
from xdsl_rlx.frontends.aten.rows import ROWS

__all__ = [
    "ROWS",
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
    "shapes",
]
