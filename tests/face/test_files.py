"""Files on disk: what a save leaves when it is killed, beside others, over links and modes; and samples of what files
went wrong on."""

from __future__ import annotations

import io
import os
import signal
import stat
import struct
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pandas as pd
import pytest

import xdsl_rlx as rlx
from xdsl_rlx import atomic_file
from xdsl_rlx.dialects.errors import GraphTypeError

sys.path.insert(0, str(Path(__file__).parent))

from test_training_state import stepper


@pytest.mark.parametrize("tree", [{}, [], None, {"a": None}, {"": {}}])
def test_a_tree_without_arrays_is_a_file(tmp_path: Path, tree: Any):
    path = tmp_path / "empty.safetensors"
    rlx.save(path, tree)
    assert rlx.load(path) == {} and rlx.load(path, tree) == ({} if tree is None else tree)
    rlx.save(path, tree, {})
    assert rlx.metadata(path) == {} and rlx.load(path) == {}


def test_keys_that_collide_or_are_reserved_are_told_apart(tmp_path: Path):
    path = tmp_path / "keys.safetensors"
    for tree, names in [
        ({"__metadata__": np.ones(2)}, ["['__metadata__']"]),
        ({"a": {"b": np.ones(1)}, "a.b": np.zeros(1)}, ["['a']['b']", "['a.b']"]),
        ({"a": {0: np.ones(1), "0": np.zeros(1)}}, ["['a']['0']", "['a'][0]"]),
        ({"": np.ones(1)}, ["['']"]),
        ({"model.layers.0.w": np.ones(1)}, ["model.layers.0.w"]),
    ]:
        rlx.save(path, tree)
        assert sorted(rlx.load(path)) == names
        np.testing.assert_equal(rlx.load(path, tree), tree)


@pytest.mark.parametrize(
    "dtype", ["complex128", "datetime64[ms]", "float8_e4m3fn", "float8_e5m2", "int4", "float8_e3m4"]
)
def test_element_types_that_others_do_not_have(tmp_path: Path, dtype: str):
    import ml_dtypes

    path = tmp_path / "types.safetensors"
    tree = {"x": np.array([[0], [1]]).astype(np.dtype(getattr(ml_dtypes, dtype, dtype))), "y": np.ones(2)}
    rlx.save(path, tree, {"note": "kept"})
    found = rlx.load(path, tree)
    assert found["x"].dtype == tree["x"].dtype and found["x"].tobytes() == tree["x"].tobytes()
    assert rlx.metadata(path) == {"note": "kept"}


def test_what_a_file_cannot_hold_is_said(tmp_path: Path):
    path = tmp_path / "state.safetensors"
    one = {"w": np.zeros(2)}
    for leaf, message in [
        (np.zeros(2, np.longdouble), r"w has dtype .*, which a file cannot store; save leaf.astype\('float64'\)"),
        (np.zeros(2, [("a", "f4"), ("b", "i4")]), "save its fields as leaves"),
        (np.ma.masked_array([1.0, 2.0], [0, 1]), "masked array; save leaf.filled"),
        ("text", "str, not an array: expected numbers; pass strings in metadata="),
        (np.array(["x"]), "an array of <U1: expected numbers"),
    ]:
        with pytest.raises(rlx.CheckpointError, match=message):
            rlx.save(path, {"w": leaf})
    for texts in (3, "text", {"note": 3}, {3: "note"}, [("note", "3")]):
        with pytest.raises(GraphTypeError, match="save: metadata: expected a dict of strings by string"):
            rlx.save(path, one, texts)  # pyright: ignore
    for texts, message in [({"xdsl_rlx.dtypes": "{}"}, "is reserved"), ({"a": "\ud800"}, "UTF-8")]:
        with pytest.raises(rlx.CheckpointError, match=message):
            rlx.save(path, one, texts)
    for call in (lambda p: rlx.save(p, one), rlx.load, rlx.metadata, rlx.load_gguf):
        for wrong in (3, None, 2.5, [path]):
            with pytest.raises(GraphTypeError, match=r"path: expected a string or an os\.PathLike"):
                call(wrong)
        with pytest.raises(rlx.CheckpointError, match="null characters"):
            call("a\0b")
    with pytest.raises(rlx.CheckpointError, match="not a regular file"):
        rlx.save(tmp_path, one)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("unnamed", [True, False])
