"""The workloads of `run.py` by this checkout and by another one, in turn: is any of them slower than before?

`--old DIR` is the other checkout, such as one that `git worktree add DIR TAG` makes. Times are of one step, the least
of all rounds, and seconds up to the first step with an empty cache. A last column compares the temporary memory.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean

from run import HERE, Contestant, check_agreement
from workloads import WORKLOADS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", type=Path, required=True)
    parser.add_argument("--only", default=",".join(WORKLOADS), help="workloads, such as a,b")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3, help="per checkout and round")
    options = parser.parse_args()
    print("| workload | step, old | new | ratio | first step, old | new | ratio | memory |")
    print("| --- " * 8 + "|")
    steps, firsts = list[float](), list[float]()
    for key in options.only.split(","):
        old, new = compared(key, options)
        steps.append(new[0] / old[0])
        firsts.append(new[1] / old[1])
        cells = [f"{1000 * old[0]:.3f} ms", f"{1000 * new[0]:.3f} ms", f"{steps[-1]:.2f}"]
        cells += [f"{old[1]:.2f} s", f"{new[1]:.2f} s", f"{firsts[-1]:.2f}"]
        memory = f"{new[2] / old[2]:.2f}" if old[2] else "-"
        print(f"| {key} | " + " | ".join(cells) + f" | {memory} |", flush=True)
    print(f"| mean | - | - | {geometric_mean(steps):.2f} | - | - | {geometric_mean(firsts):.2f} | - |")


def compared(key: str, options: argparse.Namespace) -> Iterator[tuple[float, float, float]]:
    """The seconds of a step and up to the first one, and the bytes of memory, of the old checkout and of this one."""
    with tempfile.TemporaryDirectory() as folder:
        contestants = list[Contestant]()
        try:
            for number, checkout in enumerate((options.old.resolve(), HERE.parent)):
                os.environ["PYTHONPATH"] = str(checkout / "src")
                contestants.append(Contestant.launch("ours", options.threads, key, Path(folder) / str(number)))
            check_agreement(contestants)
            for _ in range(options.rounds):
                for contestant in contestants:
                    contestant.rounds.append(contestant.ask(do="measure", seconds=options.seconds))
            for contestant in contestants:
                contestant.facts = contestant.ask(do="facts")
        finally:
            for contestant in contestants:
                contestant.close()
    return ((min(one["min"] for one in c.rounds), c.start["ready"], c.facts["arena"]) for c in contestants)


if __name__ == "__main__":
    main()
