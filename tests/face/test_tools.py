"""Trees as vectors, Cholesky solves, checkpoints in shards, and the log of compilations."""

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx


def test_a_tree_as_a_vector_and_back():
    given = {"w": np.arange(6.0).reshape(2, 3), "n": [np.float32(7.0), np.array([1, 2])], "none": None, "x": 3.5}
    vector, unravel = rlx.tree.ravel(given)
    np.testing.assert_array_equal(vector, [7, 1, 2, 0, 1, 2, 3, 4, 5, 3.5])
    back = unravel(vector)
    assert back["n"][0].dtype == np.float32 and back["n"][1].dtype == np.int64 and back["none"] is None
    for one, other in zip(rlx.tree.flatten(back)[0], rlx.tree.flatten(given)[0], strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(rlx.GraphError, match=r"unravel: expected a vector of shape \[10\], got shape \[9\]"):
        unravel(vector[:9])
    assert rlx.tree.ravel({})[0].shape == (0,)

    def loss(tree: Any) -> Any:
        flat, unravel = rlx.tree.ravel(tree)
        return (flat * flat).sum() + (unravel(2.0 * flat)["w"] ** 2).sum()

    start = {"w": given["w"], "b": np.ones(2)}
    found = rlx.grad(loss)(start)
    np.testing.assert_allclose(found["w"], 10.0 * start["w"])
    np.testing.assert_allclose(found["b"], 2.0 * start["b"])


def test_a_system_is_solved_by_its_cholesky_factor():
    rng = np.random.default_rng(0)
    m = rng.standard_normal((2, 4, 4))
    a, b = m @ m.swapaxes(1, 2) + np.eye(4), rng.standard_normal((2, 4, 3))
    factor = np.linalg.cholesky(a)
    np.testing.assert_allclose(rlx.cho_solve(rlx.cholesky(a), b), np.linalg.solve(a, b), rtol=1e-8)
    upper = factor.swapaxes(1, 2) + np.tril(np.ones((4, 4)), -1)
    np.testing.assert_allclose(rlx.cho_solve(upper, b, lower=False), np.linalg.solve(a, b), rtol=1e-8)


def test_a_checkpoint_in_shards_is_one_tree(tmp_path: Path):
    parts = {"one.safetensors": {"a": np.ones(2), "b": np.zeros((2, 3))}, "two.safetensors": {"c": np.arange(3)}}
    for name, part in parts.items():
        rlx.save(tmp_path / name, part)
    index = tmp_path / "model.safetensors.index.json"
    files = {key: name for name, part in parts.items() for key in part}
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": files}))
    wanted = {key: array for part in parts.values() for key, array in part.items()}
    for place in (index, tmp_path, str(tmp_path)):
        found = rlx.load(place, like=wanted)
        for key in wanted:
            np.testing.assert_array_equal(found[key], wanted[key])
    for text, error in (
        ("{", "is not an index of files with tensors"),
        ('{"weight_map": {"a": "../one.safetensors"}}', "expected names of files in its folder"),
        ('{"weight_map": {"z": "one.safetensors"}}', "one.safetensors has no z, which"),
    ):
        index.write_text(text)
        with pytest.raises(rlx.CheckpointError, match=error):
            rlx.load(index)
    index.unlink()
    with pytest.raises(rlx.CheckpointError, match=r"one index; it has one.safetensors, two.safetensors, pass one"):
        rlx.load(tmp_path)
    (tmp_path / "two.safetensors").unlink()
    assert set(rlx.load(tmp_path)) == {"a", "b"}


def test_the_log_says_why_a_function_is_compiled_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setenv("XDSL_RLX_LOG_COMPILES", "1")

    @rlx.compile(static="n")
    def scaled(tree: Any, n: int = 1, other: Any = None) -> Any:
        return tree["x"] * n

    with caplog.at_level(logging.WARNING, "xdsl_rlx.compile"):
        x = np.ones(3, np.float32)
        scaled({"x": x})
        scaled({"x": x})
        scaled({"x": x}, 2)
        scaled({"x": np.ones(4, np.float32)}, 2)
        scaled({"x": np.ones(4)}, 2)
        scaled({"x": 1.0}, 2, x)
    assert [record.getMessage() for record in caplog.records] == [
        "compiling scaled for tree['x']: float32[3], n: its default, other: its default",
        "compiling scaled again, for signature 2: n is static 2, was its default",
        "compiling scaled again, for signature 3: tree['x'] is float32[4], was float32[3]",
        "compiling scaled again, for signature 4: tree['x'] is float64[4], was float32[4]",
        "compiling scaled again, for signature 5: tree['x'] is a Python float, was float64[4]; "
        "other is float32[3], was its default",
    ]
    caplog.clear()
    monkeypatch.setenv("XDSL_RLX_LOG_COMPILES", "0")
    scaled({"x": np.ones(5)})
    assert not caplog.records
    monkeypatch.setenv("XDSL_RLX_LOG_COMPILES", "yes")
    with pytest.raises(ValueError, match="XDSL_RLX_LOG_COMPILES must be 0 or 1, got 'yes'"):
        scaled({"x": np.ones(6)})
