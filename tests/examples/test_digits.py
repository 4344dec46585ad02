"""The main job in small: the digits example learns, and its gradient is the derivative of its loss."""

from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "digits.py"


@pytest.fixture(scope="module")
def digits(load_example: Any) -> Any:
    """The example as a module."""
    return load_example("digits")


def test_a_few_epochs_classify_unseen_digits(digits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digits, "EPOCHS", 8)
    train_data, test_data = digits.load_digits()
    params = digits.initial_weights()
    history = digits.train(train_data, params)
    assert history[-1][0] < 0.3 * history[0][0]
    logits = digits.rlx.compile(digits.model)(params, test_data["x"])
    assert (logits.argmax(1) == test_data["labels"]).mean() > 0.93


def test_the_gradient_is_the_derivative_of_the_loss(digits: Any) -> None:
    train_data, _ = digits.load_digits()
    assert digits.check_gradient(train_data) < 1e-6


def test_model_and_training_are_a_few_lines() -> None:
    _, part, _ = EXAMPLE.read_text().split("# --8<--")
    assert sum(bool(line.strip()) for line in part.splitlines()[1:]) <= 25


def test_every_stage_is_written_and_parses_back(digits: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(digits, "OUTPUT", tmp_path)
    stages = digits.write_stages(digits.load_digits()[0])
    files = sorted(tmp_path.glob("*.mlir"))
    assert len(files) == len(stages)
    for path in files:
        module = digits.rlx.parse(path.read_text())
        module.verify()
    compile((tmp_path / "step.py").read_text(), "step.py", "exec")
