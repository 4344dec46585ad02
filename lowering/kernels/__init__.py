"""Loop nests of ops that fusion does not put together from single elements: a row an op, in the file of its family.
Importing this package fills the table, also with the rows of plugins."""

from importlib import import_module
from pkgutil import iter_modules

from xdsl_rlx.lowering.kernels.work import NEST, Work
from xdsl_rlx.plugins import modules

for _info in iter_modules(__path__):
    import_module(f"{__name__}.{_info.name}")
modules("kernels")

__all__ = ["NEST", "Work"]
