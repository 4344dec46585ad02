"""Planned lir texts with a few numbers or operands exchanged, and a process that runs what of them still verifies.

What is claimed about that is in test_lir_texts.py. As a script, with `tests` on the path: `lir_texts.py FIRST STOP`
runs the seeds from FIRST up to STOP and prints a line for each before and after it.
"""

from __future__ import annotations

import re
import resource
import signal
import sys
from functools import cache
from typing import Any

import numpy as np
from branch_texts import chosen_by_turns, counted_in_turn
from cost_models import costs
from loop_texts import double_buffered, nested, stacked
from xdsl.utils.exceptions import PassFailedException, VerifyException

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.driver.dtypes import dtype_of
from xdsl_rlx.lowering.backend.driver.manifest import TensorSpec

Array = np.ndarray[Any, Any]

SECONDS = 2.0
"""Processor time of one run: a loop may have become endless."""
LARGEST = 1 << 24
"""Bytes of the arguments and results of a program that is run."""
GUARD = 4096
TOKEN = re.compile(r'"[^"]*"|\s+|[%@!#]?[\w.$-]+|.', re.DOTALL)
NUMBERS = (0, 1, 2, 3, 7, 8, 63, 64, 1000, 1 << 20, 1_000_000_007, -1, 1 << 40, (1 << 62) + 1)


def _indexing(g: rlx.Graph) -> list[Any]:
    table, at = g.param("table", (7, 3)), g.input("at", (5,), dtype="i32")
    rows = g.gather(table, at, axis=0)
    return [rows, g.scatter_add(rows, at, 7, axis=0), g.topk(g.reshape(rows, (3, 5)), 2)[0]]


def _products(g: rlx.Graph) -> list[Any]:
    x, w = g.input("x", (6, 5)), g.param("w", (5, 4))
    y = g.softmax(g.tanh(x @ w), -1)
    return [g.reduce_sum(y, axes=[0]), g.concat([y, x], 1)]


def _solve(g: rlx.Graph) -> list[Any]:
    return [g.batched_dense_solve(g.input("a", (2, 4, 4)), g.input("b", (2, 4, 3)))]


def _factors(g: rlx.Graph) -> list[Any]:
    """By LAPACK, with workspaces."""
    return [*g.eigh(g.input("a", (2, 9, 9))), *g.svd(g.input("b", (27, 25), "f64")), *g.qr(g.input("c", (51, 49)))]


def _windows(g: rlx.Graph) -> list[Any]:
    x, w = g.input("x", (1, 2, 6, 5)), g.param("w", (3, 2, 3, 3))
    y = g.conv(x, w, padding=1)
    return [g.maxpool2d_take(y, y, (2, 2)), g.cumsum(g.reshape(y, (3, 30)), 1)]


def _attention(g: rlx.Graph) -> list[Any]:
    q, k, v = (g.input(name, (1, 2, 4, 3)) for name in "qkv")
    return [g.attention(q, k, v, mask_kind="causal", layout="bhsd")]


MADE = (_indexing, _products, _solve, _factors, _windows, _attention)


@cache
def texts() -> tuple[str, ...]:
    """Planned programs in several pieces each, as text."""
    found: list[str] = []
    with costs(parallel_ops=1):
        for make in MADE:
            graph = rlx.Graph(make.__name__.strip("_"))
            graph.set_outputs(make(graph))
            found.append(str(rlx.lower(graph, threads=2)))
    loops = (nested(3, 4), stacked(5, reverse=True), double_buffered(6), chosen_by_turns(4), counted_in_turn(2, 2))
    found += [str(rlx.lower(rlx.parse(text), threads=2)) for text in loops]
    return tuple(found)


def changed(seed: int) -> str:
    """The text of a seed: one to three numbers or operands are others, or two lines have changed places."""
    rng = np.random.default_rng(seed)
    lines = texts()[seed % len(texts())].splitlines()
    for _ in range(int(rng.integers(1, 4))):
        kind = int(rng.integers(6))
        wanted = {0: "arith.constant", 1: "arith.constant", 2: "lir.", 3: "memref."}.get(kind, "")
        fitting = [n for n, line in enumerate(lines) if wanted in line and line.strip()]
        at = fitting[int(rng.integers(len(fitting)))]
        tokens = TOKEN.findall(lines[at])
        names = [n for n, token in enumerate(tokens) if token.startswith("%")]
        numbers = [n for n, token in enumerate(tokens) if re.fullmatch(r"-?\d+", token)]
        if kind == 5:
            other = min(at + 1, len(lines) - 1)
            lines[at], lines[other] = lines[other], lines[at]
            continue
        if numbers and (kind < 3 or rng.random() < 0.3):
            which = numbers[int(rng.integers(len(numbers)))]
            near = int(tokens[which]) + int(rng.integers(-2, 3))
            tokens[which] = str(near if rng.random() < 0.5 else NUMBERS[int(rng.integers(len(NUMBERS)))])
        elif len(names) > 1:
            one, two = (names[int(n)] for n in rng.integers(len(names), size=2))
            tokens[one] = tokens[two]
            if rng.random() < 0.5:
                start = max((n for n in range(at) if "lir.kernel" in lines[n]), default=0)
                seen = sorted({t for line in lines[start:at] for t in TOKEN.findall(line) if t.startswith("%")})
                tokens[one] = seen[int(rng.integers(len(seen)))] if seen else tokens[one]
        lines[at] = "".join(tokens)
    return "\n".join(lines)


class Guarded:
    """An array of a caller between bytes that nobody may change."""

    def __init__(self, spec: TensorSpec, rng: np.random.Generator) -> None:
        dtype = np.dtype(dtype_of(spec.dtype))
        self.memory = np.full(spec.nbytes + 2 * GUARD, 0xA5, np.uint8)
        self.array = self.memory[GUARD : GUARD + spec.nbytes].view(dtype).reshape(spec.shape)
        integral = dtype.kind in "iub"
        values = rng.integers(0, 2 if dtype.kind == "b" else 5, spec.shape) if integral else rng.random(spec.shape)
        self.array[...] = values.astype(dtype)
        self.before = self.memory.copy()

    def is_whole(self, may_change: bool) -> bool:
        same = self.memory == self.before
        return bool((same if not may_change else np.r_[same[:GUARD], same[-GUARD:]]).all())


def run(seed: int) -> str:
    """Compile and run the text of a seed, and say what became of it."""
    try:
        compiled = rlx.compile(rlx.parse(changed(seed)), threads=2)
    except (rlx.RlxError, VerifyException, PassFailedException) as error:
        return f"refused: {str(error).splitlines()[-1][:100]}"
    program = compiled.program
    if sum(spec.nbytes for spec in (*program.arguments, *program.outputs)) > LARGEST:
        return "large"
    rng = np.random.default_rng(seed)
    arguments = [Guarded(spec, rng) for spec in program.arguments]
    results = [Guarded(spec, rng) for spec in program.outputs]
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        compiled(*(a.array for a in arguments), out=tuple(r.array for r in results))
        outcome = "ran"
    except rlx.OutOfBoundsError as error:
        outcome = f"checked: {error}"
    signal.setitimer(signal.ITIMER_PROF, 0)
    if not all(a.is_whole(False) for a in arguments) or not all(r.is_whole(True) for r in results):
        return "wrote elsewhere"
    return outcome


def main(first: int, stop: int) -> None:
    """Run the seeds; a run without end is ended by SIGPROF."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    for seed in range(first, stop):
        print(f"{seed} begins", flush=True)
        try:
            outcome = run(seed)
        except MemoryError:
            outcome = "no memory"
        print(f"{seed} {outcome}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
