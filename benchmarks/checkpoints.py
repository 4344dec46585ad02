"""Memory and time of checkpointed scans: `h = tanh(h @ w + b)`, all gradients, f32, for growing numbers of times.

    python benchmarks/checkpoints.py

Each line is a process of its own: with everything that a gradient needs stored, with checkpoints as many as the square
root of the times, and with eight of them, beside JAX with and without `jax.checkpoint` of nested `lax.scan`. Ours has
compiled before, so that its peak is not the compiler's. `buffers`: our arena, XLA's temporary memory.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from math import isqrt
from os import environ
from pathlib import Path
from typing import Any

import numpy as np

STATE, STEPS = 256, 7
LENGTHS = (1024, 4096, 16384, 65536)


def _arrays() -> list[np.ndarray]:
    draw = np.random.default_rng(1).standard_normal
    return [
        np.float32(0.05) * draw((STATE, STATE), dtype=np.float32),
        np.float32(0.1) * draw((STATE,), dtype=np.float32),
        draw((1, STATE), dtype=np.float32),
    ]


def ours(times: int, checkpoints: int | None) -> tuple[Callable[[], Any], int]:
    """A step, and the bytes of its buffers."""
    import xdsl_rlx as rlx

    g = rlx.Graph("checkpoints")
    w, b, h = (g.param(name, array.shape) for name, array in zip("wbh", _arrays(), strict=True))
    last, _ = g.scan(lambda c, _: (g.tanh(c @ w + b), None), h, length=times, checkpoints=checkpoints)
    g.set_outputs([g.reduce_sum(last * last)])
    compiled = rlx.compile(rlx.grad_with_loss(g, ["w", "b", "h"]))
    for name, array in zip("wbh", _arrays(), strict=True):
        compiled.set_param(name, array)
    return compiled, compiled.arena_bytes


def jax(times: int, checkpoints: int | None) -> tuple[Callable[[], Any], int]:
    """The same in JAX."""
    environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp

    arrays = [jax.device_put(array) for array in _arrays()]

    def loss(w: Any, b: Any, h: Any) -> Any:
        def run(c: Any, length: int) -> Any:
            return jax.lax.scan(lambda c, _: (jnp.tanh(c @ w + b), None), c, None, length)[0]

        if checkpoints is None:
            last = run(h, times)
        else:
            segment = jax.checkpoint(lambda c: run(c, times // checkpoints))
            last, _ = jax.lax.scan(lambda c, _: (segment(c), None), h, None, checkpoints)
        return jnp.sum(last * last)

    step = jax.jit(jax.value_and_grad(loss, (0, 1, 2)))
    used = step.lower(*arrays).compile().memory_analysis().temp_size_in_bytes
    return lambda: jax.block_until_ready(step(*arrays)), used


def _measure(kind: str, times: int, checkpoints: int | None) -> None:
    step, buffers = {"ours": ours, "jax": jax}[kind](times, checkpoints)
    taken = list[float]()
    for _ in range(STEPS):
        start = time.perf_counter()
        step()
        taken.append(time.perf_counter() - start)
    (peak,) = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
    print(json.dumps({"buffers": buffers, "peak": int(peak), "seconds": statistics.median(taken)}))


def main() -> None:
    """Measure every line in a process of its own, and print the table."""
    print("| times | checkpoints | ours: buffers KB | peak MB | ms | JAX: buffers KB | peak MB | ms |")
    print("| ---: " * 8 + "|")
    with tempfile.TemporaryDirectory() as cache:
        env = environ | {"XDSL_RLX_CACHE_DIR": cache}
        for times in LENGTHS:
            for checkpoints in (None, isqrt(times), 8):
                cells = [str(times), str(checkpoints or "all stored")]
                for kind in ("ours", "ours", "jax"):
                    command = [sys.executable, __file__, kind, str(times), str(checkpoints or 0)]
                    found = subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout
                    one = json.loads(found)
                    last = [f"{one['buffers'] / 1e3:.0f}", f"{one['peak'] / 1e3:.0f}", f"{one['seconds'] * 1e3:.1f}"]
                    cells = cells[: 2 if kind == "ours" else 5] + last
                print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) or None)
    else:
        main()
