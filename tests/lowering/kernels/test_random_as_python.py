"""Random words and drawing as plain Python."""

from typing import Any

import numpy as np
import pytest
from as_python import run_as_python

import xdsl_rlx as rlx


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["i64", "i32"])
@pytest.mark.parametrize("words", [3, 11, 1030])
def test_random_words_run_as_python(dtype: Any, words: int):
    keys = np.array([[12345678901, -3], [0, -(2**31)]]).astype({"i64": np.int64, "i32": np.int32}[dtype])
    g = rlx.Graph("words")
    g.set_outputs([g.rng_bits(g.input("key", (2, 2), dtype), (words,), 3)])
    (found,) = run_as_python(g, keys)
    np.testing.assert_array_equal(found.reshape(2, words), rlx.compile(g)(keys)[0])


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("filters", [(1.0, 0, 1.0), (0.7, 3, 1.0), (1.0, 0, 0.6), (0.5, 4, 0.8)])
def test_drawing_runs_as_python(dtype: Any, filters: tuple[float, int, float]):
    rng = np.random.default_rng(1)
    logits = rng.integers(-3, 4, (7, 6)).astype({"f32": np.float32, "f64": np.float64}[dtype])
    logits[2, 3], logits[4, :2], logits[5, 1] = np.nan, -np.inf, np.inf
    u = rng.uniform(size=7)
    g = rlx.Graph("ids")
    g.set_outputs([g.draw(g.input("x", logits.shape, dtype), g.input("u", (7,), "f64"), *filters)])
    (found,) = run_as_python(g, logits, u)
    np.testing.assert_array_equal(found, rlx.compile(g)(logits, u)[0])
