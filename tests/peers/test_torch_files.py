"""Files of `torch.save` by `rlx.load`, and batches of a DataLoader in compiled steps."""

# Models of torch, and trees of any type.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import xdsl_rlx as rlx
from xdsl_rlx.dialects.arrays import read_array
from xdsl_rlx.frontends.aten.imported_module import from_torch


def net() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))


def assert_state(found: dict[str, Any], state: dict[str, Any]) -> None:
    assert list(found) == list(state)
    for name, x in state.items():
        np.testing.assert_array_equal(found[name], x.numpy())
        assert found[name].flags.c_contiguous and found[name].flags.writeable


@pytest.mark.parametrize("is_new", (True, False))
def test_a_state_dict(tmp_path: Path, is_new: bool) -> None:
    state = net().state_dict()
    for name in ("net.pt", "net.pth", "pytorch_model.bin", "net"):
        torch.save(state, tmp_path / name, _use_new_zipfile_serialization=is_new)
        assert_state(rlx.load(tmp_path / name), state)


def test_a_tree_like_the_parameters_of_a_module(tmp_path: Path) -> None:
    model, x = net().eval(), torch.randn(4, 6)
    torch.save(model.state_dict(), tmp_path / "net.pt")
    found = rlx.load(tmp_path / "net.pt")
    imported = from_torch(net(), x, train=False)
    params = {name: found[name] for name in imported.params}
    buffers = {name: found[name] for name in imported.buffers}
    y, _ = imported.function(params, buffers, x.numpy())
    np.testing.assert_allclose(y, model(x).detach().numpy(), rtol=1e-5)
    wanted = {**imported.params, **imported.buffers}
    assert set(rlx.load(tmp_path / "net.pt", like=wanted)) == set(wanted)
    with pytest.raises(rlx.CheckpointError, match=r"0\.weight of .*: expected float32\[2\], as in the tree"):
        rlx.load(tmp_path / "net.pt", like={**wanted, "0.weight": np.zeros(2, np.float32)})


def test_renaming(tmp_path: Path) -> None:
    path = tmp_path / "net.pt"
    model: Any = torch.compile(net())
    torch.save(model.state_dict(), path)
    assert all(name.startswith("_orig_mod.") for name in rlx.load(path))
    assert_state(rlx.load(path, rename=lambda name: name.removeprefix("_orig_mod.")), net().state_dict())
    state = {"a": torch.ones(2), "b": torch.zeros(3)}
    torch.save(state, path)
    assert list(rlx.load(path, rename={"a": "w", "b": None})) == ["w"]
    assert list(rlx.load(path, rename={"a": "w"})) == ["w", "b"]
    tree = rlx.load(path, like={"layer": [np.ones(2, np.float32)]}, rename={"a": "layer.0", "b": None})
    np.testing.assert_array_equal(tree["layer"][0], [1, 1])
    rlx.save(tmp_path / "net.safetensors", {name: x.numpy() for name, x in state.items()})
    assert sorted(rlx.load(tmp_path / "net.safetensors", rename={"a": "w"})) == ["b", "w"]
    wrong: list[tuple[Any, str]] = [
        ({"c": "d"}, "has no c; it has a, b"),
        ({"a": "b"}, "a and b would both be b"),
        (lambda name: 3, "expected a name or None for 'a', got 3"),
        (3, "expected a dict or a function of names, got 3"),
    ]
    for rename, message in wrong:
        with pytest.raises(rlx.RlxError, match=f"load: rename: .*{message}"):
            rlx.load(path, rename=rename)


def test_a_checkpoint_of_training(tmp_path: Path) -> None:
    model = net()
    optimiser = torch.optim.AdamW(model.parameters())
    model(torch.randn(4, 6)).sum().backward()
    optimiser.step()
    torch.save(
        {"model": model.state_dict(), "optimizer": optimiser.state_dict(), "epoch": 3, "note": "x"}, tmp_path / "a"
    )
    found = rlx.load(tmp_path / "a")
    np.testing.assert_array_equal(found["model.0.weight"], model[0].weight.detach().numpy())
    np.testing.assert_array_equal(
        found["optimizer.state.0.exp_avg"], optimiser.state[next(model.parameters())]["exp_avg"].numpy()
    )
    assert found["epoch"] == 3 and found["optimizer.param_groups.0.lr"] == 1e-3 and "note" not in found
    only = rlx.load(
        tmp_path / "a", rename=lambda name: name.removeprefix("model.") if name.startswith("model.") else None
    )
    assert_state(only, model.state_dict())


def test_element_types_and_layouts(tmp_path: Path) -> None:
    base = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    state = {
        "bf16": torch.arange(6).to(torch.bfloat16).reshape(2, 3),
        "f16": torch.ones(2, dtype=torch.float16),
        "f8": torch.ones(2).to(torch.float8_e4m3fn),
        "c64": torch.ones(2, dtype=torch.complex64).conj() * 1j,
        "bool": torch.tensor([True, False]),
        "i64": torch.tensor(3),
        "t": base.t(),
        "part": base[1:, :2],
        "empty": torch.zeros(0, 3),
        "tied": base,
        "tie": base,
        "param": nn.Parameter(torch.ones(2)),
    }
    torch.save(state, tmp_path / "a.pt")
    found = rlx.load(tmp_path / "a.pt")
    assert found["bf16"].dtype == ml_dtypes.bfloat16 and found["f8"].dtype == ml_dtypes.float8_e4m3fn
    for name, x in state.items():
        wide = x.detach().float().numpy() if name in ("bf16", "f8") else x.detach().resolve_conj().numpy()
        np.testing.assert_array_equal(found[name].astype(wide.dtype), wide)
        assert found[name].shape == tuple(x.shape) and found[name].flags.c_contiguous
        assert not any(np.shares_memory(found[name], one) for other, one in found.items() if other != name)


