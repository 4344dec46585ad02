"""Fine-tuning by low-rank factors moves only these, and goes on to the same bits after kill -9."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

SIZES = {"WIDTH": 16, "LENGTH": 20, "BATCH": 4}

PROGRAM = f"""
import sys
import gpt
vars(gpt).update({SIZES})
import finetune_safetensors
sys.exit(finetune_safetensors.main())
"""


@pytest.fixture
def example(load_example: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The example as a module, its model small, also in the processes that it starts."""
    module = load_example("finetune_safetensors")
    for name, size in SIZES.items():
        monkeypatch.setattr(module.gpt, name, size)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    module.PROGRAM = [sys.executable, "-c", PROGRAM]
    return module


@pytest.fixture
def base(example: Any, tmp_path: Path) -> Path:
    """A base as it is before training."""
    path = tmp_path / "base.safetensors"
    example.write_base(path, epochs=0)
    return path


def test_a_process_that_is_killed_goes_on_to_the_same_bits(example: Any, base: Path, tmp_path: Path) -> None:
    whole, killed, before = tmp_path / "whole", tmp_path / "killed", base.read_bytes()
    factors = example.fine_tune(base, whole, 20)
    # some steps may follow before the signal is there
    assert example.in_a_process(base, killed, 20, kill_at=12)[-1] < 200
    assert 1 <= int(rlx.metadata(killed)["epoch"]) < 20
    example.fine_tune(base, killed, 20)
    assert whole.read_bytes() == killed.read_bytes() and rlx.metadata(killed) == {"epoch": "20"}
    assert base.read_bytes() == before
    for layer in factors:
        assert all(np.abs(pair["b"]).max() > 1e-3 for pair in layer.values())


def test_the_factors_add_their_product(example: Any, base: Path) -> None:
    params, alphabet = example.load_base(base)
    factors, rng = example.initial_factors(params), np.random.default_rng(0)
    ids = rng.integers(0, len(alphabet), (2, 2, example.gpt.LENGTH)).astype(np.int32)
    assert example.loss(factors, params, *ids) == example.gpt.loss(params, *ids)
    of = factors[1]["up"]
    of["b"] = rng.standard_normal(of["b"].shape).astype(np.float32)
    found = example.adapted(params, factors)
    difference = found["layers"][1]["up"] - params["layers"][1]["up"]
    np.testing.assert_allclose(difference, example.SCALE * of["a"] @ of["b"], atol=1e-6)
    assert np.linalg.matrix_rank(difference, tol=1e-4) == example.RANK
    np.testing.assert_array_equal(found["layers"][0]["up"], params["layers"][0]["up"])
