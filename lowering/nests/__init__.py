"""Loop nests of ops that fusion does not put together from single elements: a row an op, in the file of its family."""

from xdsl_rlx.lowering.nests import index, spectral
from xdsl_rlx.lowering.nests.table import NEST, Iteration, Work

__all__ = ["NEST", "Iteration", "Work", "index", "spectral"]
