"""Reductions of the rows that have one segment number, as `jax.ops.segment_sum`."""

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.segments import segment_extreme, segment_product, segment_total
from xdsl_rlx.dialects.shapes import INTS, dims, element_of
from xdsl_rlx.tracing import builder_of

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


@composite
def segment_sum(data: Any, segment_ids: Any, num_segments: int) -> Any:
    """
    Return `result[s] = sum of data[k] over the k with segment_ids[k] = s`, 0 for an empty segment; as `jax.ops`.

    `data` is `[k, ..]`, `segment_ids` a vector of `k` integers in any order, the result `[num_segments, ..]`. Ids that
    are out of range, negative ones too, are dropped. Raises GraphError for ids of another shape.
    """
    return segment_total(*_given(data, segment_ids, num_segments), num_segments)


@composite
def segment_prod(data: Any, segment_ids: Any, num_segments: int) -> Any:
    """Return the products of segments, 1 for an empty one; see `segment_sum`."""
    return segment_product(*_given(data, segment_ids, num_segments), num_segments)


@composite
def segment_max(data: Any, segment_ids: Any, num_segments: int) -> Any:
    """
    Return the maxima of segments; see `segment_sum`. An empty one has the least number of the element type.

    NaN if an element is. Equal elements share the derivative.
    """
    return segment_extreme(*_given(data, segment_ids, num_segments), num_segments, smallest=False)


@composite
def segment_min(data: Any, segment_ids: Any, num_segments: int) -> Any:
    """Return the minima of segments; see `segment_max`. An empty one has the largest number of the element type."""
    return segment_extreme(*_given(data, segment_ids, num_segments), num_segments, smallest=True)


def _given(data: Any, segment_ids: Any, count: int) -> tuple[Any, Any, Any]:
    """The builder, the rows and their segments, where `count` stands for none."""
    b = builder_of(data, segment_ids)
    assert b is not None
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphError(f"num_segments: expected an integer of at least 0, got {count!r}")
    rows, ids = b.value(b.operand(data)), b.value(b.operand(segment_ids))
    if not rows.rank or ids.shape != rows.shape[:1] or element_of(ids.ssa) not in INTS:
        raise GraphError(
            f"segment_ids: expected a vector of integers, one for each row of {dims(rows.shape)}, got {ids.type}"
        )
    at = ids.astype(np.int64)
    return b, rows, b.where((at >= 0) & (at < count), at, count)
