"""`rlx.compile(backend="numba")`: Numba's code of the printed kernels under the same callable, driver and cache."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects import scf

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.llvm.llvm_lanes import LaneLoop, is_written_out
from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm
from xdsl_rlx.lowering.backend.llvm.loop_hints import AS_VECTORS, WRITTEN_OUT
from xdsl_rlx.lowering.backend.numba import numba_llvm
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir
from xdsl_rlx.lowering.run_errors import CompileError

Arrays = dict[str, np.ndarray[Any, Any]]


def many() -> tuple[rlx.GraphModule, Arrays]:
    """Products, solves, attention, random words, quantised weights, narrow types, long functions and nothing at all."""
    rng = np.random.default_rng(0)
    shapes = {
        "x": (96, 40),
        "w": (40, 24),
        "a": (3, 5, 5),
        "q": (1, 12, 16),
        "u": (7, 24),
        "scale": (12, 6),
        "nothing": (0, 4),
        "empty": (3, 0),
    }
    inputs: Arrays = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    inputs["x"][0, :2] = 1e6, -np.inf
    g = rlx.Graph("many")
    x, w, a, q, u, scale, nothing, empty = (g.input(name, shape) for name, shape in shapes.items())
    key = g.input("key", (2,), "i32")
    inputs["key"] = np.array([3, 7], np.int32)
    half = g.input("half", (9, 4), "bf16")
    inputs["half"] = np.full((9, 4), 0x3FC0, np.uint16).view(ml_dtypes.bfloat16)
    weights = g.input("weights", (24, 6), "i8")
    inputs["weights"] = rng.integers(-9, 9, (24, 6)).astype(np.int8)
    y = g.gelu(x @ w)
    g.set_outputs(
        [
            g.sin(x) / 3.0,
            y,
            g.reduce_sum(g.tanh(y)),
            g.softmax(x @ w),
            g.batched_dense_solve(a, a[:, :, :2]),
            g.attention(q, q, q, num_heads=2, head_dim=8),
            g.rng_bits(key, (5, 3)),
            g.dequant_matmul(u, weights, "int8_block", scale, block_size=2),
            half * half,
            g.exp(nothing),
            g.reduce_sum(empty, axes=[1]),
            g.max(key, 5),
        ]
    )
    return rlx.lower_hir(g), inputs


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[rlx.CompiledGraph, rlx.CompiledGraph, Arrays]]:
    graph, inputs = many()
    yield rlx.compile(graph, threads=2), rlx.compile(graph, threads=2, backend="numba"), inputs


SUMS = {1: 4, 2: 4, 3: 4, 4: 60, 5: 8, 7: 16, 10: 0}
"""Outputs whose terms the vectoriser may reorder, with the units in the last place that they may differ by."""


def test_results_are_those_of_the_llvm_backend(both: tuple[rlx.CompiledGraph, rlx.CompiledGraph, Arrays]) -> None:
    llvm, numba, inputs = both
    assert any(launch.chunks > 1 for launch in numba.program.launches) or numba.threads == 2
    for number, (ours, other) in enumerate(zip(llvm(**inputs), numba(**inputs), strict=True)):
        assert ours.dtype == other.dtype and ours.shape == other.shape
        if number in SUMS:
            tolerance = SUMS[number] * np.finfo(np.float32).eps
            scale = np.abs(ours[np.isfinite(ours)]).max(initial=0)
            np.testing.assert_allclose(other, ours, rtol=tolerance, atol=tolerance * scale)
        else:
            assert ours.tobytes() == other.tobytes(), f"output {number}"


def test_face_is_the_same(both: tuple[rlx.CompiledGraph, rlx.CompiledGraph, Arrays]) -> None:
    llvm, numba, inputs = both
    assert (numba.name, numba.inputs, numba.params, numba.outputs, numba.threads, numba.kernel_count) == (
        *(llvm.name, llvm.inputs, llvm.params, llvm.outputs, llvm.threads, llvm.kernel_count),
    )
    out = np.empty((96, 40), np.float32)
    results = numba(*inputs.values(), out=(out, *[None] * 11))
    assert results[0] is out
    with pytest.raises(rlx.ArgumentError, match="argument 'w' of graph 'many': expected"):
        numba(**(inputs | {"w": np.zeros((3, 3), np.float32)}))


def small(name: str) -> tuple[rlx.Graph, np.ndarray[Any, Any]]:
    g = rlx.Graph(name)
    w = g.param("w", (6,))
    g.set_outputs([g.input("x", (6,)) * w])
    return g, np.arange(6, dtype=np.float32)


def test_params_persist_and_the_cache_holds_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    g, x = small("kept")
    first = rlx.compile(g, threads=1, backend="numba")
    first.set_param("w", x)
    assert not first.from_cache and first(x=x)[0].tolist() == (x * x).tolist() == first(x)[0].tolist()

    def never(module: object) -> str:
        raise AssertionError("compiled again")

    monkeypatch.setattr(numba_llvm, "numba_llvm", never)
    again = rlx.compile(g, threads=1, backend="numba")
    assert again.from_cache and again(x=x, w=x)[0].tolist() == (x * x).tolist()
    # the other backend has code of its own
    assert not rlx.compile(g, threads=1).from_cache


def test_another_backend_is_an_error_that_lists_those_there_are() -> None:
    with pytest.raises(rlx.GraphError, match=r"^backend: expected one of 'llvm', 'numba', got 'c'$"):
        rlx.compile(small("wrong")[0], backend="c")  # pyright: ignore[reportArgumentType]


def test_what_numba_refuses_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    text = numba_llvm.emit_kernels(rlx.lower(small("refused")[0]).module)
    refused = re.sub(r"(?m)^( +t1 = \w+) \* (\w+)$", r"\1 @ \2", text)
    assert refused != text
    monkeypatch.setattr(numba_llvm, "emit_kernels", lambda _: refused)
    with pytest.raises(CompileError) as caught:
        rlx.compile(small("refused")[0], backend="numba")
    assert str(caught.value).startswith("numba refuses the printed kernels: ") and "\n" not in str(caught.value)
    assert caught.value.__suppress_context__


def steps() -> rlx.Graph:
    """A loop around products, of which the tiles are loops in loops, and around short loops, of which one is last."""
    g = rlx.Graph("steps")
    x, w, b = g.input("x", (4, 16, 24)), g.param("w", (24, 20)), g.param("b", (10,))

    def step(carry: Any, rows: Any) -> Any:
        w, b = carry
        y = g.softmax((rows @ w)[:, :10] + b)
        return (w - g.transpose(rows, (1, 0)) @ g.tanh(rows @ w), b - y[0]), None

    last, _ = g.scan(step, (w, b), x)
    g.set_outputs(list(last))
    return g


def told(text: str) -> Counter[str]:
    """What jumps back to the heads of loops say of them, how often."""
    nodes = dict(re.findall(r"^(!\d+) = (?:distinct )?(!\{.*\})$", text, re.MULTILINE))
    said = Counter[str]()
    for node in re.findall(r"br i1 .*!llvm\.loop (!\d+)", text):
        last = re.findall(r"!\d+|!\{!\".*\}", nodes[node][2:-1])[-1]
        while not re.search("unroll|vectorize|interleave", last):
            last = nodes[last]
        said[re.sub(r"!\d+", lambda found: nodes[found[0]], last)] += 1
    return said


def test_what_is_said_of_loops_arrives_at_the_pipeline(capfd: pytest.CaptureFixture[str]) -> None:
    """And of no other loop: LLVM complains of those that it cannot write out."""
    lowered = lower_to_lir(steps().module)
    ours, numbas = told(emit_llvm(lowered)), told(numba_llvm.numba_llvm(lowered))
    loops = [op for op in lowered.walk() if isinstance(op, scf.ForOp)]
    as_vectors = Counter({AS_VECTORS.metadata(): sum(LaneLoop.of(loop) is not None for loop in loops)})
    written_out = Counter({WRITTEN_OUT.metadata(): sum(map(is_written_out, loops))})
    assert as_vectors.total() > 5 and written_out.total() > 5 and ours.total() > 5
    # in our text there is nothing left of these
    assert as_vectors + written_out == numbas - ours
    rlx.compile(steps(), threads=1, backend="numba")
    assert capfd.readouterr().err == ""
