"""The character GPT of examples/gpt.py beside its twins in JAX and PyTorch: lines, losses and milliseconds of a step.

`python benchmarks/gpt_twins.py [--steps 200] [--kinds ours,jax,torch,torch.compile]`: from the same weights, on the
same batches, in turns of some steps each.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from training import take_turns

import xdsl_rlx as rlx

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))

import gpt  # noqa: E402


def ours(params: Any) -> Callable[[gpt.Batch], float]:
    """A step of training from these weights on: its loss on a batch."""
    params = rlx.tree.map(lambda leaf: leaf.copy(), params)
    state = params, gpt.optimiser.init(params)

    def step(batch: gpt.Batch) -> float:
        nonlocal state
        value, state = gpt.train(state, *batch)
        return float(value)

    return step


def trainer(kind: str, params: Any) -> Callable[[gpt.Batch], float]:
    """That of a framework."""
    if kind == "ours":
        return ours(params)
    if kind == "jax":
        import gpt_jax

        return gpt_jax.trainer(params)
    import gpt_torch

    return gpt_torch.trainer(params, compiled=kind == "torch.compile")


def lines(name: str) -> int:
    """Lines of code of the model and its training: what is between the two marks, without empty lines."""
    part = (EXAMPLES / f"{name}.py").read_text().split("# --8<--")[1]
    return sum(bool(line.strip()) for line in part.splitlines()[1:])


def main() -> None:
    """Train by all, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--kinds", default="ours,jax,torch")
    options = parser.parse_args()
    text = gpt.load_text()
    alphabet = "".join(sorted(set(text)))
    params, ids = gpt.initial_params(rlx.key(0), len(alphabet)), gpt.encode(text, alphabet)
    steps = {kind: trainer(kind, params) for kind in options.kinds.split(",")}
    title = f"GPT, {gpt.DEPTH} layers of width {gpt.WIDTH}, {gpt.BATCH} windows of {gpt.LENGTH} characters"
    Console(width=120).print(take_turns(steps, list(gpt.batches(ids, options.steps, 0)), title))
    named = {"xdsl-rlx": "gpt", "JAX with optax": "gpt_jax", "PyTorch": "gpt_torch"}
    print("lines:", ", ".join(f"{lines(name)} in {kind}" for kind, name in named.items()))


if __name__ == "__main__":
    main()
