"""The engines: reverse, forward, batch and define, as functions on the ops of any block.

Passes call them on a function's block, and the rules of an op with regions on the block of a region.
"""

# Rules call engines and engines look rules up: the tables are full whichever is imported first.
from xdsl_rlx.transforms import rules

__all__ = ["rules"]
