"""The passes that fuse, those that lower to `lir`, those that run a pipeline, and the targets, lazily."""

from xdsl.universe import Universe
from xdsl.utils.target import Target

from xdsl_rlx.transforms import lazily

PREPARE = (
    "mir-prepare-for-ad",
    "mir-prepare-for-fusion",
    "mir-decompose",
    "mir-normalize",
    "mir-sink-copies",
    "mir-split-axes",
)

PIPELINE_PASSES = (
    "mir-fit-memory",
    "rlx-grad",
    "rlx-jvp",
)

TO_LIR = {
    "convert-mir-to-lir": "bufferize",
    "lir-elide-copies": "bufferize",
    "lir-merge-launches": "bufferize",
    "lir-reduce-in-place": "collectives",
    "lir-overlap-collectives": "collectives",
    "lir-check-bounds": "loops",
    "lir-merge-lengths": "bufferize",
    "lir-prefetch-stores": "loops",
    "lir-guard-range": "loops",
    "lir-tile-matmuls": "tiles",
    "lir-outline-loops": "loops",
    "lir-mark-unrolled": "loops",
    "lir-plan-memory": "bufferize",
}
"""In the order in which they run; the folder of each."""


def _get_numba() -> type[Target]:
    from xdsl_rlx.lowering.backend.runtime.targets import NumbaTarget

    return NumbaTarget


def _get_rlx_llvm() -> type[Target]:
    from xdsl_rlx.lowering.backend.runtime.targets import RlxLlvmTarget

    return RlxLlvmTarget


def _get_asm() -> type[Target]:
    from xdsl_rlx.lowering.backend.runtime.targets import AsmTarget

    return AsmTarget


def _get_html() -> type[Target]:
    from xdsl_rlx.lowering.backend.runtime.targets import HtmlTarget

    return HtmlTarget


UNIVERSE = Universe(
    all_passes={
        **lazily(f"{__name__}.prepare", PREPARE),
        **lazily(f"{__name__}.pipeline_passes", PIPELINE_PASSES),
        **lazily(f"{__name__}.fusion", ["mir-fuse"]),
        **{name: get for one, folder in TO_LIR.items() for name, get in lazily(f"{__name__}.{folder}", [one]).items()},
        **lazily(f"{__name__}.backend.runtime", ["mir-fold-constants", "rlx-to-lir"]),
    },
    all_targets={"numba": _get_numba, "rlx-llvm": _get_rlx_llvm, "asm": _get_asm, "html": _get_html},
)
