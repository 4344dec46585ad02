"""Products of a batch of vectors with one matrix, which become one product of matrices: all forms, types and sizes."""

# Functions of arrays of either library.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sampling import sample

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.linalg import MatmulOp
from xdsl_rlx.dialects.shapes import shape_of

BATCHES = [(1,), (2,), (7,), (33, 1), (3, 5), (1, 40), (0,), (2, 0)]
SIZES = [(1, 9), (2, 1), (9, 5), (16, 64), (65, 130), (100, 3), (5, 0)]
FORMS = {
    "matrix by columns": lambda a, v: a @ v[..., None],
    "transposed by columns": lambda a, v: a.T @ v[..., None],
    "rows by matrix": lambda a, v: v[..., None, :] @ a,
    "rows by transposed": lambda a, v: v[..., None, :] @ a.T,
    "matrix of a batch of one": lambda a, v: a[None] @ v[..., None],
}


@pytest.mark.sampled
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", SIZES)
def test_products(size: tuple[int, int], form: str) -> None:
    f: Any = FORMS[form]
    rows, columns = size
    rng = np.random.default_rng(size)
    a = rng.standard_normal(size)
    length = rows if form in ("transposed by columns", "rows by matrix") else columns
    half = rlx.compile(f)(a.astype("f2"), np.ones((4, length), "f2"))
    assert half.shape == f(a, np.ones((4, length))).shape and half.dtype == np.float16
    for batch, dtype in sample([(batch, dtype) for batch in BATCHES for dtype in ("f4", "f8")], 4, turn=sum(size)):
        v = rng.standard_normal((*batch, length))
        tolerance = 64 * float(np.finfo(dtype).eps)
        found = rlx.compile(f)(a.astype(dtype), v.astype(dtype))
        np.testing.assert_allclose(found, f(a, v), tolerance, tolerance * (length + 1))


@pytest.mark.parametrize("form", FORMS)
def test_gradients(form: str) -> None:
    f: Any = FORMS[form]
    rng = np.random.default_rng(0)
    a = rng.standard_normal((6, 10))
    v = rng.standard_normal((4, 6 if form in ("transposed by columns", "rows by matrix") else 10))
    weights = rng.standard_normal(f(a, v).shape)
    d_a, d_v = rlx.compile(rlx.grad(lambda a, v: (f(a, v) * weights).sum(), (0, 1)))(a, v)
    for x, found in ((a, d_a), (v, d_v)):
        slope = np.empty_like(x)
        for at in np.ndindex(x.shape):
            old = x[at]
            sums = []
            for new in (old + 1e-6, old - 1e-6):
                x[at] = new
                sums.append((f(a, v) * weights).sum())
            x[at] = old
            slope[at] = (sums[0] - sums[1]) / 2e-6
        np.testing.assert_allclose(found, slope, 1e-7, 1e-7)
    by_hand = {"matrix by columns": v.T @ weights[..., 0], "rows by matrix": v.T @ weights[..., 0, :]}
    if form in by_hand:
        np.testing.assert_allclose(d_a, by_hand[form].T if form == "matrix by columns" else by_hand[form], 1e-12, 1e-12)


def test_hessians_multiply_matrices() -> None:
    def loss(w: Any, x: Any) -> Any:
        return np.log(1 + np.exp(-(x @ w))).mean()

    rng = np.random.default_rng(0)
    w, x = rng.standard_normal(9) / 3, rng.standard_normal((50, 9))
    compiled = rlx.compile(rlx.hessian(loss))
    p = 1 / (1 + np.exp(x @ w))
    np.testing.assert_allclose(compiled(w, x), (x.T * (p * (1 - p))) @ x / 50, 1e-12, 1e-14)
    module = rlx.run_passes(compiled.trace(w, x).module, "mir-prepare-for-fusion")
    products = [op for op in module.module.walk() if isinstance(op, MatmulOp)]
    assert products and all(len(shape_of(op.result)) == 2 for op in products)