@pytest.mark.parametrize("ending", ("bin", "pt"))
def test_shards_and_folders(tmp_path: Path, ending: str) -> None:
    state = net().state_dict()
    names = list(state)
    parts = {f"model-1-of-2.{ending}": names[:3], f"model-2-of-2.{ending}": names[3:]}
    for file, some in parts.items():
        torch.save({name: state[name] for name in some}, tmp_path / file)
    index = tmp_path / f"model.{ending}.index.json"
    with pytest.raises(rlx.CheckpointError, match="expected a folder with one file of tensors, or one index; it has"):
        rlx.load(tmp_path)
    index.write_text(json.dumps({"weight_map": {name: file for file, some in parts.items() for name in some}}))
    for place in (index, tmp_path):
        assert_state(rlx.load(place), state)
    rlx.save(tmp_path / "model.safetensors", {"w": np.ones(2)})
    assert list(rlx.load(tmp_path)) == ["w"]


class Hostile:
    """Code that a file would run."""

    def __reduce__(self) -> Any:
        return (exec, ("raise SystemExit('the code of a file has run')",))


def test_files_with_other_content(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    for is_new in (True, False):
        for content in ({"w": torch.ones(2), "x": Hostile()}, net()):
            torch.save(content, path, _use_new_zipfile_serialization=is_new)
            with pytest.raises(
                rlx.CheckpointError, match=r"a.pt has other objects than tensors.*model.state_dict\(\)"
            ) as error:
                rlx.load(path)
            assert "weights_only" not in str(error.value)
    torch.jit.script(net()).save(path)
    with pytest.raises(rlx.CheckpointError, match=r"a\.pt is a program of TorchScript"):
        rlx.load(path)
    torch.save(net().state_dict(), path)
    whole = path.read_bytes()
    for size in (20, 100, len(whole) // 2, len(whole) - 30):
        path.write_bytes(whole[:size])
        with pytest.raises(rlx.CheckpointError, match=r"a\.pt is not a file of torch.save"):
            rlx.load(path)
    np.savez(tmp_path / "a.npz", w=np.ones(2))
    with pytest.raises(rlx.CheckpointError, match=r"np\.load reads \.npz files"):
        rlx.load(tmp_path / "a.npz")
    torch.save({"s": torch.eye(3).to_sparse()}, path)
    with pytest.raises(rlx.CheckpointError, match=r"s of .*layout torch\.sparse_coo; save x\.to_dense\(\)"):
        rlx.load(path)


def data() -> TensorDataset:
    torch.manual_seed(0)
    return TensorDataset(torch.randn(10, 3), torch.randint(0, 3, (10,)))


@pytest.mark.parametrize(
    "dtype",
    (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool),
    ids=str,
)
def test_tensors_are_read_in_place(dtype: torch.dtype) -> None:
    x = torch.ones(4, 3).to(dtype)
    array = read_array(x)
    assert array is not None and array.ctypes.data == x.data_ptr()
    np.testing.assert_array_equal(rlx.compile(lambda x: x[1:])(x).astype(np.float64), np.ones((3, 3)))


def test_a_loader_feeds_a_compiled_step_without_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    from xdsl_rlx.lowering.backend.runtime import arguments, binding

    read = set[int]()
    to_array = arguments.to_array

    def reading(spec: Any, value: Any, what: str) -> Any:
        array = to_array(spec, value, what)
        read.add(array.ctypes.data)
        return array

    monkeypatch.setattr(binding, "to_array", reading)
    step = rlx.compile(lambda w, x, labels: rlx.nn.cross_entropy(x @ w, labels))
    w = np.ones((3, 3), np.float32)
    for x, labels in DataLoader(data(), 5):
        value = step(w, x, labels)
        expected = nn.functional.cross_entropy(x @ torch.from_numpy(w), labels)
        np.testing.assert_allclose(value, expected.numpy(), rtol=1e-6)
        assert {x.data_ptr(), labels.data_ptr(), w.ctypes.data} <= read


@pytest.mark.parametrize("workers", (0, 2))
def test_fit_with_a_loader(workers: int) -> None:
    def loss(w: Any, x: Any, labels: Any) -> Any:
        return rlx.nn.cross_entropy(x @ w, labels)

    def step(w: Any, x: Any, labels: Any) -> Any:
        value, d = rlx.value_and_grad(loss)(w, x, labels)
        return value, w - 0.1 * d

    step, start = rlx.compile(step), np.zeros((3, 3), np.float32)
    loader = DataLoader(data(), 4, num_workers=workers)
    expected = start
    for _ in range(2):
        for x, labels in loader:
            expected = step(expected, x, labels)[1]
    for batches in (loader, lambda epoch: loader, [tuple(batch) for batch in loader]):
        np.testing.assert_array_equal(rlx.fit(step, start, batches, 2, quiet=True), expected)
    arrays = data().tensors
    np.testing.assert_array_equal(rlx.fit(step, start, rlx.Batches(arrays, 4, seed=None), 2, quiet=True), expected)
    with pytest.raises(rlx.GraphError, match="fit: batches: expected an iterable that can start again"):
        rlx.fit(step, start, iter(loader), 2, quiet=True)


def test_a_module_in_bf16() -> None:
    model = nn.Linear(4, 3).to(torch.bfloat16)
    x = torch.randn(2, 4).to(torch.bfloat16)
    imported = from_torch(model, x)
    assert imported.params["weight"].ctypes.data == model.weight.data_ptr()
    y, _ = imported.function(imported.params, imported.buffers, x)
    np.testing.assert_allclose(y.astype(np.float32), model(x).detach().float().numpy(), atol=0.02)
