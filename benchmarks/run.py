"""The benchmark: loss and all gradients per step, ours beside JAX, eager PyTorch and torch.compile, in tables.

Every contestant is a process of its own (worker.py) per thread count; all of a workload's contestants stay alive
together and are measured in turn, round after round, so that whatever else the machine does falls on all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tables import PEERS, STATISTICS, compile_times, memory, step_times
from transformer_workloads import LARGE
from workloads import WORKLOADS

HERE = Path(__file__).resolve().parent
ALL = WORKLOADS | LARGE
OURS = ("ours", "ours-numba")
"""The two backends, which run on the largest number of threads only."""
TOLERANCE = 1e-4
TABLES = {
    "Step time (ms), least / median; numba/ours: with the backend numba over that with llvm": step_times,
    "Compile time (s) up to the first step, with empty caches and with a full one": compile_times,
    "Memory (MB): peak of the process, temporary buffers": memory,
}
"""docs/benchmarks.md explains the columns."""


class Failed(RuntimeError):
    """A worker ended before it answered."""


@dataclass
class Contestant:
    """A worker process and what it has told so far."""

    kind: str
    threads: int
    process: subprocess.Popen[str]
    start: dict[str, float] = field(default_factory=dict[str, float])
    rounds: list[dict[str, float]] = field(default_factory=list[dict[str, float]])
    facts: dict[str, float] = field(default_factory=dict[str, float])

    @classmethod
    def launch(cls, kind: str, threads: int, workload: str, cache: Path) -> Contestant:
        """Start a worker whose compile caches are in `cache` and wait until its first step is done."""
        env = os.environ | {
            "TORCHINDUCTOR_CACHE_DIR": str(cache / f"inductor-{threads}"),
            "XDSL_RLX_CACHE_DIR": str(cache / "rlx"),
            "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
        }
        command = [sys.executable, str(HERE / "worker.py"), kind, str(threads), workload]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        contestant = cls(kind, threads, process)
        contestant.start = contestant._answer()
        return contestant

    def _answer(self) -> dict[str, float]:
        assert self.process.stdout is not None
        if line := self.process.stdout.readline():
            return json.loads(line)
        raise Failed(f"{self.kind} on {self.threads} threads ended with status {self.process.wait()}")

    def ask(self, **command: object) -> dict[str, float]:
        """Send one command and wait for its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """End the worker."""
        self.process.communicate()

    def typical(self, statistic: str) -> float:
        """Seconds per step: the middle over the rounds of each round's `statistic`."""
        return statistics.median(one[statistic] for one in self.rounds)


def check_agreement(contestants: list[Contestant]) -> None:
    """Raise Failed unless loss and every gradient of all contestants agree to TOLERANCE in norm."""
    with tempfile.TemporaryDirectory() as folder:
        results = list[list[np.ndarray]]()
        for index, contestant in enumerate(contestants):
            path = f"{folder}/{index}.npz"
            contestant.ask(do="save", path=path)
            with np.load(path) as file:
                results.append([file[name] for name in file.files])
    for contestant, arrays in zip(contestants, results, strict=True):
        for index, (expected, found) in enumerate(zip(results[0], arrays, strict=True)):
            error = float(np.linalg.norm(expected - found) / np.linalg.norm(expected))
            if expected.shape != found.shape or not error <= TOLERANCE:
                raise Failed(f"output {index} of {contestant.kind} is off by {error:.2g} from {contestants[0].kind}")


def run_workload(key: str, kinds: list[str], threads: list[int], rounds: int, seconds: float) -> dict[str, Any]:
    """All contestants on one workload: checked, then measured in turn."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        contestants = list[Contestant]()
        try:
            for kind in [one for one in kinds if one in (*OURS, *ALL[key].peers)]:
                for count in [max(threads)] if kind in OURS else threads:
                    contestants.append(Contestant.launch(kind, count, key, cache))
            check_agreement(contestants)
            for _ in range(rounds):
                for contestant in contestants:
                    contestant.rounds.append(contestant.ask(do="measure", seconds=seconds))
            for contestant in contestants:
                contestant.facts = contestant.ask(do="facts")
            warm = None
            if "ours" in kinds:
                again = Contestant.launch("ours", max(threads), key, cache)
                warm = again.start["ready"]
                again.close()
        finally:
            for contestant in contestants:
                contestant.close()
    return {
        "title": ALL[key].title,
        "warm": warm,
        "contestants": [
            {"kind": c.kind, "threads": c.threads, "start": c.start, "rounds": c.rounds, "facts": c.facts}
            | {statistic: c.typical(statistic) for statistic in STATISTICS}
            for c in contestants
        ],
    }


def main() -> int:
    """Run, print the tables, optionally write everything measured as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(WORKLOADS), help="workloads, such as a,b")
    parser.add_argument("--kinds", default=",".join(OURS + PEERS), help="contestants, such as ours,jax")
    parser.add_argument("--threads", default="1,2", help="thread counts to try for each peer; ours get the largest")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.4, help="per contestant and round")
    parser.add_argument("--json", type=Path, help="write all measurements here")
    options = parser.parse_args()
    threads = [int(count) for count in options.threads.split(",")]
    results = dict[str, dict[str, Any]]()
    for key in options.only.split(","):
        print(f"({key}) {ALL[key].title} ...", file=sys.stderr, flush=True)
        try:
            results[key] = run_workload(key, options.kinds.split(","), threads, options.rounds, options.seconds)
        except Failed as failure:
            print(f"benchmark {key} failed: {failure}", file=sys.stderr)
            return 1
    for title, table in TABLES.items():
        print(f"{title}\n\n{table(results)}\n")
    if options.json is not None:
        machine = {"processor": platform.processor(), "cores": os.cpu_count(), "python": platform.python_version()}
        options.json.write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
