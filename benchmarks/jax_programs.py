"""Programs of JAX by `jax.jit` and, imported by `rlx.from_jax`, by `rlx.compile`: values, and values with gradients.

The programs are the corpus of `tests/peers/jax_programs`, in f32. `--batch N` maps each over N sets of its
floating-point arguments with `jax.vmap`, because the corpus' own sizes are small: there, most of a call is its
overhead. `--workloads` takes the workloads of `workloads.py`, which have the sizes of applications, written in JAX,
and adds the same workload by hand: as a function of the same trees that is written with this package.

Each side gets the arguments that it likes best: arrays of JAX, or of NumPy. Results that are not a number are summed
for the gradient. Calls take turns in one process, in all orders; the number is the least of the turns.

`--threads N` sets the threads of both. `--only WORD` takes the programs that have it in their names. `--kind` takes
`value` or `gradient`. `--cpu-time` counts the time of all threads of this process instead of wall time: on a busy
machine, wall time says little. `--cold` measures the first call instead: tracing, compilation and one run, in this
process, with empty caches. `--json FILE` writes the numbers.
"""

# Functions and trees of any type.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportMissingImports=false

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import cycle, permutations
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
ROW_SECONDS = 0.6
LEAST_TURNS, MOST_TURNS = 6, 60
TURN_SECONDS = 0.004
"""A turn repeats a call until it takes this long, so that the clock's resolution does not matter."""

KINDS = ("value", "gradient")
Clock = Callable[[], float]


@dataclass(frozen=True)
class Case:
    """A function of JAX with its arguments, as NumPy arrays and keys."""

    name: str
    f: Callable[..., Any]
    args: tuple[Any, ...]
    argnums: tuple[int, ...]
    """Arguments that the gradient is by; none if there is no gradient."""
    by_hand: Callable[[int], Callable[[], Any]] | None = None
    """Makes a call of the same gradient of the same trees, written with this package."""


def _setup(threads: int) -> None:
    """Limit this process, before JAX starts: its pool has a thread for each processor that the process may use."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XDSL_RLX_NUM_THREADS"] = str(threads)
    if threads == 1:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false " + os.environ.get("XLA_FLAGS", "")


def corpus(only: str) -> Iterator[Case]:
    """The programs of the corpus that have a word in their name or in their source."""
    sys.path.insert(0, str(ROOT / "tests"))
    from peers import jax_compare, jax_programs
    from peers.jax_programs.program import VALUES, Programs

    for module in iter_modules(jax_programs.__path__):
        found = vars(import_module(f"{jax_programs.__name__}.{module.name}")).values()
        for program in [one for some in found if isinstance(some, Programs) for one in some.all]:
            if _wanted(program.name, only):
                argnums = () if program.compared == VALUES else program.argnums or jax_compare.floats(program.args)
                yield Case(program.name, program.f, program.args, tuple(argnums))


def _wanted(name: str, only: str) -> bool:
    return any(word in name for word in only.split(","))


def batched(case: Case, count: int) -> Case:
    """A case mapped over several sets of its floating-point arguments, which differ a little."""
    import jax
    from peers import jax_compare

    moving = case.argnums or jax_compare.floats(case.args)
    rng = np.random.default_rng(0)

    def several(x: Any) -> Any:
        x = np.asarray(x)
        return (x * (1 + 0.01 * rng.standard_normal((count, *x.shape)))).astype(x.dtype)

    args = tuple(jax.tree.map(several, x) if n in moving else x for n, x in enumerate(case.args))
    axes = tuple(0 if n in moving else None for n in range(len(args)))
    return Case(case.name, jax.vmap(case.f, axes), args, case.argnums) if moving else case


def summed(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose result is the sum of all floating-point results."""
    import jax
    import jax.numpy as jnp

    def total(*args: Any) -> Any:
        leaves = [x for x in jax.tree.leaves(f(*args)) if jnp.issubdtype(x.dtype, jnp.inexact)]
        return sum(jnp.sum(x.real) + (jnp.sum(x.imag) if jnp.iscomplexobj(x) else 0) for x in leaves)

    return total


