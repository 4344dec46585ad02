"""Fusion: which ops are one kernel, and the tables that say how an op becomes loops.

Importing this package fills the tables, as importing `transforms.rules` does those of derivatives and definitions.
"""

from xdsl_rlx.lowering.fuse import loop_rows, normal_forms

__all__ = ["loop_rows", "normal_forms"]
