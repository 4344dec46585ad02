"""Programs of other frameworks: read into mir, and run inside of them.

`aten` reads graphs of PyTorch, `jaxpr` those of JAX, `stablehlo` reads and writes StableHLO, `shared` has what all
readers use, and `hosts` runs compiled programs inside of other frameworks. Nothing here imports another framework
before it is asked for.
"""

from importlib import import_module

from xdsl.universe import Universe
from xdsl.utils.target import Target

from xdsl_rlx.transforms import lazily

STABLEHLO = ("convert-mir-to-stablehlo", "convert-stablehlo-to-mir")
"""The passes from and to StableHLO."""


def _get_stablehlo() -> type[Target]:
    return import_module(f"{__name__}.stablehlo.convert_mir_to_stablehlo").StablehloTarget


UNIVERSE = Universe(
    all_passes=lazily(f"{__name__}.stablehlo", STABLEHLO),
    all_targets={"stablehlo": _get_stablehlo},
)
