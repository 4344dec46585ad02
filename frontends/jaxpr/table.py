"""All rows: importing this module fills the table."""

from xdsl_rlx.frontends.jaxpr import (
    bits,
    calls,
    control,
    elementwise,
    equinox,
    indexing,
    linalg,
    random_numbers,
    reductions,
    refused,
    shapes,
)
from xdsl_rlx.frontends.jaxpr.rows import ROWS

__all__ = [
    "ROWS",
    "bits",
    "calls",
    "control",
    "elementwise",
    "equinox",
    "indexing",
    "linalg",
    "random_numbers",
    "reductions",
    "refused",
    "shapes",
]
