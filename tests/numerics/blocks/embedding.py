"""Both ends of a language model."""

import numpy as np
from numerics.blocks import sample

from xdsl_rlx.dialects.hir.embedding import EmbeddingOp, TiedHeadOp

_IDS = np.array([[3, 0, 3], [1, 9, -2]], np.int32)

SAMPLES = (
    sample(
        "embedding",
        EmbeddingOp,
        lambda np_, ids, table: table[np.clip(_IDS, 0, 4)],
        {"ids": _IDS, "table": (5, 3)},
    ),
    sample("tied_head", TiedHeadOp, lambda np_, x, table: x @ table.T, {"x": (2, 3, 5), "table": (7, 5)}),
    sample(
        "tied_head-bias",
        TiedHeadOp,
        lambda np_, x, table, b: x @ table.T + b,
        {"x": (3, 5), "table": (2, 5), "b": (2,)},
    ),
)
