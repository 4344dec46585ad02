"""What this machine can do at most, measured: arithmetic per second, and bytes from memory per second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from xdsl_rlx.lowering.backend.machine.model import cost_model
from xdsl_rlx.lowering.reports.kernel_work import KernelWork

if TYPE_CHECKING:
    from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph

CHAINS = 10
"""Vectors that are computed with side by side: enough for two units of four cycles each, and no more than registers."""
ROUNDS = 1_000_000
STREAM = 1 << 22
"""f64 elements of each of three arrays: 96 MB, more than most caches hold."""
TRIALS = 5


@dataclass(frozen=True)
class Roofline:
    """The measured peaks of a number of threads."""

    threads: int
    flops: float
    """Peak f32 FLOPs per second; the peak of f64 is half of it."""
    bandwidth: float
    """Bytes per second that a triad `c = a + s b` reads and writes."""
    packed: int = 2
    """Dot products of bf16 per FLOP of f32: with tile registers, 512 multiplications a cycle, not two vectors of 16."""

    def seconds(self, work: KernelWork) -> float:
        """Return the lower bound of the time for this work: the larger of its arithmetic and memory times."""
        flops = work.flops + work.wide - work.dots * (1 - 1 / self.packed)
        return max(flops / self.flops, work.moved / self.bandwidth)


@cache
def roofline(threads: int, compile_text: Callable[[str, int], CompiledGraph]) -> Roofline:
    """
    The roofline of so many threads, measured at the first call in a process, which takes about half a second.

    The programs that are timed are compiled by `compile_text`, for so many threads.
    """
    model = cost_model()
    lanes = model.lanes
    peak = compile_text(_peak_text(threads, lanes), threads)
    ones = np.ones(2, np.float32)
    sums = np.empty((threads, CHAINS, lanes), np.float32)
    flops = 2 * sums.size * ROUNDS / _fastest(peak, (ones,), sums)
    triad = compile_text(_triad_text(threads), threads)
    a, b, c = np.ones(STREAM), np.ones(STREAM), np.ones(STREAM)
    return Roofline(threads, flops, 3 * c.nbytes / _fastest(triad, (a, b), c), 16 if model.amx else 2)


def _fastest(graph: CompiledGraph, args: tuple[NDArray[Any], ...], out: NDArray[Any]) -> float:
    """Seconds of the fastest of some calls."""
    times = list[float]()
    for _ in range(TRIALS):
        began = perf_counter()
        graph(*args, out=(out,))
        times.append(perf_counter() - began)
    return min(times)


def _peak_text(threads: int, lanes: int) -> str:
    block, out = f"memref<{CHAINS}x{lanes}xf32>", f"memref<{threads}x{CHAINS}x{lanes}xf32>"
    rows = "scf.for %r = %c0 to %rows step %c1 {\n scf.for %j = %c0 to %lanes step %c1 {"
    ends = f"}} {{lir.vectorize, lir.unroll = {lanes} : i64}}\n }} {{lir.unroll = {CHAINS} : i64}}"
    return f"""
lir.program @peak attributes {{arena_bytes = 0 : i64, alignment = 64 : i64}} {{
  %ones = lir.input "ones" : memref<2xf32>
  %sums = lir.output 0 : {out}
  lir.launch @fma over {threads} by 1 reads(%ones : memref<2xf32>) writes(%sums : {out})
}}
lir.kernel @fma(%ones: memref<2xf32>, %out: {out}, %lo: index, %hi: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant {CHAINS} : index
  %lanes = arith.constant {lanes} : index
  %rounds = arith.constant {ROUNDS} : index
  %zero = arith.constant 0.0 : f32
  %a = memref.load %ones[%c0] : memref<2xf32>
  %b = memref.load %ones[%c1] : memref<2xf32>
  %sums = memref.alloca() {{lir.outline}} : {block}
  scf.for %i = %lo to %hi step %c1 {{
    {rows}
      memref.store %zero, %sums[%r, %j] : {block}
    {ends}
    scf.for %k = %c0 to %rounds step %c1 {{
      {rows}
        %x = memref.load %sums[%r, %j] : {block}
        %y = math.fma %x, %a, %b fastmath<contract> : f32
        memref.store %y, %sums[%r, %j] : {block}
      {ends}
    }}
    {rows}
      %x = memref.load %sums[%r, %j] : {block}
      memref.store %x, %out[%i, %r, %j] : {out}
    {ends}
  }}
  lir.return
}}
"""


def _triad_text(threads: int) -> str:
    array = f"memref<{STREAM}xf64>"
    return f"""
lir.program @triad attributes {{arena_bytes = 0 : i64, alignment = 64 : i64}} {{
  %a = lir.input "a" : {array}
  %b = lir.input "b" : {array}
  %c = lir.output 0 : {array}
  lir.launch @triad_loop over {STREAM} by {-(-STREAM // threads)} reads(%a, %b : {array}, {array}) writes(%c : {array})
}}
lir.kernel @triad_loop(%a: {array}, %b: {array}, %c: {array}, %lo: index, %hi: index) {{
  %c1 = arith.constant 1 : index
  %s = arith.constant 3.0 : f64
  scf.for %i = %lo to %hi step %c1 {{
    %x = memref.load %a[%i] : {array}
    %y = memref.load %b[%i] : {array}
    %z = math.fma %s, %y, %x fastmath<contract> : f64
    memref.store %z, %c[%i] : {array}
  }}
  lir.return
}}
"""
