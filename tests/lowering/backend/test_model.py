"""The model of a processor: caches from files of the system, registers from its features."""

from pathlib import Path

import pytest

from xdsl_rlx.lowering.backend.machine import model
from xdsl_rlx.lowering.backend.machine.cpu import VARIABLE
from xdsl_rlx.lowering.run_errors import ConfigurationError
from xdsl_rlx.lowering.target import COMMON, Caches, TileCosts


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
    assert model.host_caches(tmp_path) == Caches(line_bytes=128, l1_bytes=48 << 10, l2_bytes=2 << 20)


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


def test_a_table_replaces_fields(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = model.cost_model()
    (table := tmp_path / "costs.toml").write_text("panel_depth = 384\nmax_overlap = 1\nbf16 = true\n")
    monkeypatch.setenv(model.VARIABLE, str(table))
    found = model.cost_model()
    assert (found.panel_depth, found.max_overlap, found.bf16) == (384, 1, True)
    assert found.parallel_ops == before.parallel_ops
    assert "panel_depth=384" in model.model_key().split()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("panel_dept = 384", "has 'panel_dept', which is not a field of the cost model"),
        ("panel_depth = 38.4", "expected int for 'panel_depth', got 38.4"),
        ("panel_depth = true", "expected int for 'panel_depth', got True"),
        ("bf16 = 1", "expected bool for 'bf16', got 1"),
        ("panel_depth = 0", "panel_depth must be positive, got 0"),
        ("[costs]", "has 'costs', which is not a field"),
        ("panel_depth", "expected a TOML file of costs"),
    ],
)
def test_a_table_that_is_wrong_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, said: str
) -> None:
    (table := tmp_path / "costs.toml").write_text(text)
    monkeypatch.setenv(model.VARIABLE, str(table))
    with pytest.raises(ConfigurationError, match=said):
        model.cost_model()


def test_a_table_that_does_not_exist_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(model.VARIABLE, str(tmp_path / "none.toml"))
    with pytest.raises(ConfigurationError, match="expected a TOML file of costs"):
        model.cost_model()


def test_fields_are_positive() -> None:
    with pytest.raises(ValueError, match="l2_bytes must be positive, got 0"):
        TileCosts(l2_bytes=0)
