"""The passes on `hir` and `mir`, lazily: a pass `a-b` is the class `ABPass` in the file `a_b.py`, also of a plugin."""

from collections.abc import Callable, Sequence
from importlib import import_module

from xdsl.passes import ModulePass
from xdsl.universe import Universe

from xdsl_rlx.plugins import names

PASSES = (
    "convert-hir-to-mir",
    "mir-bucket-all-reduce",
    "mir-cancel-roots",
    "mir-canonicalize",
    "mir-convert-scans-for-ad",
    "mir-cse",
    "mir-decompose-fusion-regions",
    "mir-donate",
    "mir-emit-vjp",
    "mir-fission-scans",
    "mir-fold-int-ranges",
    "mir-fuse-batch-preprocess",
    "mir-fuse-region-prologue",
    "mir-grad",
    "mir-hvp",
    "mir-inline-custom-fn",
    "mir-inline-if",
    "mir-insert-quantize-dequantize",
    "mir-jacfwd",
    "mir-jacrev",
    "mir-jvp",
    "mir-legalize-broadcast",
    "mir-legalize-multi-axis-reduce",
    "mir-lower-complex",
    "mir-lower-dot-general",
    "mir-lower-regions",
    "mir-mark-elementwise-regions",
    "mir-mark-transform-regions",
    "mir-mixed-precision",
    "mir-partition",
    "mir-pin-taps",
    "mir-propagate-fake-quantize",
    "mir-rematerialize",
    "mir-scale-loss",
    "mir-raise-composites",
    "mir-raise-loops",
    "mir-select-outputs",
    "mir-slice-gathers",
    "mir-unfuse-elementwise-regions",
    "mir-unfuse-for-ad",
    "mir-unroll-while",
    "mir-vmap",
)


def lazily(package: str, names: Sequence[str]) -> dict[str, Callable[[], type[ModulePass]]]:
    """For each name of a pass in a package, what imports the pass."""
    return {name: _getter(package, name) for name in names}


def _getter(package: str, name: str) -> Callable[[], type[ModulePass]]:
    return lambda: pass_of(f"{package}.{name.replace('-', '_')}")


def pass_of(module: str) -> type[ModulePass]:
    """The class of the pass that has this module."""
    stem = module.rpartition(".")[2]
    return getattr(import_module(module), "".join(word.capitalize() for word in stem.split("_")) + "Pass")


def of_plugins() -> dict[str, Callable[[], type[ModulePass]]]:
    """For each name of a pass of a plugin, what imports the pass."""
    every = [module.rpartition(".") for module in names("passes")]
    return {name: get for package, _, stem in every for name, get in lazily(package, [stem.replace("_", "-")]).items()}


UNIVERSE = Universe(all_passes={**lazily(__name__, PASSES), **of_plugins()})