def of_jax(case: Case, kind: str) -> Callable[[], Any]:
    """A call of a case by `jax.jit`."""
    import jax

    args = jax.tree.map(lambda x: jax.device_put(x) if hasattr(x, "dtype") else x, case.args)
    numbers = _static(args)
    if kind == "value":
        run = jax.jit(case.f, static_argnums=numbers)
    else:
        run = jax.jit(jax.value_and_grad(summed(case.f), case.argnums), static_argnums=numbers)
    return lambda: jax.block_until_ready(run(*args))


def _static(args: tuple[Any, ...]) -> tuple[int, ...]:
    """Arguments that hold what is no array, such as a text or a function."""
    import jax

    plain = (bool, int, float, complex)
    return tuple(
        n for n, x in enumerate(args) if not all(hasattr(y, "dtype") or type(y) in plain for y in jax.tree.leaves(x))
    )


def ours(case: Case, kind: str, threads: int) -> Callable[[], Any]:
    """A call of a case as it is imported and compiled here."""
    import jax

    import xdsl_rlx as rlx
    from xdsl_rlx.frontends.jaxpr.types import is_key

    args = jax.tree.map(lambda x: np.array(x, order="C") if hasattr(x, "dtype") and not is_key(x) else x, case.args)
    if kind == "value":
        f = rlx.from_jax(case.f, *args)
    else:
        f = rlx.value_and_grad(rlx.from_jax(summed(case.f), *args), case.argnums)
    run = rlx.compile(f, threads=threads)
    return lambda: run(*args)


def workloads(only: str) -> Iterator[Case]:
    """The workloads of `workloads.py` whose step is a gradient."""
    from ops import JaxOps, RlxOps
    from workload import Step
    from workloads import WORKLOADS

    for name, work in WORKLOADS.items():
        if work.step is Step.GRADIENT and _wanted(name, only):
            data = work.data()
            params, rest = ({n: x for n, x in data.items() if (n in work.wrt) == own} for own in (True, False))

            def f(params: Any, rest: Any, work: Any = work) -> Any:
                return work.loss(JaxOps(), {**params, **rest})

            def by_hand(threads: int, work: Any = work, params: Any = params, rest: Any = rest) -> Callable[[], Any]:
                import xdsl_rlx as rlx

                def loss(params: Any, rest: Any) -> Any:
                    graph = next(iter(params.values())).b
                    return work.loss(RlxOps(graph), {**params, **rest})

                run = rlx.compile(rlx.value_and_grad(loss), threads=threads)
                return lambda: run(params, rest)

            yield Case(name, f, (params, rest), (0,), by_hand)


def calls(case: Case, kind: str, threads: int) -> dict[str, Callable[[], Any]]:
    """The calls to time, by the name of the side."""
    found = {"jax": of_jax(case, kind), "ours": ours(case, kind, threads)}
    if case.by_hand is not None and kind == "gradient":
        found["by hand"] = case.by_hand(threads)
    return found


def timed(sides: dict[str, Callable[[], Any]], clock: Clock) -> dict[str, float]:
    """The least seconds of a call of each side, by turns."""
    counts: dict[str, int] = {}
    for name, call in sides.items():
        call()
        start = clock()
        call()
        call()
        counts[name] = max(1, round(TURN_SECONDS / max((clock() - start) / 2, 1e-7)))
    best = dict.fromkeys(sides, math.inf)
    begin = time.perf_counter()
    gc.disable()
    # a side finds in the caches what the one before it left there, so the order changes
    for turn, names in zip(range(MOST_TURNS), cycle(permutations(sides))):
        if turn >= LEAST_TURNS and time.perf_counter() - begin > ROW_SECONDS * len(sides):
            break
        for name in names:
            start = clock()
            for _ in range(counts[name]):
                sides[name]()
            best[name] = min(best[name], (clock() - start) / counts[name])
    gc.enable()
    return best


