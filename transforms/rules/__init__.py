"""The rule tables, filled: importing this package registers the rows of every op family.
The tables themselves are in `table.py`."""

from xdsl_rlx.transforms.rules import (
    backward,
    cast,
    control,
    elementwise,
    fused,
    index,
    linalg,
    loops,
    loss,
    moe,
    norm,
    random,
    reduce,
    shape,
)
from xdsl_rlx.transforms.rules.table import DECOMPOSE, INERT, JVP, SCALAR, VJP, VMAP

__all__ = [
    "DECOMPOSE",
    "INERT",
    "JVP",
    "SCALAR",
    "VJP",
    "VMAP",
    "backward",
    "cast",
    "control",
    "elementwise",
    "fused",
    "index",
    "linalg",
    "loops",
    "loss",
    "moe",
    "norm",
    "random",
    "reduce",
    "shape",
]
