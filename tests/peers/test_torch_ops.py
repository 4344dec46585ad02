"""
PyTorch's own OpInfo samples through the backend of `torch.compile`, forward and backward.

`torch_ops.json` lists all entries of the database: those that pass, and the reason of each other one. One sample of
each element type runs; `TORCH_OP_SAMPLES=8` runs up to eight.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch
from peers.torch_ops import ENTRIES, run, types_of

LIST = json.loads((Path(__file__).parent / "torch_ops.json").read_text())
PASSES: dict[str, str] = LIST["passes"]
"""By name of an entry, whether it passes "forward and backward" or "forward": where PyTorch has no gradient."""
REASONS: dict[str, str] = LIST["reasons"]
"""By name of an entry why it does not run."""
SAMPLES = int(os.environ.get("TORCH_OP_SAMPLES", "1"))


def test_each_entry_passes_or_has_a_reason() -> None:
    assert not set(PASSES) & set(REASONS)
    assert sorted({*PASSES, *REASONS}) == sorted(ENTRIES)
    assert all(REASONS.values())


def test_at_least_400_entries_pass_forward_and_backward() -> None:
    assert sum(how == "forward and backward" for how in PASSES.values()) >= 400


@pytest.mark.parametrize("name", sorted(PASSES))
def test_entry_is_as_eager(name: str) -> None:
    torch.set_num_threads(1)
    info = ENTRIES[name]
    outcomes = {dtype: run(info, dtype, SAMPLES) for dtype in types_of(info)}
    assert outcomes
    assert {dtype: one.failure for dtype, one in outcomes.items() if one.failure} == {}
    assert all(one.forward for one in outcomes.values())
    if PASSES[name] == "forward and backward":
        assert all(one.backward for one in outcomes.values())
