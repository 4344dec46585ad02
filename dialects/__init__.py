"""The dialects of xdsl-rlx, lazily: `hir` (blocks), `mir` (tensor ops) and `lir` (programs of loop nests).

Loaded at every `xdsl-opt` start through the `xdsl.universe` entry point, so nothing heavy is imported here.
"""

from xdsl.ir import Dialect
from xdsl.universe import Universe


def _get_hir() -> Dialect:
    from xdsl_rlx.dialects.hir import Hir

    return Hir


def _get_mir() -> Dialect:
    from xdsl_rlx.dialects.mir import Mir

    return Mir


def _get_lir() -> Dialect:
    from xdsl_rlx.dialects.lir import Lir

    return Lir


UNIVERSE = Universe(all_dialects={"hir": _get_hir, "mir": _get_mir, "lir": _get_lir})
