"""The passes on `hir` and `mir`, lazily. One getter a pass; the pass name with `-` as `_` is its file's stem."""

from xdsl.passes import ModulePass
from xdsl.universe import Universe


def _get_mir_fuse() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_fuse import MirFusePass

    return MirFusePass


UNIVERSE = Universe(all_passes={"mir-fuse": _get_mir_fuse})
