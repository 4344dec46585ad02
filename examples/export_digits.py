"""Export the training step of a classifier, and its predictions, as libraries; C programs train and serve with them.

The files of build/export are all that the C programs need: no Python, no package of Python, no compiler.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits  # pyright: ignore

import xdsl_rlx as rlx

C = Path(__file__).resolve().parent / "c"
BATCH = 32


def loss(params: Any, x: Any, labels: Any) -> Any:
    hidden = np.tanh(x @ params["w"] + params["b"])
    logits = hidden @ params["v"]
    return rlx.softmax_cross_entropy(logits, labels).mean(), (logits.argmax(axis=1) == labels).sum()


def step(params: Any, state: Any, x: Any, labels: Any) -> Any:
    (value, right), gradients = rlx.value_and_grad(loss, has_aux=True)(params, x, labels)
    return value, right, *optimiser.update(gradients, state, params)


optimiser = rlx.optim.AdamW(3e-3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=C.parent.parent / "build" / "export")
    parser.add_argument("--cc", default=os.environ.get("CC", "cc"))
    options = parser.parse_args()
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)

    images, digits = load_digits(return_X_y=True)
    x, labels = (images / 16).astype(np.float32), digits.astype(np.int32)
    params = rlx.init.params(rlx.key(0), {"w": (64, 64), "b": (64,), "v": (64, 10)})
    state = optimiser.init(params)
    batches = [(x[i : i + BATCH], labels[i : i + BATCH]) for i in range(0, len(x) - BATCH + 1, BATCH)]

    training = rlx.compile(step, donate={"params": 2, "state": 3})
    rlx.export(training.compiled(params, state, *batches[0]), folder / "step", cc=options.cc)
    leaves = [np.array(leaf) for leaf in rlx.tree.flatten((params, state, *batches[0]))[0]]
    (folder / "start").write_bytes(b"".join(leaf.tobytes() for leaf in leaves))
    (folder / "batches").write_bytes(b"".join(a.tobytes() + b.tobytes() for a, b in batches))
    run(options.cc, folder, "train", "start", "batches", "end")

    value = None
    for a, b in batches:
        value, _, params, state = training(params, state, a, b)
    ours = b"".join(np.asarray(leaf).tobytes() for leaf in rlx.tree.flatten((params, state))[0])
    same = (folder / "end").read_bytes().startswith(ours)
    print(f"Python: {len(batches)} steps, loss {value:.4f}; the same bits in C: {same}")

    predict = rlx.compile(lambda x: (np.tanh(x @ params["w"] + params["b"]) @ params["v"]).argmax().astype(np.int32))
    expected = [int(predict(one)) for one in x[:200]]
    rlx.export(predict, folder / "predict", cc=options.cc)
    found = run(options.cc, folder, "serve", given=x[:200].tobytes())
    print(f"200 predictions in C: {np.mean(np.array(expected) == labels[:200]):.1%} right, ", end="")
    print(f"as in Python: {list(map(int, found.split())) == expected}")


def run(cc: str, folder: Path, name: str, *words: str, given: bytes = b"") -> str:
    """Compile a C program beside the library that it uses, and run it; gives what it prints."""
    library = "step" if name == "train" else "predict"
    source, output = C / f"{name}.c", folder / name
    command = [
        *shlex.split(cc),
        "-O2",
        f"-I{folder}",
        "-o",
        output,
        source,
        f"{folder}/{library}.so",
        "-Wl,-rpath,$ORIGIN",
    ]
    subprocess.run(command, check=True)
    done = subprocess.run([output, *words], cwd=folder, input=given, stdout=subprocess.PIPE, check=True)
    if not given:
        print(f"C: {done.stdout.decode().strip()}")
    return done.stdout.decode()


if __name__ == "__main__":
    main()
