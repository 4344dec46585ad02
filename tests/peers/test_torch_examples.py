"""The PyTorch examples at a small size, and the programs of the page for those who come from PyTorch."""

# Models of torch.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch_gpt
import torch_resnet
from pages import run_blocks


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()  # pyright: ignore[reportPrivateUsage]


def test_the_programs_of_the_page_print_what_it_says() -> None:
    run_blocks("docs/howto/from-pytorch.md", "py")


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_gpt(dropout: float, capsys: pytest.CaptureFixture[str]) -> None:
    config = torch_gpt.Config(
        block_size=16, n_layer=2, n_head=2, n_embd=32, dropout=dropout, batch_size=4, max_iters=12, eval_interval=6
    )
    found = torch_gpt.compared(config, ("eager", "xdsl_rlx"))
    losses = {way: np.array([loss for loss, _ in steps]) for way, steps in found.items()}
    assert losses["xdsl_rlx"][-1] < losses["xdsl_rlx"][0]
    # without dropout, steps differ by rounding alone
    np.testing.assert_allclose(losses["xdsl_rlx"], losses["eager"], atol=0.2 if dropout else 1e-3)
    assert capsys.readouterr().out.count("unseen") == 4


def test_resnet() -> None:
    ours, losses, accuracy = torch_resnet.trained("xdsl_rlx", epochs=2, width=4)
    theirs, expected, _ = torch_resnet.trained("eager", epochs=2, width=4)
    np.testing.assert_allclose(losses, expected, rtol=0.01)
    assert losses[-1] < losses[0] and accuracy > 0.3
    for mine, other in zip(ours.buffers(), theirs.buffers(), strict=True):
        torch.testing.assert_close(mine, other, rtol=0.05, atol=0.02)
