"""Generated programs by this package, JAX, PyTorch and NumPy: a wide suite, so that speed does not fit single programs.

Families of cases cover ops, shapes (powers of two, odd, prime, tall, wide, tiny, larger than the cache), axes, layouts
and element types, as values and gradients of a weighted sum. The values of all libraries are compared first. Then calls
take turns in one process; the number is the least of the turns. First calls are counted in CPU
time, of an empty cache; run `python -m xdsl_rlx.build_library` before. PyTorch runs eagerly: `torch.compile` takes some
10 seconds a case.

`--threads N` sets the threads of all. `--sample K` takes every K-th case, `--only WORD` those whose family or name has
the word. `--cpu-time` counts the time of all threads of this process: on a busy machine, wall time says little.
`--json FILE` writes the numbers; `--table FILE...` prints the table of written numbers, of the second file beside those
of the first.
"""

# Functions of three libraries, of arrays of any of them.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import tempfile
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first case of a sample")
    parser.add_argument("--only", default="")
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--cold", action="store_true", help="first calls only")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--table", type=Path, nargs="+")
    parser.add_argument("--without", default="", help="a library that is no peer in the table")
    options = parser.parse_args()
    if options.table:
        for line in table(*(read(path, options.without) for path in options.table)):
            print(line)
        return
    lines: list[dict[str, Any]] = []
    for line in measure(options):
        lines.append(line)
        if options.json:
            options.json.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for line in table(lines):
        print(line)


def measure(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the times of the cases asked for, and print them."""
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    # NumPy's idle threads keep cores busy for 2^28 cycles after a call, in the turns of all others
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "18")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-options.threads :])
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDSL_RLX_CACHE_DIR"] = cache
        from breadth_arrays import elementwise, indices, layouts, products, reductions, sorting
        from breadth_case import torch
        from breadth_layers import attention, convolutions, graphs, norms_and_losses, recurrences
        from breadth_numerics import draws, linear_algebra, optimisers, special_functions, statistics, transforms
        from breadth_programs import images, layers_of_models, searches, signals, simulations
        from breadth_run import times_of
        from breadth_transformed import transformed

        if torch:
            torch.set_num_threads(options.threads)
        families = [elementwise, reductions, layouts, indices, sorting, products, convolutions, attention]
        families += [norms_and_losses, recurrences, graphs, transforms, linear_algebra, special_functions, optimisers]
        families += [draws, statistics, transformed]
        families += [layers_of_models, searches, signals, simulations, images]
        clock = time.process_time if options.cpu_time else time.perf_counter
        cases = chain.from_iterable(family() for family in families)
        wanted = (case for case in cases if options.only in f"{case.family}: {case.name}")
        for number, case in enumerate(wanted):
            if number % options.sample != options.first:
                continue
            line = times_of(case, options.threads, clock, first_only=options.cold)
            print(shown(line), flush=True)
            yield line
            gc.collect()


def shown(line: dict[str, Any]) -> str:
    """Return a case as a line of text; times in microseconds."""
    times = "  ".join(f"{name} {value * 1e6:.1f}" for name, value in line["times"].items())
    wrong = f"  DIFFERS {line['differs']}" if line.get("differs") else ""
    return f"{line['ratio']:6.2f} {line['cold_ratio']:6.2f}  {line['family']}: {line['name']:42} {times}{wrong}"


def read(path: Path, without: str = "") -> list[dict[str, Any]]:
    """Return the lines that `--json` wrote, with ratios to the best peer but for one library."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        peers = [seconds for name, seconds in line["times"].items() if name not in ("ours", without)]
        line["ratio"] = line["times"].get("ours", math.nan) / min(peers, default=math.nan)
    return lines


def table(*runs: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the rows of a table: families, with the ratio to the best peer and the ratio of cold calls to JAX."""
    heads = ["mean ratio", "above 1.0", "worst", "worst case", "cold"]
    yield "| family | cases | " + " | ".join(heads * len(runs)) + " |"
    yield "| --- " * (2 + len(heads) * len(runs)) + "|"
    for family in [*dict.fromkeys(line["family"] for line in runs[0]), "all"]:
        cells = [family, ""]
        for run in runs:
            lines = [x for x in run if family in (x["family"], "all")]
            ratios = {x["name"]: x["ratio"] for x in lines if math.isfinite(x["ratio"])}
            cold = [x["cold_ratio"] for x in lines if math.isfinite(x["cold_ratio"])]
            worst = max(ratios, key=lambda name: ratios[name], default="-")
            cells[1] = str(len(lines))
            above = sum(ratio > 1 for ratio in ratios.values())
            cells += [mean(list(ratios.values())), str(above), f"{ratios.get(worst, math.nan):.2f}", worst, mean(cold)]
        yield "| " + " | ".join(cells) + " |"


def mean(numbers: list[float]) -> str:
    """Return the geometric mean as text."""
    return f"{math.exp(sum(map(math.log, numbers)) / len(numbers)):.2f}" if numbers else "-"


if __name__ == "__main__":
    main()