def test_links_and_modes_stay_and_names_may_be_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unnamed: bool):
    if not unnamed:
        monkeypatch.delattr(os, "O_TMPFILE")
    path = tmp_path / ("n" * 243 + ".safetensors")
    link, dangling = tmp_path / "link", tmp_path / "dangling"
    before = os.umask(0o027)
    try:
        rlx.save(path, {"w": np.zeros(1)})
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    link.symlink_to(path.name)
    dangling.symlink_to("new")
    rlx.save(link, {"w": np.ones(1)})
    rlx.save(dangling, {"w": np.ones(1)})
    assert link.is_symlink() and dangling.is_symlink() and rlx.load(tmp_path / "new")["w"] == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o604 and rlx.load(path)["w"] == 1
    assert len(os.listdir(tmp_path)) == 4


KILLED = """
import os, signal, sys
import numpy as np
import xdsl_rlx as rlx
from xdsl_rlx import atomic_file
if sys.argv[2] == "named":
    del os.O_TMPFILE
left = 1
def strike(call):
    def run(*args, **kwargs):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*args, **kwargs)
    return run
for name in ("write", "fsync", "link", "replace", "close"):
    setattr(os, name, strike(getattr(os, name)))
atomic_file.fcntl.flock = strike(atomic_file.fcntl.flock)
for moment in range(1, 12):
    child = os.fork()
    if not child:
        left = moment
        rlx.save(sys.argv[1], {"w": np.full(50_000, moment)})
        os._exit(0)
    left = 1 << 30
    os.waitpid(child, 0)
    folder = os.path.dirname(sys.argv[1])
    print(moment, len(os.listdir(folder)), len(set(rlx.load(sys.argv[1])["w"])))
rlx.save(sys.argv[1], {"w": np.full(3, 100)})
print("end", len(os.listdir(folder)), 1)
"""


@pytest.mark.parametrize("kind", ["unnamed", "named"])
def test_a_save_that_is_killed_leaves_a_whole_file_and_nothing_that_stays(tmp_path: Path, kind: str):
    path = tmp_path / "state.safetensors"
    rlx.save(path, {"w": np.zeros(3)})
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", KILLED, str(path), kind]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == 12 and all(values == "1" for _, _, values in lines)
    # at most the file of the last one killed, and that until the next save
    assert max(int(files) for _, files, _ in lines) <= 2 and lines[-1][1] == "1"


def test_savers_at_once_leave_one_of_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "state.safetensors"
    errors: list[BaseException] = []

    def run(number: int) -> None:
        for turn in range(20):
            rlx.save(path, {"w": np.full(1000 + number, 100 * number + turn)})
            found = rlx.load(path)["w"]
            assert (found == found[0]).all() and len(found) == 1000 + found[0] // 100

    def kept(number: int) -> None:
        try:
            run(number)
        except BaseException as error:
            errors.append(error)

    for unnamed in (True, False):
        if not unnamed:
            monkeypatch.delattr(os, "O_TMPFILE")
        threads = [threading.Thread(target=kept, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors and os.listdir(tmp_path) == [path.name]


def test_a_temporary_file_whose_writer_lives_stays(tmp_path: Path):
    path = tmp_path / "state.safetensors"
    with atomic_file._Temporary(str(tmp_path), path.name) as file:
        name = Path(file.named())
        rlx.save(path, {"w": np.zeros(1)})
        assert name.exists() and path.exists()
    assert not name.exists()


def gguf_of(*parts: bytes, tensors: int = 0, keys: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys) + b"".join(parts)


def text(words: bytes) -> bytes:
    return struct.pack("<Q", len(words)) + words


def tensor(name: bytes, shape: tuple[int, ...], kind: int = 0, start: int = 0) -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, start)


LONG_ARRAY = text(b"key1") + struct.pack("<IIQ", 9, 4, 2**40)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "says that 4 bytes follow"),
        (gguf_of(version=1), "expected version 2 or 3, got 1"),
        (gguf_of(LONG_ARRAY, keys=1), "bytes follow"),
        (gguf_of(text(b"key1") + struct.pack("<IIQ", 9, 8, 2**40), keys=1), "entries follow"),
        (gguf_of(2 * (text(b"a") + struct.pack("<IB", 0, 1)), keys=2), "the key 'a' twice"),
        (
            gguf_of(text(b"a") + struct.pack("<I", 9) + 12 * struct.pack("<IQ", 9, 1) + bytes(99), keys=1),
            "nested too deep",
        ),
        (gguf_of(text(b"\xff") + bytes(99), keys=1), "not UTF-8"),
        (gguf_of(text(b"general.alignment") + struct.pack("<II", 4, 3), keys=1), "power of two"),
        (gguf_of(keys=2**60), "entries follow"),
        (gguf_of(tensor(b"a", (2,)), bytes(64), tensors=2**60), "entries follow"),
        (gguf_of(2 * tensor(b"a", (2,)), bytes(64), tensors=2), "the tensor 'a' twice"),
        (gguf_of(tensor(b"a", (2,)), tensor(b"b", (2,), 0, 4), bytes(64), tensors=2), "shares bytes"),
        (gguf_of(tensor(b"a", (2**40,)), bytes(64), tensors=1), "ends at byte"),
        (gguf_of(tensor(b"a", (2**63, 2**63)), bytes(64), tensors=1), "larger than an array"),
        (gguf_of(tensor(b"a", (33,), 8), bytes(64), tensors=1), "blocks of 32"),
        (gguf_of(tensor(b"a", (2,), 999), bytes(64), tensors=1), "of the type 999"),
        (gguf_of(tensor(b"a", (1,) * 5), bytes(64), tensors=1), "5 axes"),
    ],
)
def test_a_damaged_gguf_file_is_said_before_it_is_followed(tmp_path: Path, content: bytes, message: str):
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(rlx.CheckpointError, match=f"not a GGUF file: .*{message}"):
        rlx.load_gguf(path)


