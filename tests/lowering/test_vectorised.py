"""What the machine code of whole kernels is made of: packed arithmetic in every loop over a row or over elements."""

import re
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm
from xdsl_rlx.lowering.backend.machine.llvm import emit_assembly
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir

ARITHMETIC = r"(?:(?:add|sub|mul|div|sqrt|max|min|round)|fn?m(?:add|sub)\d*)"
PACKED = re.compile(rf"^\s*v?{ARITHMETIC}p[sd]\b", re.MULTILINE)
SCALAR = re.compile(rf"^\s*v?(?:{ARITHMETIC}|u?comi|cmp\w*)s[sd]\b", re.MULTILINE)
CALL = re.compile(r"^\s*call", re.MULTILINE)


def assembly(graph: rlx.Graph | rlx.GraphModule, threads: int = 1) -> str:
    """The text of a graph's first kernel."""
    text = emit_assembly(emit_llvm(lower_to_lir(graph.module, threads)))
    functions = re.split(r"^\s*\.type\s+", text, flags=re.MULTILINE)
    return "".join(part for part in functions if re.match(r"\W*k0_\w+", part))


def loops(text: str) -> list[str]:
    """The text of every innermost loop: from a label to the last jump back to it."""
    lines = text.splitlines()
    labels = {match[1]: number for number, line in enumerate(lines) if (match := re.match(r"(\.LBB\w+):", line))}
    last: dict[int, int] = {}
    for number, line in enumerate(lines):
        jump = re.match(r"\s*j\w+\s+(\.LBB\w+)", line)
        if jump and (start := labels.get(jump[1], number + 1)) <= number:
            last[start] = number
    inner = [
        (start, end)
        for start, end in last.items()
        if not any(start < other <= last[other] <= end for other in last if other != start)
    ]
    return ["\n".join(lines[start : end + 1]) for start, end in inner]


def activation() -> rlx.Graph:
    g = rlx.Graph("activation")
    x, y = g.input("x", (1 << 16,)), g.input("y", (1 << 16,))
    g.set_outputs([g.where(x > y, g.gelu(x), g.exp(y * 0.5))])
    return g


def layer_norm() -> rlx.Graph:
    g = rlx.Graph("norm")
    x = g.input("x", (256, 768))
    g.set_outputs([g.layer_norm(x, g.param("gamma", (768,)), g.param("beta", (768,)))])
    return g


def rms_norm() -> rlx.Graph:
    g = rlx.Graph("norm")
    x = g.input("x", (256, 768))
    g.set_outputs([g.rms_norm(x, g.param("gamma", (768,)), g.param("beta", (768,)))])
    return g


def quantize() -> rlx.Graph:
    g = rlx.Graph("quantize")
    g.set_outputs([g.quantize(g.input("x", (1 << 16,)), [0.02], [3])])
    return g


def block() -> rlx.Graph:
    """Layer norm of a sum with a residual, then gelu, times the input."""
    g = rlx.Graph("block")
    x, residual = g.input("x", (256, 768)), g.input("residual", (256, 768))
    h = g.layer_norm(x + residual, g.param("gamma", (768,)), g.param("beta", (768,)))
    g.set_outputs([g.reduce_mean(g.gelu(h) * x)])
    return g


