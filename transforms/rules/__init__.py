"""The rule tables, filled: importing this package registers the rows of every op family.
The tables themselves are in `table.py`."""

from xdsl_rlx.transforms.rules import (
    backward,
    cast,
    complex,
    control,
    elementwise,
    fused,
    index,
    linalg,
    loops,
    loss,
    norm,
    parts,
    reduce,
    shape,
    spectral,
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
    "complex",
    "control",
    "elementwise",
    "fused",
    "index",
    "linalg",
    "loops",
    "loss",
    "norm",
    "parts",
    "reduce",
    "shape",
    "spectral",
]
