"""The rule tables, filled: importing this package registers the rows of every op family.
The tables themselves are in `table.py`."""

from xdsl_rlx.transforms.rules import cast, elementwise, loops
from xdsl_rlx.transforms.rules.table import DECOMPOSE, JVP, SCALAR, VJP

__all__ = ["DECOMPOSE", "JVP", "SCALAR", "VJP", "cast", "elementwise", "loops"]
