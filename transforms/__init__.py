"""The passes on `hir` and `mir`, lazily. One getter a pass; the pass name with `-` as `_` is its file's stem."""

from xdsl.passes import ModulePass
from xdsl.universe import Universe


def _get_convert_hir_to_mir() -> type[ModulePass]:
    from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass

    return ConvertHirToMirPass


UNIVERSE = Universe(all_passes={"convert-hir-to-mir": _get_convert_hir_to_mir})
