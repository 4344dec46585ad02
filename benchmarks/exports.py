"""Exported libraries beside the compiled programs in Python: the workloads of `workloads.py`.

Each row: whether results and params have the same bits after three steps, time of a step of the library by that in
Python (minima of turns, microseconds), size of the library without weights, seconds to export, milliseconds to load
the library and create an instance. The last line is a call of a program that adds two arrays of 4 numbers: by the C
interface from Python's ctypes, and the library's own part of it.
"""

# Objects of this package's untyped helpers.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from turns import Turns
from worker import Rlx
from workload import Step
from workloads import WORKLOADS

import xdsl_rlx as rlx

TURNS = Turns(each=0.02, together=1, least=10, most=200)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print("| workload | same bits | Python, us | library, us | ratio | size, KiB | export, s | start, ms |")
    print("| --- " * 8 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for name in WORKLOADS:
            if options.only in name:
                print(row(name, options.threads, Path(folder)), flush=True)
    print(f"a call of `x + y`: {call_overhead() * 1e9:.0f} ns in machine code")


def row(name: str, threads: int, folder: Path) -> str:
    """A workload's line of the table."""
    runner = Rlx(WORKLOADS[name], threads)
    runner.prepare()
    compiled, inputs = runner.compiled, dict(runner.inputs)
    if runner.work.step is Step.TRAIN:
        inputs["step"] = np.float32(1)
    begin = time.perf_counter()
    path = rlx.export(compiled, folder / "program", embed_weights=False)
    took = time.perf_counter() - begin
    begin = time.perf_counter()
    library = rlx.load_export(path, threads)
    start = time.perf_counter() - begin
    same = True
    for _ in range(3):
        found, expected = library(**inputs), compiled(**inputs)
        same = same and all(a.tobytes() == b.tobytes() for a, b in zip(found, expected, strict=True))
    same = same and all(library.param(one).tobytes() == compiled.weights[one].tobytes() for one in compiled.params)
    times = TURNS.times_of(
        {"python": lambda: compiled(**inputs), "library": lambda: library(**inputs)}, time.perf_counter
    )
    ours, exported = times["python"] * 1e6, times["library"] * 1e6
    size = path.stat().st_size / 1024
    return (
        f"| {name} | {'yes' if same else 'NO'} | {ours:.1f} | {exported:.1f} | {exported / ours:.2f} | {size:.0f} "
        f"| {took:.2f} | {start * 1e3:.1f} |"
    )


def call_overhead() -> float:
    """Seconds of a call of the C interface, without those of Python: many calls from C, by `ctypes` only once."""
    import ctypes
    import subprocess

    with tempfile.TemporaryDirectory() as folder:
        x = np.ones(4, np.float32)
        add = rlx.compile(lambda x, y: x + y, threads=1)
        add(x, x)
        rlx.export(add, Path(folder) / "add")
        text = Path(folder) / "loop.c"
        text.write_text(
            '#include "add.h"\nvoid loop(int n, float *x, float *y) { add *self = add_create(1);'
            "const void *in[] = {x, x}; void *out[] = {y};"
            "for (int i = 0; i < n; i++) add_run(self, in, out); add_destroy(self); }\n"
        )
        library = Path(folder) / "loop.so"
        subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", "-o", library, text, Path(folder) / "add.so", f"-Wl,-rpath,{folder}"],
            check=True,
        )
        loop = ctypes.CDLL(str(library)).loop
        y, count = np.empty(4, np.float32), 1_000_000
        begin = time.perf_counter()
        loop(count, ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data))
        return (time.perf_counter() - begin) / count


if __name__ == "__main__":
    main()
