"""gather, scatter_add, topk and running sums as plain Python."""

from typing import Any

import numpy as np
import pytest
from as_python import run_as_python

import xdsl_rlx as rlx

TYPES = {"f32": np.float32, "f64": np.float64, "i8": np.int8, "i32": np.int32, "i64": np.int64, "u8": np.uint8}
RNG = np.random.default_rng(3)


@pytest.mark.parametrize("pieces", [1, 3])
def test_gather_runs_as_python(pieces: int) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(5, 3)).astype(np.float32)
    ids = np.array([4, 0, 9, -2, 4])
    g = rlx.Graph("take")
    g.set_outputs([g.gather(g.input("x", (5, 3)), g.input("i", (5,), "i64"), axis=0)])
    (found,) = run_as_python(g, table, ids, pieces=pieces)
    np.testing.assert_array_equal(found, rlx.compile(g)(table, ids)[0])


@pytest.mark.parametrize("dtype", [*TYPES, "u32"])
def test_scatter_add_runs_as_python(dtype: Any) -> None:
    kind = TYPES.get(dtype, np.uint32)
    updates, ids = RNG.integers(0, 100, (7, 3)).astype(kind), np.array([4, 0, 0, 0, -2, 9, 4])
    updates[3] = 100 if np.dtype(kind).kind == "f" else np.iinfo(kind).max
    g = rlx.Graph("add")
    g.set_outputs([g.scatter_add(g.input("x", (7, 3), dtype), g.input("i", (7,), "i64"), 5)])
    compiled = rlx.compile(g)(updates, ids)[0]
    np.testing.assert_array_equal(run_as_python(g, updates, ids)[0].reshape(5, 3), compiled)
    expected = np.zeros((5, 3), kind)
    np.add.at(expected, ids.clip(0, 4), updates)
    np.testing.assert_array_equal(compiled, expected)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [*TYPES, "u32"])
@pytest.mark.parametrize(("k", "smallest"), [(1, False), (2, False), (5, False), (9, False), (4, True)])
def test_the_largest_run_as_python(dtype: Any, k: int, smallest: bool):
    x = RNG.integers(0, 6, (4, 9)).astype(TYPES.get(dtype, np.uint32))
    if dtype[0] == "f":
        x[1, ::2], x[2, 3], x[3, :4] = np.nan, -np.inf, (0.0, -0.0, np.inf, -2.5)
    elif dtype[0] == "u":
        x[1, ::2] = np.iinfo(x.dtype).max
    g = rlx.Graph("largest")
    g.set_outputs([g.topk(g.input("x", x.shape, dtype), k, smallest)])
    np.testing.assert_array_equal(run_as_python(g, x)[0], rlx.compile(g)(x)[0])


@pytest.mark.parametrize("dtype", [*TYPES, "u32"])
def test_rows_of_any_length_are_sorted_as_numpy_sorts_them(dtype: Any) -> None:
    # Lengths at which each of the three ways is taken: a heap, ranks, a radix sort.
    x: Any = (RNG.normal(size=(3, 400)) * 50).astype(np.int64).astype(TYPES.get(dtype, np.uint32))
    if dtype[0] == "f":
        x[1, ::2], x[2, 3], x[:, :4] = np.nan, -np.inf, (0.0, -0.0, np.inf, -2.5)
    else:
        x[0, :2] = np.iinfo(x.dtype).max, np.iinfo(x.dtype).min
    g = rlx.Graph("sort")
    rows = g.input("x", x.shape, dtype)
    lengths = [(1, 1), (2, 2), (17, 17), (64, 64), (64, 2), (130, 130), (130, 99), (400, 400), (400, 150), (400, 3)]
    g.set_outputs([g.topk(g.narrow(rows, 1, 0, n), k, smallest=True) for n, k in lengths])
    for (n, k), found in zip(lengths, rlx.compile(g)(x), strict=True):
        np.testing.assert_array_equal(found, np.argsort(x[:, :n], axis=-1, kind="stable")[:, :k])
    long = rlx.Graph("long")
    long.set_outputs([long.topk(long.input("x", x.shape, dtype), 400, smallest=True)])
    np.testing.assert_array_equal(run_as_python(long, x)[0], np.argsort(x, axis=-1, kind="stable"))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f32", "f64", "i32", "i8"])
@pytest.mark.parametrize(("shape", "axis"), [((3, 7), 1), ((9, 5), 0), ((2, 4, 67), 1), ((2, 9001), 1)])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums_run_as_python(dtype: Any, shape: tuple[int, ...], axis: int, exclusive: bool, reverse: bool):
    x = (RNG.normal(size=shape) * 9).astype(TYPES[dtype])
    g = rlx.Graph("sums")
    value = g.input("x", shape, dtype)
    g.set_outputs([g.cumsum(value, axis, exclusive, reverse, dtype=dtype)])
    np.testing.assert_array_equal(run_as_python(g, x)[0].reshape(shape), rlx.compile(g)(x)[0])
