"""Measure the costs that depend on the processor, and write a table of them for `XDSL_RLX_COSTS`.

`python benchmarks/tune.py --write znver4.toml`; `--only panel_depth,parallel_ops` takes some fields. With
`XDSL_RLX_CPU=x86-64-v3` the table is that of the level. Printed are the bandwidth of copies by their size, beside the
caches of the model; the time of a launch; and for each field the time of its programs with each value, relative to the
value of the model: the mean, and in brackets the worst. Another value is taken if it takes 3% less as a mean, and 3%
more in no program, in each of two runs. Programs of one thread are timed by their CPU time, so that a busy machine does
not matter; those of two threads need two idle cores.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import geometric_mean as mean
from typing import Any

import numpy as np
from turns import Turns

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.machine import model
from xdsl_rlx.lowering.target import COMMON

TURNS = Turns(each=0.001, together=3, least=8, most=1000)
"""Short turns: on a busy machine, long ones are interrupted."""
LAUNCHES = 100
GAIN = 0.03
"""The share of the time that another value must save, and that it may cost in one program."""

Costs = dict[str, float]
Program = tuple[str, Callable[..., Any], tuple[Any, ...], int]
"""A name, a function, its arguments and the number of threads."""


@dataclass(frozen=True)
class Sweep:
    """Values of a field; `coupled` fields keep their ratio to it."""

    field: str
    values: tuple[float, ...]
    programs: Callable[[], list[Program]]
    coupled: tuple[str, ...] = ()

    def costs(self, value: float) -> Costs:
        """Return the fields of a value."""
        ratio = value / getattr(COMMON, self.field)
        rest = {name: type(getattr(COMMON, name))(getattr(COMMON, name) * ratio) for name in self.coupled}
        return {self.field: value, **rest}


def normal(*shape: int) -> np.ndarray[Any, Any]:
    """Return f32 numbers."""
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def steps(*batches: int) -> list[Program]:
    """
    Return gradients of perceptrons, whose weights do not stay in L2 from layer to layer.

    Single matmuls that are repeated read their operands from caches as no program does: they favour other tiles.
    """

    def loss(weights: Any, x: Any) -> Any:
        for w in weights[:-1]:
            x = np.maximum(x @ w, 0)
        y = x @ weights[-1]
        return (y * y).mean()

    found = list[Program]()
    for sizes in ((784, 512, 512, 10), (512, 1024, 384)):
        weights = [normal(n, m) / 32 for n, m in pairwise(sizes)]
        found += [(f"step of {n} by {sizes}", rlx.grad(loss), (weights, normal(n, sizes[0])), 1) for n in batches]
    return found


def matmuls() -> list[Program]:
    """Return steps of many rows, and matmuls of which an operand is transposed."""

    def left(a: Any, b: Any) -> Any:
        return a.T @ b

    def right(a: Any, b: Any) -> Any:
        return a @ b.T

    across = ("128x784x512 tn", left, (normal(784, 128), normal(784, 512)), 1)
    transposed = ("128x784x512 nt", right, (normal(128, 784), normal(512, 784)), 1)
    return [*steps(128, 512), across, transposed]


def few_rows() -> list[Program]:
    """Return steps of few rows, and a recurrence."""

    def recurrence(x: Any, w: Any) -> Any:
        return rlx.scan(lambda h, row: (np.tanh(h @ w + row),) * 2, x[0], x)[0]

    return [*steps(8, 32, 64), ("rnn of 32x128", recurrence, (normal(64, 32, 128), normal(128, 128) / 16), 1)]


def large_matmuls() -> list[Program]:
    """Return steps of more rows than tiles beat the library for."""
    return steps(600, 1500)


def broadcasts() -> list[Program]:
    """Return functions of a row or column that is broadcast over a matrix."""

    def of_columns(x: Any, m: Any) -> Any:
        return np.log(x) * m

    def of_rows(x: Any, m: Any) -> Any:
        return np.log(x)[:, None] * m

    sizes = (16, 32, 64, 128, 256)
    columns = [(f"log of columns by {n}x{n}", of_columns, (abs(normal(n)), normal(n, n)), 1) for n in sizes]
    return [*columns, *((f"log of rows by {n}x64", of_rows, (abs(normal(n)), normal(n, 64)), 1) for n in sizes)]


def small_launches() -> list[Program]:
    """Return elementwise ops and reductions on two threads, of sizes at which chunks begin to pay."""

    def chain(x: Any) -> Any:
        return np.tanh(x) * x + 1

    def softmax(x: Any) -> Any:
        y = np.exp(x - x.max(-1, keepdims=True))
        return y / y.sum(-1, keepdims=True)

    sizes = (1000, 2000, 4000, 8000, 16000, 32000)
    chains = [(f"chain of {n}", chain, (normal(n),), 2) for n in sizes]
    return [*chains, *((f"softmax of {n}x64", softmax, (normal(n, 64),), 2) for n in (16, 32, 64, 128))]


def large_launches() -> list[Program]:
    """Return elementwise ops on two threads, larger than caches."""

    def chain(x: Any) -> Any:
        return np.tanh(x) * x + 1

    return [(f"chain of {n}", chain, (normal(n),), 2) for n in (100_000, 1_000_000, 4_000_000)]


SWEEPS = (
    Sweep("min_copied_panel_rows", (24, 48, 96, 192, 384), few_rows),
    Sweep("panel_depth", (128, 192, 256, 384, 512), matmuls, ("packed_panel_depth", "max_uncut_depth")),
    Sweep("near_panel_depth", (96, 128, 160, 192, 256), matmuls),
    Sweep("max_tile_rows", (6, 8, 10, 12, 14), matmuls),
    Sweep("max_tile_vectors", (2, 3, 4, 8), matmuls),
    Sweep("l2_line_multiplications", (2, 3, 5, 8), matmuls),
    Sweep("multiplications_in_flight", (4, 6, 8, 10, 12), few_rows),
    Sweep("load_multiplications", (0.125, 0.25, 0.5), matmuls),
    Sweep("l2_share", (0.125, 0.25, 0.5), matmuls),
    Sweep("lhs_l2_share", (0.25, 0.5, 1.0), large_matmuls),
    Sweep("max_tiled_rows", (8, 16, 32, 64), few_rows),
    Sweep("max_wide_rows", (256, 512, 1024, 4096), large_matmuls),
    Sweep("min_packed_multiplications", (30_000, 200_000, 1_000_000, 4_000_000), few_rows),
    Sweep("launch_additions", (500, 2_000, 8_000, 24_000, 48_000, 96_000), broadcasts),
    Sweep("launch_scalar_additions", (250, 1_000, 4_000, 16_000), broadcasts),
    Sweep("scalar_slowdown", (16, 32, 64, 128, 256), broadcasts),
    Sweep("parallel_ops", (5_000, 10_000, 20_000, 40_000, 80_000), small_launches),
    Sweep("chunks_per_thread", (1, 2, 4, 8), large_launches),
)


def compiled(function: Callable[..., Any], threads: int, costs: Costs) -> Callable[..., Any]:
    """Return a function that is compiled at its first call, with these costs."""
    call, ready = rlx.compile(function, threads=threads), list[bool]()

    def run(*arrays: Any) -> Any:
        if ready:
            return call(*arrays)
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(toml(costs))
            file.flush()
            os.environ[model.VARIABLE] = file.name
            try:
                return call(*arrays)
            finally:
                del os.environ[model.VARIABLE]
                ready.append(True)

    return run


def toml(costs: Costs) -> str:
    """Return the text of a table."""
    return "".join(f"{name} = {value}\n" for name, value in costs.items())


def ratios(sweep: Sweep, known: Costs) -> dict[float, list[float]]:
    """Return the times of the programs with each value, relative to those with the value of the model."""
    usual = getattr(model.cost_model(), sweep.field)
    found: dict[float, list[float]] = {value: [] for value in (*sweep.values, usual)}
    for _, function, arrays, threads in sweep.programs():
        calls = {
            str(value): partial(compiled(function, threads, known | sweep.costs(value)), *arrays) for value in found
        }
        times = TURNS.times_of(calls, time.process_time if threads == 1 else time.perf_counter)
        for value, of_programs in found.items():
            of_programs.append(times[str(value)] / times[str(usual)])
    return found


def saves(numbers: list[float]) -> bool:
    """Return whether programs take less time by `GAIN` on the whole, and none takes more by as much."""
    return mean(numbers) <= 1 - GAIN and max(numbers) <= 1 + GAIN


def best_of(sweep: Sweep, known: Costs) -> Costs:
    """Print the mean ratio and the worst one of each value, and return another value that is faster in two runs."""
    first = ratios(sweep, known)
    shown = "  ".join(f"{value:g}: {mean(numbers):.3f} ({max(numbers):.2f})" for value, numbers in first.items())
    print(f"{sweep.field}: {shown}", flush=True)
    best = min((value for value in first if saves(first[value])), key=lambda value: mean(first[value]), default=None)
    if best is None:
        return {}
    second = ratios(sweep, known)[best]
    print(f"  again {best:g}: {mean(second):.3f} ({max(second):.2f})", flush=True)
    return sweep.costs(best) if saves(second) else {}


def bandwidths() -> Iterator[str]:
    """Yield the bandwidth of a copy by the bytes that it reads and writes, beside the caches of the model."""
    found = model.cost_model()
    yield f"L1 {found.l1_bytes >> 10} KiB, L2 {found.l2_bytes >> 10} KiB"
    double = rlx.compile(lambda x: x + x, threads=1)
    call = TURNS.times_of({"": partial(double, normal(1))}, time.process_time)[""]
    for size in (24 << 10, 128 << 10, 512 << 10, 1536 << 10, 8 << 20, 64 << 20):
        x = normal(size // 8)
        seconds = TURNS.times_of({"": partial(double, x)}, time.process_time)[""]
        yield f"  {size >> 10:6} KiB: {size / (seconds - call) / 1e9:6.1f} GB/s"


def launches() -> str:
    """Return the time of a launch, in a program of one thread and of two."""

    def sorts(count: int) -> Callable[[Any], Any]:
        # a sort is a kernel of its own, and of two elements it takes no time
        def function(x: Any) -> Any:
            for _ in range(count):
                x = np.sort(x, -1) + 1
            return x

        return function

    x, found = normal(1, 2), list[str]()
    for threads in (1, 2):
        calls = {str(count): partial(rlx.compile(sorts(count), threads=threads), x) for count in (1, 1 + LAUNCHES)}
        few, many = TURNS.times_of(calls, time.process_time if threads == 1 else time.perf_counter).values()
        # a sort and a sum
        found.append(f"{(many - few) / (2 * LAUNCHES) * 1e9:.0f} ns")
    return f"a launch takes {found[0]}, of two threads {found[1]}"


def main() -> None:
    """Print what is measured, and write the fields that differ from the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="fields, with commas between")
    parser.add_argument("--write", type=Path, help="the table")
    options = parser.parse_args()
    wanted = [name for name in options.only.split(",") if name]
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDSL_RLX_CACHE_DIR"] = cache
        if not wanted:
            print(*bandwidths(), launches(), sep="\n", flush=True)
        found: Costs = {}
        for sweep in SWEEPS:
            if not wanted or sweep.field in wanted:
                found |= best_of(sweep, found)
    print(toml(found) or "no other value is faster")
    if options.write:
        options.write.write_text(f"# measured by benchmarks/tune.py\n{toml(found)}")


if __name__ == "__main__":
    main()
