"""Reductions of segments beside those of JAX: ids out of range, equal elements, empty segments."""

from typing import Any

import jax
import numpy as np
import oracle
import pytest

import xdsl_rlx as rlx

X = np.array([[1.0, 2.0], [3.0, 2.0], [0.0, np.nan], [5.0, 2.0], [-1.0, 0.5], [7.0, 7.0]])
IDS = np.array([2, 0, 3, 2, 9, -1])


@pytest.mark.parametrize("name", ["segment_sum", "segment_prod", "segment_max", "segment_min"])
def test_a_reduction_of_segments_is_that_of_jax(name: str) -> None:
    for x in (X, X[:0], np.arange(6)):
        ids = IDS[: len(x)]
        ours = rlx.trace(lambda x, ids: getattr(rlx, name)(x, ids, 5), x, ids)
        expected: Any = getattr(jax.ops, name)(x, ids, 5)
        np.testing.assert_array_equal(oracle.evaluate(ours.module, x, ids)[0], expected)


def test_equal_elements_share_the_derivative_of_the_maximum() -> None:
    x, ids = np.array([1.0, 3.0, 3.0, 2.0]), np.array([0, 0, 0, 1])
    slope = rlx.grad(lambda x, ids: (rlx.segment_max(x, ids, 3)[:2] ** 2).sum())
    np.testing.assert_array_equal(oracle.evaluate(rlx.trace(slope, x, ids).module, x, ids)[0], [0, 3, 3, 4])
