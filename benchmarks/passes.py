"""CPU seconds of each pass on its way to a planned program: ops in, ops out, microseconds per op of the larger count.

Models: workload (e) and the MLP of workloads.py, a Llama block, and 12, 24 and 48 of them, each with loss and gradient.
Not here: LLVM. `python benchmarks/passes.py [--only e,mlp,llama,llama12,llama24,llama48] [--rounds 3]`; the least of
the rounds counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from ops import RlxOps
from rich.console import Console
from rich.table import Table
from workloads import WORKLOADS
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm
from xdsl_rlx.lowering.fingerprint import fingerprint
from xdsl_rlx.lowering.pipelines import remaining_passes
from xdsl_rlx.lowering.prepare.mir_prepare_for_ad import MirPrepareForAdPass
from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass
from xdsl_rlx.transforms.mir_grad import MirGradPass

Row = tuple[str, int, int, float]
"""Pass, ops in, ops out, CPU seconds."""


def workload(key: str) -> Any:
    """The graph of a workload, and the names that are differentiated."""
    work = WORKLOADS[key]
    graph = rlx.Graph("step")
    values = {
        name: (graph.param if name in work.wrt else graph.input)(name, array.shape, dtype=array.dtype)
        for name, array in work.data().items()
    }
    graph.set_outputs([work.loss(RlxOps(graph), values)])
    return graph


def llama(layers: int, seq: int = 64, heads: int = 8, kv_heads: int = 2, dim: int = 256, hidden: int = 688) -> Any:
    """Blocks of RMS norm, grouped attention with rotary embedding, and SwiGLU; the loss is a mean of squares."""
    g = rlx.Graph("llama")
    head = dim // heads
    x = g.input("x", (1, seq, dim))
    cos, sin = g.input("cos", (seq, head // 2)), g.input("sin", (seq, head // 2))
    zeros = g.full((dim,), 0.0)

    def block(x: Any, n: int) -> Any:
        def weight(name: str, *shape: int) -> Any:
            return g.param(f"{name}{n}", shape)

        h = g.rms_norm(x, weight("norm_a", dim), zeros)
        q = g.rope(h @ weight("wq", dim, dim), cos, sin, num_heads=heads)
        k = g.rope(h @ weight("wk", dim, kv_heads * head), cos, sin, num_heads=kv_heads)
        v = h @ weight("wv", dim, kv_heads * head)
        a = g.attention(q, k, v, num_heads=heads, num_kv_heads=kv_heads, mask_kind="causal")
        x = x + a @ weight("wo", dim, dim)
        h = g.rms_norm(x, weight("norm_m", dim), zeros)
        gate = g.silu(h @ weight("w_gate", dim, hidden)) * (h @ weight("w_up", dim, hidden))
        return x + gate @ weight("w_down", hidden, dim)

    for n in range(layers):
        x = block(x, n)
    g.set_outputs([g.reduce_mean(x * x)])
    return g


MODELS: dict[str, Callable[[], Any]] = {
    "e": lambda: workload("e"),
    "mlp": lambda: workload("a"),
    "llama": lambda: llama(1),
    **{f"llama{layers}": lambda layers=layers: llama(layers) for layers in (12, 24, 48)},
}


def count(module: ModuleOp) -> int:
    """The ops of a module, at any depth."""
    return sum(1 for _ in module.walk())


def run(build: Callable[[], Any], threads: int) -> list[Row]:
    """The rows of one model, from building the graph to LLVM text."""
    rows: list[Row] = []
    ctx: Context = context()

    def timed(name: str, ops: int, step: Callable[[], Any], module: ModuleOp | None = None) -> Any:
        start = time.process_time()
        found = step()
        spent = time.process_time() - start
        rows.append((name, ops, count(module or found), spent))
        return found

    module = timed("build", 0, lambda: as_graph_module(build()).module)
    before = count(module)
    timed("fingerprint", before, lambda: fingerprint(module), module)
    source = module
    module = timed("clone", before, lambda: source.clone())

    def apply(one: ModulePass) -> None:
        timed(one.name, count(module), lambda: one.apply(ctx, module), module)

    for one in (ConvertHirToMirPass("fusable"), MirPrepareForAdPass(), MirGradPass()):
        apply(one)
    timed("verify", count(module), module.verify, module)
    timed("fingerprint", count(module), lambda: fingerprint(module), module)
    gradient = module
    module = timed("clone", count(module), lambda: gradient.clone())
    for one in remaining_passes(module, threads):
        apply(one)
    timed("emit LLVM text", count(module), lambda: emit_llvm(module), module)
    return rows


def main() -> None:
    """Print a table for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(MODELS), help="models, separated by commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    console = Console()
    # Modules, dialects and rule tables are loaded on first use; that is not what is measured.
    run(MODELS["mlp"], options.threads)
    for name in options.only.split(","):
        rounds = [run(MODELS[name], options.threads) for _ in range(options.rounds)]
        table = Table("pass", "ops in", "ops out", "CPU s", "us per op", title=name)
        total = 0.0
        for same in zip(*rounds, strict=True):
            step, before, after, _ = same[0]
            spent = min(row[3] for row in same)
            total += spent
            table.add_row(step, str(before), str(after), f"{spent:.3f}", f"{1e6 * spent / max(before, after, 1):.0f}")
        table.add_section()
        table.add_row("all", "", "", f"{total:.3f}", "")
        console.print(table)


if __name__ == "__main__":
    main()
