"""The rule tables, filled: importing this package registers the rows of every op family, in its files and of plugins.
The tables themselves are in `rule_table.py`."""

from functools import partial
from importlib import import_module
from pkgutil import iter_modules

from xdsl_rlx.dialects.mir.cast import CastOp
from xdsl_rlx.plugins import modules
from xdsl_rlx.transforms.rules.halves import narrowed
from xdsl_rlx.transforms.rules.raise_table import RAISE, Walk
from xdsl_rlx.transforms.rules.rule_table import DECOMPOSE, INERT, JVP, SCALAR, VJP, VMAP

for _info in iter_modules(__path__):
    import_module(f"{__name__}.{_info.name}")
modules("rules")

for _op in RAISE.ops:
    RAISE.rule(_op, CastOp, stage=Walk.HALVES)(partial(narrowed, _op))

__all__ = ["DECOMPOSE", "INERT", "JVP", "RAISE", "SCALAR", "VJP", "VMAP"]
