"""Products and training steps in f32, bf16 and int8 beside PyTorch's and JAX's in bf16, and their errors against f64.

PyTorch multiplies operands in bf16, or those in f32 under `autocast`. Calls take turns; the number is the least of the
turns on one thread, by the time in f32. An error is the largest difference from f64 of the same rounded operands, by
the largest element. `--cpu-time` counts the time of all threads of this process: on a busy machine, wall time says
little.
"""

# Functions of three libraries, of arrays of any of them.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportMissingImports=false, reportUnknownLambdaType=false

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import torch
from turns import Turns

import xdsl_rlx as rlx

PRODUCTS = ((64, 1024, 1024), (256, 512, 512), (512, 512, 512), (129, 257, 513), (8, 1024, 1024))
STEPS = ((256, (512, 512, 512)), (512, (256, 1024, 1024, 256)))
"""The rows of a batch, and the widths of a perceptron."""

TURNS = Turns(each=0.002, together=8.0, least=10, most=200)
RATE = 0.01
PEERS = ("torch bf16", "torch autocast", "jax bf16")
Calls = dict[str, Callable[[], Any]]


def in_bf16(x: Any) -> torch.Tensor:
    return torch.from_numpy(x.astype(np.float32)).bfloat16()


def product(m: int, k: int, n: int) -> tuple[Calls, dict[str, float]]:
    """Calls of a product by their names, and errors."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((m, k), (k, n)))
    wide, exact = (a.astype(np.float32), b.astype(np.float32)), a.astype(np.float64) @ b.astype(np.float64)
    x, w = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((m, k), (k, n)))
    bias, g = np.zeros(n, np.int32), rlx.Graph("q")
    g.set_outputs([g.q_matmul(g.input("x", (m, k), "i8"), g.input("w", (k, n), "i8"), g.input("b", (n,), "i32"), 1e-4)])
    ours, bytes_ = rlx.compile(lambda a, b: a @ b, threads=1), rlx.compile(g, threads=1)
    halves, theirs, jitted = (in_bf16(a), in_bf16(b)), [jnp.asarray(v) for v in (a, b)], jax.jit(jnp.matmul)
    singles = [torch.from_numpy(v) for v in wide]

    def autocast() -> torch.Tensor:
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            return singles[0] @ singles[1]

    calls: Calls = {
        "f32": partial(ours, *wide),
        "bf16": partial(ours, a, b),
        "int8": partial(bytes_, x, w, bias),
        "torch bf16": lambda: halves[0] @ halves[1],
        "torch autocast": autocast,
        "jax bf16": lambda: jitted(*theirs).block_until_ready(),
    }
    found = {key: np.asarray(calls[key]()).astype(np.float64) for key in ("f32", "bf16")}
    return calls, {key: float(abs(value - exact).max() / abs(exact).max()) for key, value in found.items()}


def loss_of(np_: Any, params: Any, x: Any, y: Any) -> Any:
    for p in params[:-1]:
        x = np_.maximum(x @ p, 0)
    d = x @ params[-1] - y
    return (d * d).mean()


def step(batch: int, sizes: tuple[int, ...]) -> tuple[Calls, dict[str, float]]:
    """Calls of a step of plain gradient descent, and errors of the first layer's gradient."""
    rng, shapes = (
        np.random.default_rng(0),
        [*pairwise(sizes), (batch, sizes[0]), (batch, sizes[-1])],
    )
    arrays = [(rng.standard_normal(s) / s[0] ** 0.5).astype(ml_dtypes.bfloat16) for s in shapes]
    wide = [v.astype(np.float32) for v in arrays]

    def run(grad: Callable[..., Any], arrays: Any) -> Any:
        params, (x, y) = arrays[:-2], arrays[-2:]
        value, grads = grad(params, x, y)
        return value, [p - (RATE * g).astype(p.dtype) for p, g in zip(params, grads, strict=True)]

    ours = rlx.compile(partial(run, rlx.value_and_grad(partial(loss_of, np))), threads=1)
    theirs, jitted = (
        [jnp.asarray(v) for v in arrays],
        jax.jit(partial(run, jax.value_and_grad(partial(loss_of, jnp)))),
    )

    def descend(tensors: list[torch.Tensor], narrow: bool) -> Callable[[], Any]:
        params, (x, y) = [t.requires_grad_() for t in tensors[:-2]], tensors[-2:]

        def call() -> None:
            with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
                h = x
                for p in params[:-1]:
                    h = torch.relu(h @ p)
                loss = ((h @ params[-1] - y) ** 2).mean()
            with torch.no_grad():
                for p, g in zip(params, torch.autograd.grad(loss, params), strict=True):
                    p -= RATE * g

        return call

    calls: Calls = {
        "f32": partial(ours, wide),
        "bf16": partial(ours, arrays),
        "torch bf16": descend([in_bf16(v) for v in arrays], False),
        "torch autocast": descend([torch.from_numpy(v.copy()) for v in wide], True),
        "jax bf16": lambda: jax.block_until_ready(jitted(theirs)),
    }
    gradient = rlx.compile(rlx.grad(partial(loss_of, np)), threads=1)
    exact, *others = (
        gradient(v[:-2], *v[-2:])[0].astype(np.float64) for v in ([u.astype(np.float64) for u in arrays], wide, arrays)
    )
    errors = (float(abs(value - exact).max() / abs(exact).max()) for value in others)
    return calls, dict(zip(("f32", "bf16"), errors, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu-time", action="store_true")
    clock = time.process_time if parser.parse_args().cpu_time else time.perf_counter
    # before JAX makes its threads
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    torch.set_num_threads(1)
    programs = [(f"matmul {m}x{k}x{n}", partial(product, m, k, n)) for m, k, n in PRODUCTS]
    for batch, sizes in STEPS:
        programs.append((f"step {batch} of {'x'.join(map(str, sizes))}", partial(step, batch, sizes)))
    columns = ("bf16", "int8", *PEERS)
    print(f"| program | f32, us | {' | '.join(columns)} | error of bf16 | error of f32 |")
    print("| --- " * (len(columns) + 4) + "|")
    for name, make in programs:
        calls, errors = make()
        found = TURNS.times_of(calls, clock)
        ratios = " | ".join(f"{found[key] / found['f32']:.2f}" if key in found else "-" for key in columns)
        print(f"| {name} | {found['f32'] * 1e6:.0f} | {ratios} | {errors['bf16']:.1e} | {errors['f32']:.1e} |")


if __name__ == "__main__":
    main()
