"""The passes that lower to `lir` and the `numba` target, lazily."""

from xdsl.universe import Universe

UNIVERSE = Universe(all_passes={}, all_targets={})
