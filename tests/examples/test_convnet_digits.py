"""The convnet learns in a few epochs, drops out only with a key, and has the losses of its definition."""

from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx


@pytest.fixture(scope="module")
def convnet(load_example: Any) -> Any:
    """The example as a module."""
    return load_example("convnet_digits")


def test_three_epochs_recognise_unseen_digits(convnet: Any) -> None:
    seen, unseen = convnet.load_images()
    state = rlx.fit(convnet.train, convnet.initial_state(), rlx.Batches(seen, 64), 3, quiet=True)
    assert convnet.count_right(state["params"], *unseen) > 0.93 * len(unseen[1])
    # 22 batches of 64 and one of what is left
    assert state["adamw"]["step"] == 69


def test_the_loss_is_that_of_smoothed_labels(convnet: Any) -> None:
    (images, labels), state = convnet.load_images()[1], convnet.initial_state()
    images, labels = images[:20], labels[:20]
    logits = convnet.model(state["params"], images, state["key"]).astype(np.float64)
    np.testing.assert_array_equal(logits, convnet.model(state["params"], images, state["key"]))
    assert not np.array_equal(logits, convnet.model(state["params"], images))
    chances = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    wanted = 0.9 * np.eye(10)[labels] + 0.01
    found = convnet.loss(state["params"], images, labels, state["key"])
    assert found == pytest.approx(-(wanted * chances).sum(axis=1).mean(), rel=1e-5)
