"""Canonicalization patterns by op class. They are all there whichever file is imported first."""

from xdsl_rlx.transforms.canonicalize import bodies

__all__ = ["bodies"]
