"""Train a handwritten-digit classifier, a plain function of a tree of arrays, and write every stage of its compilation.

The model, its loss and the AdamW step are between the two "--8<--" lines. The compiler output goes to build/demo.
`--time-compile` only compiles the training step and prints the compile time in seconds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import xdsl_rlx as rlx

SIZES = (64, 128, 64, 10)
BATCH = 32
EPOCHS = 40
OUTPUT = Path(__file__).resolve().parent.parent / "build" / "demo"

PIPELINE = ("mir-prepare-for-fusion", "mir-fuse", "convert-mir-to-lir", "lir-mark-unrolled", "lir-plan-memory")

Arrays = dict[str, np.ndarray]


# --8<-- the model and its training
def initial_weights() -> list[Arrays]:
    return rlx.init.params(rlx.key(0), [{"w": shape, "b": shape[1:]} for shape in pairwise(SIZES)])


def model(params: Any, x: Any) -> Any:
    *hidden, last = params
    for layer in hidden:
        x = rlx.relu(x @ layer["w"] + layer["b"])
    return x @ last["w"] + last["b"]


def loss(params: Any, x: Any, labels: Any) -> Any:
    logits = model(params, x)
    return rlx.softmax_cross_entropy(logits, labels).mean(), (logits.argmax(axis=1) == labels).sum()


def step(params: Any, state: Any, x: Any, labels: Any) -> Any:
    (value, right), gradients = rlx.value_and_grad(loss, has_aux=True)(params, x, labels)
    return value, right, *optimiser.update(gradients, state, params)


optimiser = rlx.optim.AdamW(rlx.optim.cosine(5e-3, steps=45 * EPOCHS), weight_decay=0.3)
training_step = rlx.compile(step, donate={"params": 2, "state": 3})
# --8<--


def load_digits() -> tuple[Arrays, Arrays]:
    """Load scikit-learn's 1,797 images; a fixed seed selects four fifths of them for training."""
    from sklearn.datasets import load_digits as sklearn_digits
    from sklearn.model_selection import train_test_split

    digits: Any = sklearn_digits()
    images, labels = (digits.data / 16.0).astype(np.float32), digits.target.astype(np.int32)
    parts = train_test_split(images, labels, test_size=0.2, random_state=0, stratify=labels)
    return {"x": parts[0], "labels": parts[2]}, {"x": parts[1], "labels": parts[3]}


def train(data: Arrays, params: Any) -> list[tuple[float, float]]:
    """Train `params` in place; return the mean loss and the accuracy of every epoch."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    state, history = optimiser.init(params), list[tuple[float, float]]()
    batches = rlx.Batches((data["x"], data["labels"]), BATCH)
    status = TextColumn("loss {task.fields[loss]:.4f}  accuracy {task.fields[accuracy]:.1%}")
    with Progress(TextColumn("training"), BarColumn(), MofNCompleteColumn(), status, TimeElapsedColumn()) as progress:
        task = progress.add_task("training", total=EPOCHS, loss=float("nan"), accuracy=0.0)
        for epoch in range(EPOCHS):
            total, right = 0.0, 0
            for x, labels in batches.of_epoch(epoch):
                value, correct, params, state = training_step(params, state, x, labels)
                total += float(value) * len(x)
                right += int(correct)
            history.append((total / len(data["x"]), right / len(data["x"])))
            progress.update(task, advance=1, loss=history[-1][0], accuracy=history[-1][1])
    return history


def check_gradient(data: Arrays) -> float:
    """
    Return the largest relative error of the f64 gradient against central differences, one random direction per weight.
    """
    rng = np.random.default_rng(2)
    x, labels = data["x"][:BATCH].astype(np.float64), data["labels"][:BATCH]
    point = rlx.tree.map(lambda a: a.astype(np.float64), initial_weights())
    value_and_grad = rlx.compile(rlx.value_and_grad(loss, has_aux=True))
    _, gradients = value_and_grad(point, x, labels)
    worst, h = 0.0, 1e-6
    for layer, of_layer in enumerate(gradients):
        for name, gradient in of_layer.items():
            direction = rng.standard_normal(gradient.shape)
            moved = [[dict(one) for one in point] for _ in range(2)]
            for sign, params in zip((1, -1), moved, strict=True):
                params[layer][name] = point[layer][name] + sign * h * direction
            above, below = (float(value_and_grad(params, x, labels)[0][0]) for params in moved)
            difference, expected = (above - below) / (2 * h), float((gradient * direction).sum())
            worst = max(worst, abs(difference - expected) / max(abs(expected), 1e-3))
    return worst


def write_stages(data: Arrays) -> list[tuple[str, int, int]]:
    """
    Write the IR of the gradient after every stage and the generated module; return (stage, operations, lines) of each.
    """
    OUTPUT.mkdir(parents=True, exist_ok=True)
    sizes = list[tuple[str, int, int]]()

    def write(stage: str, graph: Any) -> None:
        text = str(graph)
        (OUTPUT / f"{len(sizes)}-{stage}.mlir").write_text(text + "\n")
        sizes.append((stage, sum(1 for _ in graph.module.walk()), len(text.splitlines())))

    graph = rlx.trace(loss, initial_weights(), data["x"][:BATCH], data["labels"][:BATCH])
    write("mir", graph)
    weights = ",".join(name for a in graph.interface.arguments if (name := a.name).startswith("params"))
    for spec in ("mir-prepare-for-ad", f"mir-grad{{wrt={weights}}}", *PIPELINE):
        graph = rlx.run_passes(graph, spec)
        write(spec.partition("{")[0], graph)
    last, module = sorted(OUTPUT.glob("*.mlir"))[-1], OUTPUT / "step.py"
    subprocess.run([sys.executable, "-m", "xdsl.tools.xdsl_opt", last, "-t", "numba", "-o", module], check=True)
    return sizes


def plot(history: list[tuple[float, float]]) -> Path:
    """Plot loss and accuracy over the epochs."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, left = plt.subplots(figsize=(7, 4), layout="constrained")
    right = left.twinx()
    epochs = range(1, len(history) + 1)
    left.semilogy(epochs, [loss for loss, _ in history], color="tab:blue")
    right.plot(epochs, [100 * accuracy for _, accuracy in history], color="tab:orange")
    left.set(xlabel="epoch", title="64-128-64-10 classifier on handwritten digits")
    left.set_ylabel("training loss", color="tab:blue")
    right.set_ylabel("training accuracy, %", color="tab:orange")
    path = OUTPUT / "curves.png"
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path


