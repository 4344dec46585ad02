"""The passes on `hir` and `mir`, lazily. One getter a pass; the pass name with `-` as `_` is its file's stem."""

from xdsl.universe import Universe

UNIVERSE = Universe(all_passes={})
