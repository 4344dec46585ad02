"""Initial weights, dropout, trees on disk, the training loop, and going on after kill -9 to the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import gguf
import ml_dtypes
import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx import init, optim
from xdsl_rlx import tree as trees
from xdsl_rlx.compiled_function import CompiledFunction

KEY = rlx.key(3)


@pytest.mark.parametrize(
    ("name", "variance"),
    [
        ("glorot_uniform", 2 / (200 + 300)),
        ("glorot_normal", 2 / (200 + 300)),
        ("he_uniform", 2 / 200),
        ("he_normal", 2 / 200),
        ("lecun_uniform", 1 / 200),
        ("lecun_normal", 1 / 200),
    ],
)
def test_weights_have_the_variance_of_their_name(name: str, variance: float):
    w = getattr(init, name)(KEY, (200, 300))
    assert w.dtype == np.float32
    np.testing.assert_allclose([w.mean(), w.var() / variance], [0, 1], atol=0.03)
    np.testing.assert_array_equal(w, getattr(init, name)(KEY, (200, 300)))
    assert not np.array_equal(w, getattr(init, name)(rlx.rng_split(KEY, 1)[0], (200, 300)))


def test_truncated_and_orthogonal_weights():
    w = init.truncated_normal(KEY, (40_000,), 0.5, "f64")
    assert np.abs(w).max() < 1.0 and w.dtype == np.float64
    np.testing.assert_allclose(w.std(), 0.5 * 0.8796, rtol=0.02)
    for shape in ((5, 8), (8, 5), (4, 2, 3)):
        q = init.orthogonal(KEY, shape, 2.0, "f64").reshape(shape[0], -1)
        small = q @ q.T if shape[0] <= q.shape[1] else q.T @ q
        np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-12)
    assert init.fans((16, 3, 5, 5)) == (75, 400)
    with pytest.raises(rlx.GraphError, match="expected a weight of two or more dimensions"):
        init.he_normal(KEY, (4,))


def test_a_tree_of_shapes_becomes_arrays():
    gain = np.ones(4, np.float32)
    shapes = {"layers": 2 * [{"w": (4, 3), "b": (3,), "gain": gain}], "scale": (), "out": (3, 4)}
    found = init.params(KEY, shapes, init.lecun_normal)
    one, other = found["layers"]
    assert one["w"].shape == (4, 3) and one["w"].dtype == one["b"].dtype == np.float32
    assert not one["b"].any() and found["scale"].shape == () and found["out"].std() > 0
    assert not np.array_equal(one["w"], other["w"]) and not np.array_equal(one["w"], found["out"].T)
    # parameters are updated where they are, so none may share its memory
    assert not np.shares_memory(one["gain"], other["gain"]) and not np.shares_memory(one["gain"], gain)
    np.testing.assert_array_equal(found["out"], init.params(KEY, shapes, init.lecun_normal)["out"])
    traced = rlx.compile(lambda key: init.params(key, [(4, 3), (3,)]))(KEY)
    np.testing.assert_array_equal(traced[0], init.params(KEY, [(4, 3), (3,)])[0])
    with pytest.raises(rlx.GraphError, match=r"shapes\['w'\]: expected a tuple of integers or an array, got 3"):
        init.params(KEY, {"w": 3})
    with pytest.raises(rlx.GraphError, match=r"shapes\[1\]: expected .*, got 2\.5"):
        init.params(KEY, [(2, 3), 2.5])


def test_dropout_with_and_without_a_key():
    x = np.full((400, 50), 3.0, np.float32)
    model = rlx.compile(lambda x, key: rlx.dropout(x, 0.25, key))
    y = model(x, KEY)
    assert set(np.unique(y)) == {0.0, 4.0}
    np.testing.assert_allclose((y == 0).mean(), 0.25, atol=0.01)
    np.testing.assert_array_equal(rlx.compile(lambda x: rlx.dropout(x, 0.25))(x), x)
    slope = rlx.grad(lambda x, key: rlx.dropout(x, 0.25, key).sum())(x, KEY)
    np.testing.assert_allclose(slope, y / 3, rtol=1e-6)
    with pytest.raises(rlx.GraphError, match="and below 1"):
        rlx.dropout(x, 1.0, KEY)


TREE = {
    "layers": [{"w": np.arange(6.0).reshape(2, 3), "b": np.zeros(0, np.float32)}, (np.array(3),)],
    "half": np.array([1.5, -2.0], np.float16),
    "flags": np.array([True, False]),
}


def test_a_tree_comes_back_as_it_was(tmp_path: Path):
    path = tmp_path / "tree.safetensors"
    rlx.save(path, TREE, {"note": "3"})
    found = rlx.load(path, TREE)
    leaves, spec = trees.flatten(TREE)
    again, same = trees.flatten(found)
    assert same == spec and rlx.metadata(path) == {"note": "3"}
    for a, b in zip(leaves, again, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    assert sorted(rlx.load(path)) == ["flags", "half", "layers.0.b", "layers.0.w", "layers.1.0"]
    assert [p.name for p in tmp_path.iterdir()] == ["tree.safetensors"]


def test_what_is_not_the_tree_is_said(tmp_path: Path):
    path = tmp_path / "tree.safetensors"
    rlx.save(path, {"w": np.zeros(3), "b": np.zeros(2)})
    for like, message in [
        ({"w": np.zeros(3)}, "has b, which is not in the tree"),
        ({"w": np.zeros(3), "b": np.zeros(2), "c": np.zeros(1)}, "has no c"),
        ({"w": np.zeros(4), "b": np.zeros(2)}, r"w of .*: expected float64\[4\], .* got float64\[3\]"),
        ({"w": np.zeros(3, np.float32), "b": np.zeros(2)}, r"expected float32\[3\], as in the tree"),
    ]:
        with pytest.raises(rlx.CheckpointError, match=message):
            rlx.load(path, like)
    path.write_bytes(b"no tensors at all")
    with pytest.raises(rlx.CheckpointError, match="not a safetensors file"):
        rlx.load(path)
    with pytest.raises(rlx.CheckpointError, match="not an array"):
        rlx.save(path, {"w": "text"})
    assert path.read_bytes() == b"no tensors at all"


def test_tensors_of_gguf(tmp_path: Path):
    path = tmp_path / "model.gguf"
    w = np.linspace(-1, 1, 96, dtype=np.float32).reshape(3, 32)
    writer = gguf.GGUFWriter(path, "test")
    writer.add_tensor("plain", w)
    packed = gguf.quants.quantize(w, gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("packed", packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = rlx.load_gguf(path)
    np.testing.assert_array_equal(found["plain"], w)
    np.testing.assert_allclose(found["packed"], w, atol=1 / 127)
    np.testing.assert_array_equal(rlx.load_gguf(path, dequantize=False)["packed"], packed)
    (tmp_path / "none.gguf").write_bytes(b"nothing of the kind")
    with pytest.raises(rlx.CheckpointError, match="not a GGUF file"):
        rlx.load_gguf(tmp_path / "none.gguf")


def line(params: Any, x: Any, y: Any) -> Any:
    return ((x @ params["w"] + params["b"] - y) ** 2).mean()


def stepper() -> tuple[Any, Any, rlx.Batches]:
    optimiser = optim.Adam(0.05)

    def step(state: Any, x: Any, y: Any) -> Any:
        params, kept = state
        loss, grads = rlx.value_and_grad(line)(params, x, y)
        return loss, optimiser.update(grads, kept, params)

    rng = np.random.default_rng(1)
    x = rng.standard_normal((50, 3))
    params = {"w": np.zeros(3), "b": np.zeros(())}
    batches = rlx.Batches((x, x @ [1.0, -2.0, 0.5] + 0.25), 16)
    return rlx.compile(step), (params, optimiser.init(params)), batches


def test_batches_hold_everything_once():
    batches = rlx.Batches({"x": np.arange(10), "y": np.arange(10) * 2}, 4)
    assert len(batches) == 3
    seen = [batch for epoch in range(2) for batch in batches.of_epoch(epoch)]
    assert [len(batch["x"]) for batch in seen] == [4, 4, 2] * 2
    first, second = (np.concatenate([b["x"] for b in seen[n : n + 3]]) for n in (0, 3))
    assert sorted(first) == sorted(second) == list(range(10)) and list(first) != list(second)
    assert all((b["y"] == 2 * b["x"]).all() for b in seen)
    assert len(rlx.Batches(np.zeros(10), 4, drop_last=True)) == 2
    with pytest.raises(rlx.GraphError, match="one length"):
        rlx.Batches((np.zeros(3), np.zeros(4)), 2)


def test_the_loop_trains_shows_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    step, state, batches = stepper()
    path = tmp_path / "state.safetensors"
    shown: list[float] = []
    last = rlx.fit(step, state, batches, 40, lambda s: shown.append(float(s[0]["b"])) or "ok", checkpoint=path)
    np.testing.assert_allclose(last[0]["w"], [1.0, -2.0, 0.5], atol=1e-2)
    err = capsys.readouterr().err
    assert len(shown) == 40 and "epoch 40/40  batch 4  loss 0.0" in err and err.rstrip().endswith("ok")
    half = rlx.fit(step, state, batches, 20, quiet=True, checkpoint=path)
    assert rlx.metadata(path) == {"epoch": "20"}
    given = rlx.fit(step, rlx.load(path, half), batches, 40, first_epoch=20, quiet=True)
    resumed = rlx.fit(step, state, batches, 40, checkpoint=path, resume=True, quiet=True)
    done = rlx.fit(step, state, batches, 40, checkpoint=path, resume=True, quiet=True)
    for found in (given, resumed, done):
        for a, b in zip(trees.flatten(last)[0], trees.flatten(found)[0], strict=True):
            np.testing.assert_array_equal(a, b)


def test_what_cannot_be_resumed_is_said(tmp_path: Path):
    step, state, batches = stepper()
    with pytest.raises(rlx.GraphError, match="pass checkpoint="):
        rlx.fit(step, state, batches, resume=True)
    path = tmp_path / "state.safetensors"
    # the last key is that of earlier versions
    for texts in ({}, {"epoch": "x"}, {"epoch": "1", "batch": "-1"}, {"pass": "1"}):
        rlx.save(path, state, texts)
        before = path.read_bytes()
        with pytest.raises(rlx.CheckpointError, match=r"has no epoch number .* first_epoch="):
            rlx.fit(step, state, batches, checkpoint=path, resume=True)
        assert path.read_bytes() == before
    rlx.save(path, state[0], {"epoch": "1"})
    with pytest.raises(rlx.CheckpointError, match="has no 0"):
        rlx.fit(step, state, batches, checkpoint=path, resume=True)


def interrupted(tmp_path: Path, step: Any, state: Any, batches: rlx.Batches) -> tuple[Any, dict[str, str]]:
    """What a loop leaves in its file that is interrupted in the third step of its second epoch."""
    calls, compiled = 0, step

    def one(state: Any, *batch: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 7:
            raise KeyboardInterrupt
        return compiled(state, *batch)

    if isinstance(step, CompiledFunction):
        step = CompiledFunction(step.__wrapped__)
        step.__class__ = type("Interrupted", (CompiledFunction,), {"__call__": lambda self, *args: one(*args)})
    else:
        step = one
    path = tmp_path / "state.safetensors"
    with pytest.raises(KeyboardInterrupt):
        rlx.fit(step, state, batches, 5, quiet=True, checkpoint=path)
    return rlx.load(path, state), rlx.metadata(path)


def test_a_step_that_writes_over_nothing_leaves_the_state_before_it(tmp_path: Path):
    left, texts = interrupted(tmp_path, *stepper())
    order = "50 rows by 16, seed 0, drop_last False"
    assert left[1]["step"] == 6 and texts == {"epoch": "1", "batch": "2", "batches": order}


def test_a_step_that_may_write_over_its_state_leaves_the_file_as_it_was(tmp_path: Path):
    step, state, batches = stepper()
    left, texts = interrupted(tmp_path, lambda *args: step(*args), state, batches)
    assert left[1]["step"] == 4 and texts == {"epoch": "1"}
    whole = rlx.fit(step, state, batches, 5, quiet=True)
    resumed = rlx.fit(step, state, batches, 5, quiet=True, checkpoint=tmp_path / "state.safetensors", resume=True)
    # 20 steps, not 22
    assert resumed[1]["step"] == 20
    for a, b in zip(trees.flatten(whole)[0], trees.flatten(resumed)[0], strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_rest_of_an_epoch_is_that_of_the_same_batches(tmp_path: Path):
    step, state, batches = stepper()
    interrupted(tmp_path, step, state, batches)
    other = rlx.Batches(batches.arrays, 16, seed=1)
    with pytest.raises(rlx.CheckpointError, match=r"in the middle of an epoch .* seed 0, .*; batches are .* seed 1"):
        rlx.fit(step, state, other, 5, checkpoint=tmp_path / "state.safetensors", resume=True)


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from test_training_state import stepper
import xdsl_rlx as rlx
step, state, batches = stepper()
for number in range(400):
    state = rlx.fit(step, state, batches, number + 1, checkpoint=sys.argv[1], resume=True, quiet=True)
    print(number, flush=True)
rlx.save(sys.argv[2], state)
"""


def test_training_that_is_killed_goes_on_to_the_same_bits(tmp_path: Path):
    script = SCRIPT.format(folder=str(Path(__file__).parent))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def run(name: str) -> list[str]:
        return [sys.executable, "-c", script, str(tmp_path / f"{name}.state"), str(tmp_path / f"{name}.end")]

    killed = subprocess.Popen(run("killed"), env=environment, stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    while int(killed.stdout.readline()) < 5:
        time.sleep(0)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not (tmp_path / "killed.end").exists()
    subprocess.run(run("killed"), env=environment, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(run("whole"), env=environment, check=True, stdout=subprocess.DEVNULL)
    assert (tmp_path / "killed.end").read_bytes() == (tmp_path / "whole.end").read_bytes()


def test_half_precision_is_kept_on_disk(tmp_path: Path):
    tree = {"w": np.array([1.5, -3.0], ml_dtypes.bfloat16)}
    rlx.save(tmp_path / "half.safetensors", tree)
    found = rlx.load(tmp_path / "half.safetensors", tree)
    assert found["w"].dtype == tree["w"].dtype and found["w"].tobytes() == tree["w"].tobytes()