def write_report(compiled: Any, data: Arrays, params: Any) -> Path:
    """Write an HTML report with the graph, the IR of each stage, the arena over time and the profile of a step."""
    arguments = params, optimiser.init(params), data["x"][:BATCH], data["labels"][:BATCH]
    path = OUTPUT / "report.html"
    rlx.report(compiled, path, training_step.profile(*arguments))
    return path


def compiled_step(data: Arrays, params: Any) -> tuple[Any, float]:
    """Build and compile the training step for full batches; return it with the seconds that this took."""
    start = time.perf_counter()
    arguments = params, optimiser.init(params), data["x"][:BATCH], data["labels"][:BATCH]
    return training_step.compiled(*arguments), time.perf_counter() - start


def time_compile() -> tuple[float, float]:
    """Return the compile seconds of the training step in a fresh process, with a cold and with a warm cache."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, __file__, "--time-compile"]
        env = os.environ | {"XDSL_RLX_CACHE_DIR": cache}
        cold, warm = (float(subprocess.run(command, env=env, check=True, capture_output=True).stdout) for _ in range(2))
    return cold, warm


def main() -> int:
    """Train, report and write build/demo; return status 1 if the accuracy or the gradient is wrong."""
    train_data, test_data = load_digits()
    params = initial_weights()
    compiled, seconds = compiled_step(train_data, params)
    how = (
        "nothing compiled, all of it came from the cache" if compiled.from_cache else "compiled, and kept in the cache"
    )
    print(f"training step ready in {seconds:.2f} s ({how})")

    start = time.perf_counter()
    history = train(train_data, params)
    print(f"{EPOCHS} epochs of {len(train_data['x'])} images in {time.perf_counter() - start:.2f} s")
    found = rlx.compile(model)(params, test_data["x"]).argmax(1)
    accuracy = 100 * float((found == test_data["labels"]).mean())
    print(f"test accuracy: {accuracy:.1f} %")

    error = check_gradient(train_data)
    print(f"gradient in f64 against central differences: largest relative error {error:.1e}")
    print("IR of the loss and its gradient:")
    for stage, operations, lines in write_stages(train_data):
        print(f"  {stage:22} {operations:5} operations {lines:6} lines")
    launches, arena = compiled.program.launches, compiled.program.arena_bytes
    kernels = len({launch.kernel for launch in launches})
    print(f"training step with AdamW: {kernels} kernels, {len(launches)} launches, arena {arena} bytes")
    cold, warm = time_compile()
    print(f"compile, imports apart: cold {cold:.2f} s, warm {warm:.3f} s")
    report = os.path.relpath(write_report(compiled, train_data, params))
    print(f"report: {report}; curves: {os.path.relpath(plot(history))}; IR: {os.path.relpath(OUTPUT)}")
    return 0 if accuracy >= 97 and error <= 1e-5 else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-compile", action="store_true", help="print the seconds to build and compile, and stop")
    if parser.parse_args().time_compile:
        # Import lazily loaded libraries first, so that the time excludes imports.
        for name in (
            "numba",
            "scipy.linalg.cython_blas",
            "xdsl_rlx.tree_functions",
            "xdsl_rlx.lowering.backend.runtime.compile_module",
        ):
            import_module(name)
        print(compiled_step(load_digits()[0], initial_weights())[1])
        sys.exit(0)
    sys.exit(main())
