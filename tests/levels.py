"""The processor levels that tests compile for: what depends on vectors is measured on each of them."""

import os

from xdsl_rlx.lowering.backend.machine import cpu
from xdsl_rlx.lowering.backend.machine.llvm import host

EVERY = "EVERY_SAMPLE" in os.environ

OTHERS = [level for level in cpu.possible_levels(host()) if EVERY or level in ("x86-64-v2", "x86-64-v3")]
"""Those beside this machine's own: two, or with EVERY_SAMPLE set in the environment all that it can run."""

LEVELS = [*OTHERS, cpu.NATIVE]
