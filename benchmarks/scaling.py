"""What several processes cost: steps on this machine, over an emulated network, and simulated on up to 1,024.

`python benchmarks/scaling.py` takes three minutes, writes benchmarks/results-scaling.json and docs/scaling.svg, and
prints the tables of docs/scaling.md. `--drawn` does so from results that are there. It needs mpi4py, `mpiexec` and
`torchrun`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scaling_chart import drawn
from scaling_model import Model, Network, buckets_of, fitted
from scaling_worker import LINKS, MODELS

HERE = Path(__file__).resolve().parent
RESULTS, CHART = HERE / "results-scaling.json", HERE.parent / "docs" / "scaling.svg"
CLUSTER = Network(1.5e-6, 1 / 12.5e9)
"""A network of 100 Gbit/s: 12.5 GB/s, and the latency of MPI on InfiniBand of Koop, Jones and Panda, "MVAPICH-Aptus:
Scalable High-Performance Multi-Transport MPI over InfiniBand", IPDPS 2008."""
RANKS = tuple(2**n for n in range(11))
SIMULATED = ("tiny-llama", "convnet")
BUCKET_BYTES = 1 << 19
"""Of the simulated steps, whose gradients are a few times as many."""
MPIEXEC, TORCHRUN = ("mpiexec", "-n"), ("torchrun", "--no-python", "--nproc-per-node")
"""Launchers of processes that reduce by MPI and by Gloo, with the option before their number."""


def job(processes: int, *arguments: str, launcher: tuple[str, ...] = MPIEXEC) -> Any:
    """Return what the first process of a job prints."""
    python = Path(sys.executable)
    name, *count = launcher
    command = [python.parent / name, *count, str(processes), python, HERE / "scaling_worker.py", *arguments]
    environment = {**os.environ, "XDSL_RLX_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measured(turns: int) -> dict[str, Any]:
    """Return all times of this machine, in seconds."""
    found: dict[str, Any] = {"steps": {}, "gloo": {}, "emulated": {}, "bytes": {}}
    for name, work in MODELS.items():
        alone = job(1, name, "--turns", str(turns))
        together = job(2, name, "--turns", str(turns))
        found["steps"][name] = {"one process": _least(alone["no reduction"])} | {
            kind: _least(times) for kind, times in together.items()
        }
        by_gloo = job(2, name, "--turns", str(turns), launcher=TORCHRUN)
        found["gloo"][name] = {kind: _least(times) for kind, times in by_gloo.items()}
        found["emulated"][name] = {
            link: {kind: _least(times) for kind, times in job(1, name, "--link", link, "--turns", str(turns)).items()}
            for link in LINKS
        }
        data = work.data()
        found["bytes"][name] = [data[key].nbytes for key in reversed(work.wrt)]
    found["reductions"] = job(2, "reductions", "--turns", "200")
    found["waits"] = job(2, "waits", "--turns", "40")
    return found


def _least(times: Sequence[float]) -> float:
    return min(times)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g}"


def tables(results: Mapping[str, Any], loopback: Network) -> str:
    """Return the tables of docs/scaling.md."""
    kinds = ["one process", "no reduction", "overlap off", "overlap on", "no polls"]
    steps = [[name, *(_milliseconds(row[kind]) for kind in kinds)] for name, row in results["steps"].items()]
    by_gloo = [[name, *(_milliseconds(row[kind]) for kind in kinds[1:-1])] for name, row in results["gloo"].items()]
    emulated = [
        [name, link, *(_milliseconds(row[kind]) for kind in kinds[1:-1])]
        for name, links in results["emulated"].items()
        for link, row in links.items()
    ]
    networks = [
        [name, f"{1e6 * network.alpha:.3g}", f"{1e-9 / network.beta:.3g}"]
        for name, network in (("loopback", loopback), ("100 Gbit/s", CLUSTER))
    ]
    models = {name: model_of(results, name) for name in SIMULATED}
    simulated = [
        [name, network, str(ranks), *(f"{models[name].efficiency(link, ranks, on):.2f}" for on in (False, True))]
        for name in SIMULATED
        for network, link in (("loopback", loopback), ("100 Gbit/s", CLUSTER))
        for ranks in (2, 16, 128, 1024)
    ]
    waits = [[name, f"{1e6 * seconds:,.0f}"] for name, seconds in results["waits"].items()]
    return "\n\n".join(
        (
            _table(["reduction beside products", "us in the wait"], waits),
            _table(["model", *kinds], steps),
            _table(["model, by Gloo", *kinds[1:-1]], by_gloo),
            _table(["model", "network", *kinds[1:-1]], emulated),
            _table(["network", "latency in us", "GB/s"], networks),
            _table(["model", "network", "processes", "overlap off", "overlap on"], simulated),
        )
    )


def model_of(results: Mapping[str, Any], name: str) -> Model:
    """Return the model of a step that was measured on one process."""
    return Model(results["steps"][name]["one process"], buckets_of(results["bytes"][name], BUCKET_BYTES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drawn", action="store_true", help="measure nothing")
    parser.add_argument("--turns", type=int, default=30)
    options = parser.parse_args()
    if not options.drawn:
        RESULTS.write_text(json.dumps(measured(options.turns), indent=1) + "\n")
    results = json.loads(RESULTS.read_text())
    loopback = fitted({int(count): seconds for count, seconds in results["reductions"].items()})
    lines = {
        name: {
            (network, on): [model_of(results, name).efficiency(link, ranks, on) for ranks in RANKS]
            for network, link in (("loopback", loopback), ("100 Gbit/s", CLUSTER))
            for on in (False, True)
        }
        for name in SIMULATED
    }
    CHART.write_text(drawn(RANKS, lines))
    print(tables(results, loopback))


if __name__ == "__main__":
    main()
