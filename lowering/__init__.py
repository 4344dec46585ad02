"""The passes that fuse, those that lower to `lir`, those that run a pipeline, and the targets, lazily."""

from xdsl.universe import XDSL_UNIVERSE, Universe
from xdsl.utils.target import Target

from xdsl_rlx.transforms import lazily

ON_MIR = (
    "mir-prepare-for-ad",
    "mir-prepare-for-fusion",
    "mir-decompose",
    "mir-normalize",
    "mir-sink-copies",
    "mir-split-axes",
    "mir-fit-memory",
    "rlx-grad",
    "rlx-jvp",
)

TO_LIR = (
    "convert-mir-to-lir",
    "lir-elide-copies",
    "lir-merge-launches",
    "lir-reduce-in-place",
    "lir-overlap-collectives",
    "lir-check-bounds",
    "lir-merge-lengths",
    "lir-prefetch-stores",
    "lir-guard-range",
    "lir-tile-matmuls",
    "lir-outline-loops",
    "lir-mark-unrolled",
    "lir-plan-memory",
)
"""In the order in which they run."""


def _get_numba() -> type[Target]:
    from xdsl_rlx.lowering.numba.emit.targets import NumbaTarget

    return NumbaTarget


def _get_llvm() -> type[Target]:
    from xdsl_rlx.lowering.numba.emit.targets import LlvmTarget

    return LlvmTarget


def _get_asm() -> type[Target]:
    from xdsl_rlx.lowering.numba.emit.targets import AsmTarget

    return AsmTarget


def _get_html() -> type[Target]:
    from xdsl_rlx.lowering.numba.emit.targets import HtmlTarget

    return HtmlTarget


UNIVERSE = Universe(
    all_passes={
        **lazily(__name__, ON_MIR),
        **lazily(f"{__name__}.fuse", ["mir-fuse"]),
        **lazily(__name__, TO_LIR),
        **lazily(f"{__name__}.numba.runtime", ["mir-fold-constants", "rlx-to-lir"]),
    },
    all_targets={"numba": _get_numba, "asm": _get_asm, "html": _get_html},
)

# xDSL has a target of this name and refuses a second one: ours takes its place, and leaves it the modules of others
XDSL_UNIVERSE.all_targets["llvm"] = _get_llvm

TARGETS = {**UNIVERSE.all_targets, "llvm": _get_llvm}
"""All targets of this package."""