def first(case: Case, kind: str, threads: int, clock: Clock) -> dict[str, float]:
    """The seconds of the first call of each side, which traces, compiles and runs, with empty caches."""
    import jax

    found: dict[str, float] = {}
    for name, make in {"jax": of_jax, "ours": lambda case, kind: ours(case, kind, threads)}.items():
        jax.clear_caches()
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDSL_RLX_CACHE_DIR"] = folder
            start = clock()
            make(case, kind)()
            found[name] = clock() - start
    return found


def measured(case: Case, kind: str, options: Any) -> dict[str, Any] | None:
    """A line of the table; None if the program has none of this kind."""
    clock = time.process_time if options.cpu_time else time.perf_counter
    if kind == "gradient" and not case.argnums:
        return None
    try:
        if options.cold:
            seconds = first(case, kind, options.threads, clock)
        else:
            seconds = timed(calls(case, kind, options.threads), clock)
    except Exception as error:
        return {"name": case.name, "kind": kind, "error": f"{type(error).__name__}: {error}"[:300]}
    ratios = {side: seconds[side] / seconds["jax"] for side in seconds if side != "jax"}
    return {"name": case.name, "kind": kind, "ratios": ratios, **seconds}


def _show(line: dict[str, Any], unit: float) -> None:
    if "error" in line:
        print(f"{line['name']:36} {line['kind']:8}   {line['error']}", flush=True)
        return
    ratios = " ".join(f"{ratio:6.2f}" for ratio in line["ratios"].values())
    sides = "  ".join(f"{side} {line[side] * unit:10.2f}" for side in ("jax", *line["ratios"]))
    print(f"{line['name']:36} {line['kind']:8} {ratios}   {sides}", flush=True)


def _summary(lines: list[dict[str, Any]], cold: bool) -> None:
    for kind in KINDS:
        mine = [line for line in lines if line["kind"] == kind and "ratios" in line]
        if not mine:
            continue
        ratios = sorted((line["ratios"]["ours"], line["name"]) for line in mine)
        mean = math.exp(sum(math.log(ratio) for ratio, _ in ratios) / len(ratios))
        over = sum(ratio > 1.1 for ratio, _ in ratios)
        print(
            f"{kind}: {len(mine)} programs, geometric mean {mean:.2f} of jax.jit, most {ratios[-1]}, {over} above 1.1"
        )
        if cold:
            sums = [sum(line[side] for line in mine) for side in ("ours", "jax")]
            print(f"  seconds a program on the mean: ours {sums[0] / len(mine):.3f}, jax {sums[1] / len(mine):.3f}")
        hand = [line["ours"] / line["by hand"] for line in mine if "by hand" in line]
        if hand:
            mean = math.exp(sum(map(math.log, hand)) / len(hand))
            print(f"  of the same by hand: geometric mean {mean:.2f}, most {max(hand):.2f}")
    for line in lines:
        if "error" in line:
            print(f"not measured: {line['name']}, {line['kind']}")


def main() -> None:
    """Print a row for each program and kind, and the geometric means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--workloads", action="store_true")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    _setup(options.threads)
    cases = workloads(options.only) if options.workloads else corpus(options.only)
    if options.cold:
        _warm(options.threads)
    lines: list[dict[str, Any]] = []
    for case in cases:
        if options.batch:
            case = batched(case, options.batch)
        for kind in (options.kind,) if options.kind else KINDS:
            line = measured(case, kind, options)
            if line is not None:
                lines.append(line)
                _show(line, 1e3 if options.cold else 1e6)
    _summary(lines, options.cold)
    if options.json:
        options.json.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _warm(threads: int) -> None:
    """Import on both sides what the first compilation imports."""
    import jax.numpy as jnp

    case = Case("warm", lambda x: jnp.tanh(x @ x).sum(), (np.ones((3, 3), np.float32),), (0,))
    for kind in KINDS:
        of_jax(case, kind)()
        ours(case, kind, threads)()


if __name__ == "__main__":
    main()
