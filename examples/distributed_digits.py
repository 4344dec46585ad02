"""Train the classifier of `digits.py` in several processes, each on its part of every batch.

`mpiexec -n 2 python examples/distributed_digits.py`, or `torchrun --nproc-per-node 2 examples/distributed_digits.py`;
alone, it is a program of one process. All of them end with the same weights but for rounding. A run that is killed
continues from its file, with any number of processes that divides a batch.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from digits import initial_weights, load_digits, loss, model

import xdsl_rlx as rlx

BATCH = 48
EPOCHS = 20
OUTPUT = Path(__file__).resolve().parent.parent / "build" / "distributed"


# --8<-- what differs from a program of one process
rlx.distributed.init(timeout=60)


def step(state: Any, x: Any, labels: Any) -> Any:
    (value, _), grads = rlx.value_and_grad(loss, has_aux=True, reduce="mean")(state["params"], x, labels)
    params, moments = optimiser.update(grads, state["moments"], state["params"])
    return value, {"params": params, "moments": moments}


def batches(data: dict[str, np.ndarray]) -> rlx.Batches:
    return rlx.Batches((data["x"], data["labels"]), BATCH, drop_last=True, shard=True)


# --8<--


optimiser = rlx.optim.AdamW(rlx.optim.cosine(5e-3, steps=30 * EPOCHS), weight_decay=0.3)
train, logits = rlx.compile(step, donate={"state": 1}), rlx.compile(model)


def accuracy(params: Any, data: dict[str, np.ndarray]) -> float:
    """Return the part of the images that are classified rightly."""
    return float((logits(params, data["x"]).argmax(1) == data["labels"]).mean())


def main() -> int:
    """Train and judge; return status 1 if the accuracy is too low for this many epochs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="how often each image is seen")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the folder of the checkpoint")
    options = parser.parse_args()
    train_data, test_data = load_digits()
    params = initial_weights()
    options.output.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    state = rlx.fit(
        train,
        {"params": params, "moments": optimiser.init(params)},
        batches(train_data),
        options.epochs,
        evaluate=lambda state: f"unseen digits {accuracy(state['params'], test_data):.1%}",
        checkpoint=options.output / "state.safetensors",
        resume=True,
    )
    found = accuracy(state["params"], test_data)
    if rlx.distributed.rank() == 0:
        seconds = time.perf_counter() - start
        print(f"{rlx.distributed.size()} processes: {found:.1%} of unseen digits in {seconds:.1f} s")
    return 0 if found > (0.96 if options.epochs >= EPOCHS else 0.8) else 1


if __name__ == "__main__":
    sys.exit(main())
