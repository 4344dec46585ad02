"""Rows too short to fill vectors, which lie across them: each element is what it is when rows are taken one by one."""

from typing import Any

import numpy as np
import oracle
import pytest
from xdsl.dialects import memref

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.dialects.lir import KernelOp
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module, lower_to_lir

Array = np.ndarray[Any, Any]
DTYPES = ("f32", "f64", "f16", "bf16")
ROWS = (1, 15, 16, 17, 128, 129, 300)


def unusual(rng: np.random.Generator, rows: int, n: int) -> Array:
    """Rows with ties, zeros, masked elements, nothing but masked ones, infinities and NaN."""
    x = rng.standard_normal((rows, n))
    x[::5, 1:3] = x.max()
    x[1::7] = 0.0
    x[2::9, ::2] = -np.inf
    x[3::31] = -np.inf
    x[4::37, 0] = np.inf
    x[5::41, n - 1] = np.nan
    return x


def losses(rows: int, n: int, dtype: str) -> rlx.Graph:
    """Results of rows, of elements and of all, with what all rows share. A label is outside."""
    g = rlx.Graph("losses")
    x = g.param("x", (rows, n), dtype=dtype)
    b = g.param("b", (n,), dtype=dtype)
    labels = g.input("labels", (rows,), dtype="i32")
    shifted = x + b
    largest = g.reduce_max(shifted, axes=[-1], keep_dim=True)
    raised = g.exp(shifted - largest)
    total = g.log(g.reduce_sum(raised, axes=[-1])) + g.reduce_min(shifted, axes=[-1])
    own = g.softmax_cross_entropy_with_logits(shifted, labels)
    g.set_outputs([g.softmax(x * b, axis=-1), largest, raised, total, own, g.reduce_mean(own)])
    return g


def of_last(rows: int, n: int, dtype: str) -> rlx.Graph:
    """The loss alone, with a gradient for each element and the sum over each column."""
    g = rlx.Graph("loss")
    x, b = g.param("x", (rows, n), dtype=dtype), g.param("b", (n,), dtype=dtype)
    labels = g.input("labels", (rows,), dtype="i32")
    g.set_outputs(g.reduce_mean(g.softmax_cross_entropy_with_logits(x + b, labels)))
    return g


def arrays(rows: int, n: int, dtype: str, x: Array) -> dict[str, Array]:
    rng = np.random.default_rng(n)
    labels = rng.integers(0, n, rows)
    labels[7::50] = n
    own = oracle.numpy_dtype(dtype)
    return {
        "x": oracle.convert(x, own),
        "b": oracle.convert(rng.standard_normal(n), own),
        "labels": labels.astype("i4"),
    }


def check(g: rlx.Graph | rlx.GraphModule, given: dict[str, Array], threads: int = 1, units: float = 8) -> None:
    found = compile_module(as_graph_module(g).module, threads, Effort.QUICK)(**given)
    with np.errstate(all="ignore"):
        expected = oracle.run(g, **given)
    for result, right in zip(found, expected, strict=True):
        oracle.assert_close(result, right, units)


def have_lanes(g: rlx.Graph) -> bool:
    """Whether what is found of each row of a block waits in a buffer."""
    kernels = [op for op in lower_to_lir(g.module.clone(), 1).ops if isinstance(op, KernelOp)]
    scratch = [op for kernel in kernels for op in kernel.walk() if isinstance(op, memref.AllocaOp)]
    return any(op.memref.type.get_shape() == (64,) for op in scratch)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [7, 10, 15, 16])
