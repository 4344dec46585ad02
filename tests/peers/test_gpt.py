"""The GPT of the examples trains as its twin in PyTorch does. Run by `make peers`."""

import sys
from pathlib import Path

import numpy as np

import xdsl_rlx as rlx

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import gpt
import gpt_torch


def test_losses_are_those_of_pytorch() -> None:
    text = gpt.load_text()
    alphabet = "".join(sorted(set(text)))
    params = gpt.initial_params(rlx.key(0), len(alphabet))
    step, state = gpt_torch.trainer(params), (params, gpt.optimiser.init(params))
    ours, theirs = list[float](), list[float]()
    for batch in gpt.batches(gpt.encode(text, alphabet), 20, 0):
        value, state = gpt.train(state, *batch)
        ours.append(float(value))
        theirs.append(step(batch))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert ours[-1] < 0.9 * ours[0]
