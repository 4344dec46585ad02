"""The model of a processor: caches from files of the system, registers from its features."""

from pathlib import Path

import pytest

from xdsl_rlx.lowering.numba.machine import model
from xdsl_rlx.lowering.numba.machine.cpu import VARIABLE
from xdsl_rlx.lowering.target import COMMON, Caches


def write(folder: Path, number: int, level: int, kind: str, size: str, ways: int = 12) -> None:
    """The files of one cache, as Linux has them."""
    (at := folder / f"index{number}").mkdir()
    texts = {"level": level, "type": kind, "size": size, "coherency_line_size": 128, "ways_of_associativity": ways}
    for name, text in texts.items():
        (at / name).write_text(f"{text}\n")


def test_sizes_of_caches_are_those_of_the_files(tmp_path: Path) -> None:
    write(tmp_path, 0, 1, "Data", "48K")
    write(tmp_path, 1, 1, "Instruction", "64K")
    write(tmp_path, 2, 2, "Unified", "2M")
    write(tmp_path, 3, 3, "Unified", "105M")
    assert model.host_caches(tmp_path) == Caches(line_bytes=128, l1_bytes=48 << 10, l1_ways=12, l2_bytes=2 << 20)


def test_caches_that_no_file_describes_are_common_ones(tmp_path: Path) -> None:
    assert model.host_caches(tmp_path / "none") == Caches()
    write(tmp_path, 0, 1, "Data", "0K")
    write(tmp_path, 1, 2, "Unified", "large")
    (tmp_path / "index2").mkdir()
    assert model.host_caches(tmp_path) == Caches()


def test_a_named_processor_has_common_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "x86-64-v3")
    assert model.cost_model() == COMMON
    assert model.model_key() == ""


def test_the_key_has_what_is_not_common() -> None:
    found = model.cost_model()
    assert (f"lanes={found.lanes}" in model.model_key().split()) == (found.lanes != COMMON.lanes)
