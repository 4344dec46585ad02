"""Fine-tune a saved GPT with LoRA (Hu et al., 2022), kill the run and resume it to the same bits.

The base model is that of gpt.py, trained on Python's reference text and saved as safetensors. Another process loads it
and trains factors of rank 4 on Python's source code; only the factors have gradients. The complete training state is
saved every 10 steps: the factors, their moments and the step number. The fine-tuning runs twice: once uninterrupted,
and once killed by SIGKILL at a random step and restarted. Both runs end with the same file.
"""

from __future__ import annotations

import argparse
import inspect
import random
import subprocess
import sys
import typing
from functools import partial
from pathlib import Path
from typing import Any

import gpt
import numpy as np

import xdsl_rlx as rlx

RANK, SCALE = 4, 2.0
EPOCHS, STEPS_PER_EPOCH = 20, 10
RATE, CLIP = 5e-3, 1.0
BASE_EPOCHS = 5
HELD_OUT = 0.1
PROGRAM = [sys.executable, __file__]
OUTPUT = Path(__file__).resolve().parent.parent / "build" / "finetune"


def initial_factors(base: Any) -> Any:
    """Create two low-rank factors for each matrix of each layer; their product is zero initially."""

    def factors(matrix: np.ndarray) -> Any:
        rows, columns = matrix.shape
        return {"a": (rows, RANK), "b": np.zeros((RANK, columns), np.float32)}

    return rlx.init.params(rlx.key(1), rlx.tree.map(factors, base["layers"]), rlx.init.lecun_normal)


def adapted(base: Any, factors: Any) -> Any:
    """Return the base weights plus the products of the factors."""
    layers = [
        {name: matrix + SCALE * (of[name]["a"] @ of[name]["b"]) for name, matrix in layer.items()}
        for layer, of in zip(base["layers"], factors, strict=True)
    ]
    return base | {"layers": layers}


def loss(factors: Any, base: Any, ids: Any, following: Any) -> Any:
    """Return the loss of the adapted model as a function of the factors."""
    return gpt.loss(adapted(base, factors), ids, following)


def step(state: Any, base: Any, ids: Any, following: Any) -> Any:
    """Return the loss of a batch and the state after an Adam step."""
    factors, kept = state
    value, gradients = rlx.value_and_grad(loss)(factors, base, ids, following)
    return value, optimiser.update(gradients, kept, factors)


optimiser = rlx.optim.Adam(rlx.optim.cosine(RATE, EPOCHS * STEPS_PER_EPOCH), clip_norm=CLIP)
train = rlx.compile(step, donate={"state": 1})


def write_base(path: Path, epochs: int = BASE_EPOCHS) -> None:
    """Train the base model and save its weights with its alphabet."""
    text = gpt.load_text()
    alphabet = "".join(sorted(set(text)))
    params = gpt.initial_params(rlx.key(0), len(alphabet))
    batches = partial(gpt.batches, gpt.encode(text, alphabet), gpt.STEPS_PER_EPOCH)
    trained, _ = rlx.fit(gpt.train, (params, gpt.optimiser.init(params)), batches, epochs)
    rlx.save(path, trained, {"alphabet": alphabet})


def load_base(path: Path) -> tuple[Any, str]:
    """Load the weights and the alphabet from a file."""
    alphabet = rlx.metadata(path)["alphabet"]
    return rlx.load(path, like=gpt.initial_params(rlx.key(0), len(alphabet))), alphabet


def load_source(alphabet: str) -> tuple[np.ndarray, np.ndarray]:
    """Return modules of Python's library, without characters outside of the alphabet, for training and held out."""
    text = "".join(Path(inspect.getfile(module)).read_text() for module in (argparse, inspect, random, typing))
    ids = gpt.encode("".join(character for character in text if character in alphabet), alphabet)
    split = int(len(ids) * (1 - HELD_OUT))
    return ids[:split], ids[split:]


def fine_tune(base: Path, state: Path, epochs: int) -> Any:
    """Train the factors, resuming from the file `state`; return them and print the number of each step."""
    weights, alphabet = load_base(base)
    seen, _ = load_source(alphabet)

    def shown(now: Any, *batch: np.ndarray) -> Any:
        value, after = train(now, weights, *batch)
        print(int(after[1]["step"]), flush=True)
        return value, after

    factors = initial_factors(weights)
    start, batches = (factors, optimiser.init(factors)), partial(gpt.batches, seen, STEPS_PER_EPOCH)
    return rlx.fit(shown, start, batches, epochs, checkpoint=state, resume=True, quiet=True)[0]


def in_a_process(base: Path, state: Path, epochs: int, kill_at: int | None = None) -> list[int]:
    """Fine-tune in a separate process and kill it after step `kill_at`; return the steps that it completed."""
    command = [*PROGRAM, "--base", base, "--state", state, "--epochs", str(epochs)]
    steps = list[int]()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            steps.append(int(line))
            if steps[-1] == kill_at:
                process.kill()
    if process.returncode and kill_at is None:
        raise subprocess.CalledProcessError(process.returncode, command)
    return steps


def twice() -> int:
    """Train the base and fine-tune it twice; return status 1 if the results differ or are no better than the base."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    base, whole, killed = (OUTPUT / f"{name}.safetensors" for name in ("base", "whole", "killed"))
    for path in (whole, killed):
        path.unlink(missing_ok=True)
    print(f"training the base: {BASE_EPOCHS * gpt.STEPS_PER_EPOCH} steps on Python's reference text")
    write_base(base)

    in_a_process(base, whole, EPOCHS)
    at = random.randrange(STEPS_PER_EPOCH, EPOCHS * STEPS_PER_EPOCH // 2)
    in_a_process(base, killed, EPOCHS, kill_at=at)
    saved = rlx.metadata(killed)["epoch"]
    steps = in_a_process(base, killed, EPOCHS)
    print(f"killed behind step {at} with {saved} epochs of {STEPS_PER_EPOCH} steps saved; resumed at step {steps[0]}")
    same = whole.read_bytes() == killed.read_bytes()
    print(f"the state after {steps[-1]} steps is {'the same to the bit' if same else 'another'}, killed or not")

    params, alphabet = load_base(base)
    factors = initial_factors(params)
    factors, _ = rlx.load(killed, like=(factors, optimiser.init(factors)))
    trained, every = (sum(leaf.size for leaf in rlx.tree.flatten(tree)[0]) for tree in (factors, params))
    judge, (_, held_out) = rlx.compile(gpt.loss), load_source(alphabet)
    before, after = (gpt.mean_loss(judge, one, held_out) for one in (params, adapted(params, factors)))
    print(f"{trained} numbers trained beside {every} of the base")
    print(f"{before:.3f} nats per character of held-out source code before, {after:.3f} after")
    return 0 if same and after < before - 0.3 else 1


def main() -> int:
    """Run the whole example, or only the fine-tuning process with `--state`."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind in (("base", Path), ("state", Path), ("epochs", int)):
        parser.add_argument(f"--{name}", type=kind, help="of the process that fine-tunes")
    options = parser.parse_args()
    if options.state is None:
        return twice()
    fine_tune(options.base, options.state, options.epochs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
