"""Cold compile times beside `jax.jit`'s, by turns: a process each, alone on the machine, with an empty cache.

The times of benchmarks/run.py are of one process; these are of several, so that a slow moment falls on both sides.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from run import Contestant
from workloads import WORKLOADS

KINDS = ("ours", "jax")


def cold(kind: str, threads: int, workload: str) -> float:
    """Seconds to build, compile and take a first step, imports apart."""
    with tempfile.TemporaryDirectory() as folder:
        contestant = Contestant.launch(kind, threads, workload, Path(folder))
        contestant.close()
    return contestant.start["ready"]


def main() -> None:
    """Print a row for each workload: least and median of both sides, and the ratios of these."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(WORKLOADS), help="workloads, such as a,b")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    print("| workload | ours: least | median | JAX: least | median | least/least | median/median |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for workload in options.only.split(","):
        times = {kind: list[float]() for kind in KINDS}
        for _ in range(options.rounds):
            for kind in KINDS:
                times[kind].append(cold(kind, options.threads, workload))
        (least, middle), (peer_least, peer_middle) = (
            (min(times[kind]), statistics.median(times[kind])) for kind in KINDS
        )
        cells = [least, middle, peer_least, peer_middle, least / peer_least, middle / peer_middle]
        print(" | ".join([f"| {workload}", *(f"{cell:.2f}" for cell in cells)]) + " |", flush=True)


if __name__ == "__main__":
    main()