def test_values(n: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    for rows in ROWS if n == 10 else (16, 33):
        given = arrays(rows, n, dtype, rng.standard_normal((rows, n)))
        g = losses(rows, n, dtype)
        check(g, given)
        check(rlx.grad_with_loss(of_last(rows, n, dtype), wrt=["x", "b"]), given)


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16"])
def test_ties_masks_infinities_and_nan(dtype: str) -> None:
    rows, n = 130, 10
    given = arrays(rows, n, dtype, unusual(np.random.default_rng(1), rows, n))
    check(losses(rows, n, dtype), given)


@pytest.mark.parametrize("rows", [64, 3000, 3001])
def test_pieces(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of one size and ragged ones, with a check of every access."""
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
    given = arrays(rows, 10, "f64", np.random.default_rng(rows).standard_normal((rows, 10)))
    check(losses(rows, 10, "f64"), given, threads=2)
    check(rlx.grad_with_loss(of_last(rows, 10, "f64"), wrt=["x", "b"]), given, threads=2)


def test_rows_of_two_axes() -> None:
    g = rlx.Graph("window")
    x = g.input("x", (40, 3, 4), dtype="f64")
    raised = g.exp(x - g.reduce_max(x, axes=[1, 2], keep_dim=True))
    g.set_outputs(raised / g.reduce_sum(raised, axes=[1, 2], keep_dim=True))
    check(g, {"x": np.random.default_rng(2).standard_normal((40, 3, 4))})


def test_a_product_that_is_replaced_row_by_row() -> None:
    """What is stored over a product is not read as one by a later pass."""
    g = rlx.Graph("classifier")
    x, w, b = g.input("x", (50, 6), dtype="f64"), g.input("w", (6, 10), dtype="f64"), g.input("b", (10,), dtype="f64")
    g.set_outputs(g.softmax(x @ w + b, axis=-1))
    rng = np.random.default_rng(3)
    check(g, {"x": rng.standard_normal((50, 6)), "w": rng.standard_normal((6, 10)), "b": rng.standard_normal(10)})


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_a_product_that_is_a_result_as_well(dtype: str) -> None:
    """Its elements are brought side by side from where it is stored."""
    g = rlx.Graph("scores")
    x, w = g.input("x", (40, 24), dtype), g.param("w", (24, 10), dtype)
    z = x @ w
    g.set_outputs([g.reduce_mean(g.softmax_cross_entropy_with_logits(z, g.input("labels", (40,), "i32"))), z])
    rng = np.random.default_rng(6)
    given = {"x": rng.standard_normal((40, 24)), "w": rng.standard_normal((24, 10))}
    labels = rng.integers(0, 10, 40, dtype=np.int32)
    loss, found = rlx.compile(g)(
        **{n: a.astype("f4" if dtype == "f32" else "f8") for n, a in given.items()}, labels=labels
    )
    scores = given["x"] @ given["w"]
    own = np.log(np.exp(scores).sum(1)) - scores[np.arange(40), labels]
    np.testing.assert_allclose(found, scores, 1e-4, 1e-5)
    np.testing.assert_allclose(loss, own.mean(), 1e-5)


def test_which_rows_lie_across_vectors() -> None:
    """Those that neither are written out nor fill vectors, if there are enough."""

    def softmax(rows: int, n: int, dtype: str) -> rlx.Graph:
        g = rlx.Graph("softmax")
        g.set_outputs(g.softmax(g.input("x", (rows, n), dtype=dtype), axis=-1))
        return g

    assert [n for n in range(2, 20) if have_lanes(softmax(64, n, "f32"))] == [*range(7, 16)]
    assert [n for n in range(2, 20) if have_lanes(softmax(64, n, "f64"))] == [7, *range(9, 16)]
    assert [n for n in range(2, 20) if have_lanes(softmax(64, n, "bf16"))] == [*range(7, 16)]
    assert not have_lanes(softmax(15, 10, "f32"))


def dear(outer: tuple[int, ...], n: int) -> rlx.Graph:
    """More functions of each element than loops over a row are unrolled with; an operand has the last two axes."""
    g = rlx.Graph("dear")
    x, y = g.input("x", (*outer, n), dtype="f64"), g.input("y", (outer[-1], n), dtype="f64")
    raised = g.exp(x + y - g.reduce_max(x, axes=[-1], keep_dim=True))
    for _ in range(3):
        raised = g.exp(g.sin(raised) * y)
    g.set_outputs([g.reduce_sum(raised, axes=[-1]), g.softmax(raised, axis=-1), g.reduce_sum(raised)])
    return g


@pytest.mark.sampled
@pytest.mark.parametrize("outer", [(64,), (13, 5), (2, 7, 3)])
@pytest.mark.parametrize("n", [2, 4, 6])
def test_short_rows_that_are_not_unrolled(outer: tuple[int, ...], n: int) -> None:
    rng, g = np.random.default_rng(n), dear(outer, n)
    given = {"x": rng.standard_normal((*outer, n)), "y": rng.standard_normal((outer[-1], n))}
    # errors of a function go through the next one
    for threads in (1, 2):
        check(g, given, threads, units=64)
    assert have_lanes(dear((64,), n))