def test_gguf_without_elements_or_axes_and_in_the_other_byte_order(tmp_path: Path):
    path = tmp_path / "model.gguf"
    empty = gguf_of(tensor(b"a", (0, 3)), tensor(b"b", (32, 0), 8), tensor(b"c", ()), tensors=3)
    path.write_bytes(empty + bytes(-len(empty) % 32) + struct.pack("<f", 2.5))
    found = rlx.load_gguf(path)
    assert [found[name].shape for name in "abc"] == [(3, 0), (0, 32), ()] and found["c"] == 2.5
    writer = gguf.GGUFWriter(path, "test", endianess=gguf.GGUFEndian.BIG)
    w = np.arange(6, dtype=np.float32).reshape(2, 3)
    writer.add_tensor("w", w.copy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    np.testing.assert_array_equal(rlx.load_gguf(path)["w"], w)


def test_batches_take_rows_by_position(tmp_path: Path):
    x = np.arange(10.0)
    table = pd.DataFrame({"x": x, "z": -x}).sample(frac=1, random_state=0)
    labels = pd.Series(table["x"].to_numpy() * 2, index=range(10))
    stored = np.memmap(tmp_path / "x", np.float64, "w+", shape=(10,))
    stored[:] = table["x"].to_numpy()
    batches = rlx.Batches({"table": table, "labels": labels, "stored": stored}, 3)
    assert isinstance(batches.arrays["stored"], np.memmap)
    for batch in batches.of_epoch(0):
        np.testing.assert_array_equal(batch["table"][:, 0] * 2, batch["labels"])
        np.testing.assert_array_equal(batch["stored"] * 2, batch["labels"])
    whole = [b["labels"] for b in batches.of_epoch(1)]
    assert all((a == b["labels"]).all() for a, b in zip(whole[2:], batches.of_epoch(1, 2), strict=True))
    for arrays, size, message in [
        (np.zeros((0, 3)), 2, "0 rows are fewer than one batch of 2; give arrays with rows"),
        ({"x": 3.0}, 2, r"arrays\['x'\] is 3.0, not an array with rows"),
        ({}, 2, "of one length, got"),
        (np.zeros(3), 0, "size: expected an integer of at least 1, got 0"),
        (np.zeros(3), 2.5, "size: expected an integer"),
    ]:
        with pytest.raises(rlx.GraphError, match=message):
            rlx.Batches(arrays, size)  # pyright: ignore
    with pytest.raises(
        rlx.GraphError, match="3 rows are fewer than one batch of 4; take a smaller size, or drop_last=False"
    ):
        rlx.Batches(np.zeros(3), 4, drop_last=True)
    with pytest.raises(rlx.GraphError, match="seed: expected an integer of at least 0, got -1"):
        rlx.Batches(np.zeros(3), 1, seed=-1)


def counting(state: int, batch: Any) -> tuple[float, int]:
    return float(state), state + 1


def test_the_line_of_progress_needs_no_terminal(monkeypatch: pytest.MonkeyPatch):
    batches = rlx.Batches(np.zeros(6), 2)

    class Bare:
        def __init__(self) -> None:
            self.text = ""

        def write(self, text: str) -> None:
            self.text += text

    bare, closed = Bare(), io.StringIO()
    for stream in (bare, None):
        monkeypatch.setattr(sys, "stderr", stream)
        assert rlx.fit(counting, 1, batches, 2) == 7
    assert [line.partition("  batch")[0] for line in bare.text.splitlines()] == ["epoch 1/2", "epoch 2/2"]
    assert "batch 3  loss 2.0000" in bare.text and "loss 5.0000" in bare.text
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    assert rlx.fit(counting, 1, lambda epoch: [], 1) == 1
    assert stream.getvalue() == "epoch 1/1  no batches\n" and not closed.getvalue()


def test_what_fit_cannot_use_is_said(tmp_path: Path):
    batches = rlx.Batches(np.zeros(6), 2)
    for step, message in [
        (lambda state, batch: state, r"expected it to return \(loss, state\), got 1"),
        (lambda state, batch: (np.zeros(2), state), r"a loss of one number, got shape \(2,\); take its mean"),
        (lambda state, batch: ("much", state), "a loss of one number, got 'much'"),
        (3, "step: expected a function, got 3"),
    ]:
        with pytest.raises(rlx.GraphError, match=message):
            rlx.fit(step, 1, batches, quiet=True)  # pyright: ignore
    for wrong, message in [
        ({"batches": np.zeros(3)}, "expected Batches or a function"),
        ({"batches": lambda epoch: 3}, r"batches\(0\) to return an iterable of batches, got 3"),
        ({"epochs": 1.5}, "epochs: expected an integer"),
        ({"checkpoint": 3}, "fit: path: expected a string"),
        ({"checkpoint_every": 2}, "checkpoint_every: expected 1 or more, with checkpoint="),
        ({"checkpoint": tmp_path / "x", "checkpoint_every": 0}, "checkpoint_every: expected 1 or more"),
    ]:
        with pytest.raises(rlx.GraphError, match=message):
            rlx.fit(counting, 1, **{"batches": batches, "quiet": True, **wrong})


SIGNALLED = """
import signal, sys, time
# a shell that runs tests in the background has it ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {folder!r})
from test_training_state import stepper
import xdsl_rlx as rlx
step, state, batches = stepper()
def slow(state, *batch):
    print("step", flush=True)
    time.sleep(0.05)
    return step(state, *batch)
state = rlx.fit(slow, state, batches, 4, checkpoint=sys.argv[1], resume=True, quiet=True)
rlx.save(sys.argv[2], state)
"""


def test_ctrl_c_in_a_program_leaves_what_goes_on_to_the_same_bits(tmp_path: Path):
    script = SIGNALLED.format(folder=str(Path(__file__).parent))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def run(name: str) -> list[str]:
        return [sys.executable, "-c", script, str(tmp_path / f"{name}.state"), str(tmp_path / f"{name}.end")]

    # the first signal waits for the end of the step, the second one does not
    for signals in (1, 2):
        child = subprocess.Popen(
            run("struck"), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        for _ in range(6 if signals == 1 else 3):
            child.stdout.readline()
        for _ in range(signals):
            child.send_signal(signal.SIGINT)
            threading.Event().wait(0.01)
        _, error = child.communicate()
        assert child.returncode != 0 and error.endswith("KeyboardInterrupt\n"), error
        texts, arrays = rlx.metadata(tmp_path / "struck.state"), rlx.load(tmp_path / "struck.state")
        assert arrays["1.step"] == 4 * int(texts["epoch"]) + int(texts.get("batch", "0")) >= 5
    subprocess.run(run("struck"), env=environment, check=True, stdout=subprocess.DEVNULL)
    step, state, batches = stepper()
    rlx.save(tmp_path / "whole.end", rlx.fit(step, state, batches, 4, quiet=True))
    assert (tmp_path / "struck.end").read_bytes() == (tmp_path / "whole.end").read_bytes()


def test_a_file_of_torch_needs_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    path = tmp_path / "model.bin"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", b"")
    with pytest.raises(rlx.RlxError, match=r"model.bin was saved by torch.save.*pip install 'xdsl-rlx\[torch\]'"):
        rlx.load(path)
