"""The operations and bytes that a profile counts, beside those that XLA's cost analysis counts for the same program.

The programs are the largest of `breadth.py` in which products dominate: both sides must execute the same number of
operations there. Bytes are compared with what the arguments and results hold, which a program moves at least. The last
columns are the time of a step and its share of the measured roof. `--only WORD` takes the programs whose family or name
has the word.
"""

# Functions of two libraries, of arrays of any of them.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from itertools import chain
from typing import Any

LEAST_FLOPS = 3e7
"""FLOPs of the smallest program that is shown."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-options.threads :])
    print("| program | FLOPs | by XLA's | bytes | by those of arrays | time | of roof |")
    print("| --- " * 7 + "|")
    for row in rows(options.only, options.threads):
        print("| " + " | ".join(row) + " |", flush=True)


def rows(only: str, threads: int) -> Iterator[tuple[str, ...]]:
    """Yield the cells of a row per program."""
    from breadth_arrays import products
    from breadth_layers import attention, convolutions, graphs, norms_and_losses

    families = (products, convolutions, attention, norms_and_losses, graphs)
    for case in chain.from_iterable(family() for family in families):
        if case.jax is not None and only in f"{case.family}: {case.name}" and (row := row_of(case, threads)):
            yield row


def row_of(case: Any, threads: int) -> tuple[str, ...] | None:
    """Return the row of a program; None if it is small, or if operations other than products dominate it."""
    import jax
    import jax.numpy as jnp
    from breadth_run import loss_of

    import xdsl_rlx as rlx

    theirs = jax.jit(jax.grad(loss_of(case.jax), argnums=case.wrt) if case.wrt else case.jax)
    compiled = theirs.lower(*(jnp.asarray(x) for x in case.arrays)).compile()
    flops = float((compiled.cost_analysis() or {})["flops"])
    if flops < LEAST_FLOPS:
        return None
    ours = rlx.compile(rlx.grad(loss_of(case.ours), argnums=case.wrt) if case.wrt else case.ours, threads=threads)
    profile = ours.profile(*case.arrays, runs=5)
    results = ours(*case.arrays)
    held = sum(x.nbytes for x in (*case.arrays, *(results if isinstance(results, tuple) else (results,))))
    work, roof = profile.work, profile.roof
    if work is None or roof is None:
        return None
    mark = ">= " if work.unknown else ""
    name = f"{case.family}: {case.name}"
    counts = (f"{work.flops / 1e6:.1f} M", f"{work.flops / flops:.2f}")
    moved = (f"{work.moved / 1e6:.2f} M", f"{work.moved / held:.2f}")
    share = f"{100 * roof.seconds(work) / profile.step:.0f} %"
    return (name, mark + counts[0], counts[1], mark + moved[0], moved[1], f"{profile.step * 1e6:.0f} us", share)


if __name__ == "__main__":
    main()
