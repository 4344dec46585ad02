"""Products that are cut into pieces of columns, of a single row or wide, against NumPy in float64, any threads."""

import re

import numpy as np
import pytest
import wide_registers

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import LaunchOp
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module, lower_to_lir


def cut(graph: rlx.Graph, threads: int) -> list[int]:
    """Into how many pieces the launches of products are cut, which may be sums of products of elements."""
    launches = [op for op in lower_to_lir(graph.module, threads).walk() if isinstance(op, LaunchOp)]
    products = [op for op in launches if re.search("matmul|k0_mul_reduce_sum", op.kernel.string_value())]
    return [op.chunk_count for op in products if op.extent.value.data > 1]


@pytest.mark.sampled
@pytest.mark.parametrize("columns", [256, 257, 300, 511])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_a_row_times_a_matrix_with_what_is_fused(columns: int, dtype: str):
    graph = rlx.Graph("p")
    x, w = graph.input("x", (1, 333), dtype=dtype), graph.input("w", (333, columns), dtype=dtype)
    b = graph.input("b", (columns,), dtype=dtype)
    y = graph.tanh(x @ w * 0.05 + b)
    graph.set_outputs([y, graph.reduce_sum(y * y), y + 1.0])
    rng = np.random.default_rng(columns)
    values = [
        rng.standard_normal(shape).astype(np.dtype(dtype.replace("f", "float")))
        for shape in ((1, 333), (333, columns), (columns,))
    ]
    expected = np.tanh(values[0].astype(np.float64) @ values[1] * 0.05 + values[2])
    eps = np.finfo(values[0].dtype).eps
    assert cut(graph, 2) == [2]
    found = {threads: rlx.compile(graph, threads=threads)(*values) for threads in (1, 2, 3)}
    for y, total, more in found.values():
        np.testing.assert_allclose(y, expected, rtol=0, atol=60 * eps)
        np.testing.assert_allclose(total, (expected**2).sum(), rtol=60 * eps)
        assert np.array_equal(more, y + 1)
    # the sum is put together from pieces, the row is not
    assert all(np.array_equal(found[1][0], found[threads][0]) for threads in found)


def test_small_rows_are_one_piece():
    graph = rlx.Graph("p")
    graph.set_outputs(graph.input("x", (1, 32)) @ graph.input("w", (32, 64)))
    assert cut(graph, 2) == [1]


def test_the_maximum_of_a_row_keeps_it_whole():
    graph = rlx.Graph("p")
    graph.set_outputs(graph.softmax(graph.input("x", (1, 256)) @ graph.input("w", (256, 512))))
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((1, 256), np.float32), rng.standard_normal((256, 512), np.float32)
    logits = x.astype(np.float64) @ w
    expected = np.exp(logits - logits.max())
    (found,) = rlx.compile(graph, threads=2)(x, w)
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=0, atol=2e-5)


@pytest.mark.parametrize(("rows", "columns", "pieces"), [(40, 256, [256]), (40, 255, [40]), (300, 256, [300])])
def test_the_gradient_of_a_wide_weight_is_cut_into_columns(rows: int, columns: int, pieces: list[int]):
    graph = rlx.Graph("p")
    x, d = graph.input("x", (400, rows)), graph.input("d", (400, columns))
    graph.set_outputs(graph.transpose(x, (1, 0)) @ d)
    rng = np.random.default_rng(columns)
    values = rng.standard_normal((400, rows), np.float32), rng.standard_normal((400, columns), np.float32)
    modules = {threads: wide_registers.lowered(graph, threads) for threads in (1, 2, 4)}
    assert [op.extent.value.data for op in modules[2].walk() if isinstance(op, LaunchOp)] == pieces
    found = [compile_module(module, threads)(*values)[0] for threads, module in modules.items()]
    np.testing.assert_allclose(found[0], values[0].T.astype(np.float64) @ values[1], rtol=0, atol=400 * 1e-6)
    assert all(np.array_equal(found[0], other) for other in found)


@pytest.mark.parametrize(("rows", "copies"), [(5, 1), (64, 0)])
def test_short_matrices_that_are_apart_become_rows_of_one_product(rows: int, copies: int):
    graph = rlx.Graph("p")
    x, w = graph.input("x", (rows, 7, 24)), graph.input("w", (24, 48))
    graph.set_outputs(graph.swapaxes(x, 0, 1) @ w)
    launches = [op.kernel.string_value() for op in lower_to_lir(graph.module, 1).walk() if isinstance(op, LaunchOp)]
    assert sum("copy" in name for name in launches) == copies
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((rows, 7, 24), np.float32), rng.standard_normal((24, 48), np.float32)
    (found,) = rlx.compile(graph, threads=1)(x, w)
    np.testing.assert_allclose(found, x.swapaxes(0, 1).astype(np.float64) @ w, rtol=0, atol=1e-5)
