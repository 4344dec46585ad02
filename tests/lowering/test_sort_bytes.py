"""Positions of bytes in order: a pass by their only digit, for all values, in both orders."""

import numpy as np
import pytest

import xdsl_rlx as rlx


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (3, 256), (1, 257), (2, 5000)])
def test_positions_of_bytes(shape: tuple[int, int], dtype: type[np.integer], threads: int) -> None:
    limits = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(limits.min, limits.max + 1, shape).astype(dtype)
    ascending = rlx.compile(lambda x: np.argsort(x, axis=1, kind="stable"), threads=threads)
    np.testing.assert_array_equal(ascending(x), np.argsort(x, axis=1, kind="stable"))
    g = rlx.Graph("largest")
    g.set_outputs([g.topk(g.input("x", shape, "i8" if dtype is np.int8 else "u8"), shape[1])])
    expected = np.argsort(-x.astype(np.int64), axis=1, kind="stable")
    np.testing.assert_array_equal(rlx.compile(g, threads=threads)(x)[0], expected)
