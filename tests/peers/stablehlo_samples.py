"""Samples of ops whose exports to StableHLO are tried."""

import numpy as np
from levels import EVERY
from numerics.choice import by_op
from numerics.families import SAMPLES
from numerics.sample import Sample
from xdsl.ir import Operation

SAMPLES_OF = by_op(SAMPLES)
MOST = 3
"""Samples of an op that are run in one element type each; with EVERY_SAMPLE all are run in all."""

FLUSHED = ("-special", "-extreme", "-kink", "-corners", "-wide")
"""Samples with numbers below the least normal one, which XLA takes for 0, or whose parts overflow in its formulas."""
OTHERS = {
    "cholesky-indefinite": "XLA gives NaN for the whole factor",
    "draw-ends": "the sum of the probabilities is rounded in another order",
    "dense_solve-singular": "XLA gives NaN where a pivot is 0",
}
WITH_NAN = "maxpool2d_backward"
"""Of a window with NaN, JAX's selection takes another element."""


def is_exempt(sample: Sample) -> bool:
    """Whether XLA differs where numbers are not ordinary ones."""
    if sample.id.endswith(FLUSHED) or sample.id in OTHERS:
        return True
    return sample.id.startswith(WITH_NAN) and any(np.isnan(x).any() for x in sample.arrays(sample.dtypes[0]))


def runs_of(op: type[Operation]) -> list[tuple[Sample, str]]:
    found = [one for one in SAMPLES_OF[op] if not is_exempt(one)]
    if EVERY:
        return [(one, dtype) for one in found for dtype in one.dtypes]
    chosen = found[:: max(1, len(found) // MOST)][:MOST]
    return [(one, one.dtypes[number % len(one.dtypes)]) for number, one in enumerate(chosen)]