def test_an_elementwise_kernel_runs_packed() -> None:
    found = loops(assembly(activation()))
    main = max(found, key=lambda loop: len(PACKED.findall(loop)))
    assert len(PACKED.findall(main)) > 40
    # the loops over what is left when the count is no multiple of the vector's length are all scalar
    mixed = [loop for loop in found if PACKED.search(loop) and SCALAR.search(loop)]
    assert not mixed and not CALL.search(main)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "graph",
    [
        made
        for norm in (layer_norm(), rms_norm())
        for made in (norm, rlx.grad_with_loss(norm, wrt=["x", "gamma", "beta"]))
    ],
)
def test_norms_run_packed(graph: rlx.Graph | rlx.GraphModule, threads: int) -> None:
    text = assembly(graph, threads)
    found = [loop for loop in loops(text) if PACKED.search(loop) or SCALAR.search(loop)]
    assert found and not any(SCALAR.search(loop) or CALL.search(loop) for loop in found)
    # outside the loops over a row, whose length is known, are the sums over a vector's lanes and the row's few numbers
    assert len(PACKED.findall(text)) > 2 * len(SCALAR.findall(text))


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
@pytest.mark.parametrize(("reduce", "lost"), [("reduce_max", -inf), ("reduce_min", inf)])
def test_extremes_of_what_a_mask_leaves_run_packed(reduce: str, lost: float, dtype: str) -> None:
    g = rlx.Graph("masked")
    x, seen = g.input("x", (64, 256), dtype=dtype), g.input("seen", (64, 256), dtype="i1")
    g.set_outputs([getattr(g, reduce)(g.where(seen, x, lost), 1), getattr(g, reduce)(g.where(x != x, lost, x), 1)])
    found = [loop for loop in loops(assembly(g)) if PACKED.search(loop) or SCALAR.search(loop)]
    assert found and not any(SCALAR.search(loop) for loop in found)


def test_the_gradient_of_a_fused_block_runs_packed() -> None:
    found = loops(assembly(rlx.grad_with_loss(block(), wrt=["x", "residual", "gamma", "beta"])))
    found = [loop for loop in found if PACKED.search(loop) or SCALAR.search(loop)]
    assert found and not any(SCALAR.search(loop) or CALL.search(loop) for loop in found)


def test_random_words_are_made_in_vectors():
    """The products of Philox, of words of 32 bits, are packed multiplications."""
    g = rlx.Graph("words")
    g.set_outputs([g.rng_bits(g.input("key", (2,), dtype="i64"), (1 << 14,))])
    longest = max(loops(assembly(g)), key=len)
    assert len(re.findall(r"\bv?pmuludq\b", longest)) >= 18
    assert not re.search(r"^\s*i?mul[lqx]", longest, re.MULTILINE)


def test_the_cuts_of_a_draw_are_looked_for_in_vectors():
    """Counting the logits, or adding up the weights, above a threshold, 32 times over: nothing scalar in the loop."""
    g = rlx.Graph("draw")
    g.set_outputs([g.draw(g.input("x", (4, 4096)), g.input("u", (4,), dtype="f64"), top_k=50)])
    counting = [loop for loop in loops(assembly(g)) if re.search(r"^\s*v?psub[dq]|^\s*v?padd[dq]", loop, re.MULTILINE)]
    assert any(re.search(r"^\s*v?cmp\w*ps\b", loop, re.MULTILINE) and not SCALAR.search(loop) for loop in counting)


def test_quantisation_runs_packed() -> None:
    found = loops(assembly(quantize()))
    main = max(found, key=lambda loop: len(PACKED.findall(loop)))
    assert PACKED.search(main) and not SCALAR.search(main) and not CALL.search(main)


@pytest.mark.parametrize("kind", ["causal", "sliding_window"])
def test_the_softmax_of_attention_runs_packed(kind: str) -> None:
    """The largest score and the exponentials forward, and the one loop over a row backward."""
    g = rlx.Graph("attention")
    q, k, v = (g.input(name, (1, 2, 256, 96)) for name in "qkv")
    window = 9 if kind == "sliding_window" else None
    y = g.attention(q, k, v, layout="bhsd", mask_kind=kind, window=window)
    g.set_outputs([g.reduce_sum(y * y)])
    module = rlx.grad_with_loss(g, wrt=["q", "k", "v"]).module
    text = emit_assembly(emit_llvm(lower_to_lir(module, 1)))
    found = [loop for loop in loops(text) if len(PACKED.findall(loop)) > 10]
    assert len(found) >= 3 and not any(SCALAR.search(loop) or CALL.search(loop) for loop in found)


