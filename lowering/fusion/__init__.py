"""Fusion: which ops are one kernel, and the kernels of these groups.

Importing this package fills the tables of loops, as importing `transforms.rules` does those of derivatives.
"""

from xdsl_rlx.lowering.fusion.analysis import loop_rows

__all__ = ["loop_rows"]
