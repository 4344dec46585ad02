"""Canonicalization patterns by op class. They are all there whichever file is imported first."""

import xdsl_rlx.transforms.canonicalize.bodies  # noqa: F401  # pyright: ignore[reportUnusedImport]