@pytest.mark.sampled
@pytest.mark.parametrize("n", [400, 273])
@pytest.mark.parametrize("kind", ["fft", "rfft", "irfft"])
def test_transforms_run_packed(kind: str, n: int) -> None:
    """Every stage, of any radix: a loop over places of a vector of frames, in a function of its own."""
    g = rlx.Graph("transform")
    x = g.input("x", (64, n // 2 + 1 if kind == "irfft" else n), dtype="f32" if kind == "rfft" else "c64")
    g.set_outputs([{"fft": g.fft, "rfft": g.rfft, "irfft": lambda z: g.irfft(z, n)}[kind](x)])
    text = emit_assembly(emit_llvm(lower_to_lir(g.module, 1)))
    found = [loop for loop in loops(text) if PACKED.search(loop) or SCALAR.search(loop)]
    assert len(found) >= 3 and not any(SCALAR.search(loop) or CALL.search(loop) for loop in found)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("batch", [64, 65])
def test_small_matrices_side_by_side_run_packed(batch: int, dtype: str) -> None:
    """Nothing of a factorisation or of a solve is done for one matrix alone but to write pivots and to read them."""
    factorise, *solves = (rlx.Graph(name) for name in ("factorise", "solve", "solve_transposed"))
    factorise.set_outputs(factorise.lu(factorise.input("a", (batch, 8, 8), dtype)))
    for g, transpose in zip(solves, (False, True), strict=True):
        a, pivots = g.input("a", (batch, 8, 8), dtype), g.input("pivots", (batch, 8), "i32")
        g.set_outputs([g.lu_solve(a, pivots, g.input("b", (batch, 8), dtype), transpose)])
    for g in (factorise, *solves):
        text = assembly(g)
        assert len(PACKED.findall(text)) >= 2 and not SCALAR.search(text) and not CALL.search(text)


@pytest.mark.usefixtures("common_caches")
@pytest.mark.parametrize(("rows", "prefetched"), [(512, True), (16, False)], ids=["large", "in-cache"])
def test_rows_cut_out_of_longer_ones_are_prefetched(rows: int, prefetched: bool) -> None:
    g = rlx.Graph("halves")
    x = g.input("x", (rows, 512))
    g.set_outputs([x[:, :256] * g.sigmoid(x[:, 256:])])
    lowered = str(rlx.lower(g))
    assert lowered.count("lir.prefetch") == (2 * 256 * 4 // 64 if prefetched else 0)


@pytest.mark.parametrize(("length", "threads", "constant"), [(8, 1, True), (1 << 20, 2, False)], ids=["one", "many"])
def test_the_extent_of_a_launch_in_one_chunk_is_a_constant(length: int, threads: int, constant: bool) -> None:
    g = rlx.Graph("line")
    g.set_outputs([g.exp(g.input("x", (length,)))])
    text = emit_llvm(lower_to_lir(g.module, threads))
    bounds = re.findall(r"icmp slt i64 %v\d+, (\S+)", text)
    assert bounds and all(bound == (str(length) if constant else "%hi") for bound in bounds)


def test_sums_of_rows_have_the_bounds_of_any_length() -> None:
    g = rlx.Graph("sum")
    g.set_outputs([g.reduce_sum(g.input("x", (8,)), [0])])
    assert re.search(r"icmp slt i64 %\w+, %hi", emit_llvm(lower_to_lir(g.module, 1)))


@pytest.mark.optimised
def test_vectors_that_are_kept_on_the_stack_are_aligned() -> None:
    g = rlx.Graph("chain")
    x = g.input("x", (1 << 16,))
    g.set_outputs([g.tanh(x) * g.gelu(x) + g.exp(x * 0.5)])
    text = assembly(g)
    if kept := re.findall(r"(\S+)\s+%[yz]mm\d+, -?\d*\(%[re]?[sb]p\)", text):
        assert not any(store.startswith(("vmovup", "vmovdqu")) for store in kept)


@pytest.mark.optimised
def test_a_gelu_and_its_slope_share_an_exponential() -> None:
    def gelu(x: Any) -> Any:
        return rlx.nn.gelu(x, approximate=False)

    def packed(f: Callable[[Any], Any]) -> int:
        module = rlx.compile(f).trace(np.zeros(1 << 16, np.float32)).module
        return len(PACKED.findall(emit_assembly(emit_llvm(lower_to_lir(module, 1)))))

    slope = rlx.grad(lambda x: gelu(x).sum())
    both, one, other = packed(lambda x: gelu(x) * slope(x)), packed(gelu), packed(slope)
    assert both < 0.75 * (one + other)
