"""Files: random trees come back bit for bit, and damaged files are a CheckpointError or what an independent reader
finds in them."""

from __future__ import annotations

import json
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import gguf
import numpy as np

import xdsl_rlx as rlx
from xdsl_rlx import tree as trees

sys.path.insert(0, str(Path(__file__).parent))

from hostile_trees import dtype_named, tree

DAMAGED = 4
"""Files a seed."""
LENGTHS = (0, 1, 255, 2**31, 2**40, 2**63, 2**64 - 1)


def test_a_random_tree_comes_back(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(5):
        made, texts = tree(rng), {"": "empty", "note": "\U0001f600"} if rng.random() < 0.5 else None
        path = tmp_path / "tree.safetensors"
        rlx.save(path, made, texts)
        assert rlx.metadata(path) == (texts or {})
        leaves, spec = trees.flatten(made)
        assert len(rlx.load(path)) == len(leaves)
        found, same = trees.flatten(rlx.load(path, made)) if made is not None else ([], spec)
        assert same == spec
        for before, after in zip(map(np.asarray, leaves), found, strict=True):
            native = before.astype(before.dtype.newbyteorder("="), order="C")
            assert (after.dtype, after.shape) == (native.dtype, native.shape)
            assert after.tobytes() == native.tobytes() and after.flags.writeable and after.dtype.isnative


def damaged(rng: np.random.Generator, raw: bytes, header: int) -> bytes:
    """A file with one to four of its bytes or lengths changed, most of them in the header, or with a part missing."""
    made = bytearray(raw)
    for _ in range(rng.integers(1, 5)):
        end = min(len(made), header) if rng.random() < 0.9 else len(made)
        if end < 9:
            break
        at = int(rng.integers(end))
        kind = rng.integers(6)
        if kind == 0:
            made[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            made[at] = int(rng.integers(256))
        elif kind == 2:
            del made[at : at + int(rng.integers(1, 20))]
        elif kind == 3:
            made[at:at] = rng.bytes(int(rng.integers(1, 20)))
        elif kind == 4:
            made[at : at + 8] = struct.pack("<Q", LENGTHS[rng.integers(len(LENGTHS))])
        else:
            digits = [n for n in range(end) if chr(made[n]).isdigit()] or [at]
            made[int(rng.choice(digits))] = ord(str(rng.integers(10)))
    return bytes(made[: int(rng.integers(len(made)))] if rng.random() < 0.15 else made)


def read_plainly(raw: bytes) -> dict[str, tuple[str, list[int], bytes]]:
    """What a safetensors file says, without a check."""
    size = int.from_bytes(raw[:8], "little")
    data = raw[8 + size :]
    header = json.loads(raw[8 : 8 + size])
    return {
        name: (one["dtype"], one["shape"], data[slice(*one["data_offsets"])])
        for name, one in header.items()
        if name != "__metadata__"
    }


def test_a_damaged_file_of_tensors_is_an_error_or_read_right(seed: int, tmp_path: Path) -> None:
    rng, path = np.random.default_rng(seed), tmp_path / "tree.safetensors"
    rlx.save(path, {"w": np.arange(6.0).reshape(2, 3), "z": np.ones(3, complex), "n": tree(rng), "t": True}, {"k": "v"})
    raw = path.read_bytes()
    for _ in range(DAMAGED):
        path.write_bytes(changed := damaged(rng, raw, 8 + int.from_bytes(raw[:8], "little")))
        with suppress(rlx.CheckpointError):
            rlx.metadata(path)
        try:
            found = rlx.load(path)
        except rlx.CheckpointError as error:
            assert "is not a safetensors file" in str(error)
            continue
        plain = read_plainly(changed)
        assert found.keys() == plain.keys() and sum(a.nbytes for a in found.values()) <= len(changed)
        for name, array in found.items():
            dtype, shape, data = plain[name]
            assert array.tobytes() == data and (list(array.shape) == shape or dtype == "F64")


def gguf_file(rng: np.random.Generator, path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """A file with values and tensors of many types; the arrays of the tensors as they are stored."""
    writer = gguf.GGUFWriter(path, "test")
    writer.add_array("words", ["a", "", "ключ"])
    writer.add_array("numbers", [1, 2, 3])
    writer.add_bool("flag", True)
    writer.add_float64("wide", 1.5)
    if rng.random() < 0.5:
        writer.add_custom_alignment(int(rng.choice((8, 64, 256))))
    plain: dict[str, np.ndarray[Any, Any]] = {}
    for n, name in enumerate(("float32", "float16", "float64", "int8", "int32", "int64")):
        shape = tuple(rng.integers(1, 4, rng.integers(1, 4)))
        plain[f"t{n}"] = (rng.standard_normal(shape) * 10).astype(dtype_named(name))
        writer.add_tensor(f"t{n}", plain[f"t{n}"])
    weights = rng.standard_normal((2, 64)).astype(np.float32)
    for kind in (gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.Q4_0, gguf.GGMLQuantizationType.BF16):
        plain[kind.name] = gguf.quants.quantize(weights, kind)
        writer.add_tensor(kind.name, plain[kind.name], raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return plain


def test_a_damaged_gguf_file_is_an_error_or_within_its_bytes(seed: int, tmp_path: Path) -> None:
    rng, path = np.random.default_rng(seed), tmp_path / "model.gguf"
    plain = gguf_file(rng, path)
    raw = path.read_bytes()
    found, reader = rlx.load_gguf(path, dequantize=False), gguf.GGUFReader(path)
    assert found.keys() == plain.keys() == {tensor.name for tensor in reader.tensors}
    for tensor in reader.tensors:
        for other in (plain[tensor.name], np.asarray(tensor.data)):
            np.testing.assert_array_equal(found[tensor.name], other)
            assert found[tensor.name].dtype == other.dtype
    floats = rlx.load_gguf(path)
    for kind in (gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.Q4_0, gguf.GGMLQuantizationType.BF16):
        np.testing.assert_array_equal(floats[kind.name], gguf.quants.dequantize(plain[kind.name], kind))
    for _ in range(DAMAGED):
        path.write_bytes(changed := damaged(rng, raw, reader.data_offset))
        try:
            found = rlx.load_gguf(path)
        except rlx.CheckpointError as error:
            assert "is not a GGUF file" in str(error)
            continue
        # the smallest type has 256 elements in 50 bytes
        assert sum(array.nbytes for array in found.values()) <= 24 * len(changed)
