"""Factorisations as plain Python."""

import numpy as np
import pytest
from as_python import run_as_python
from numerics.families.factor import positive, spread

import xdsl_rlx as rlx


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("shape", [(1, 1), (2, 5, 5), (19, 19), (2, 50, 50)])
def test_cholesky_runs_as_python(shape: tuple[int, ...], dtype: str):
    a = positive(np.random.default_rng(0), shape).astype(np.float32 if dtype == "f32" else np.float64)
    g = rlx.Graph("factor")
    g.set_outputs(g.cholesky(g.input("a", shape, dtype)))
    (found,) = run_as_python(g, a)
    tolerance = 1e-5 if dtype == "f32" else 1e-13
    np.testing.assert_allclose(found.reshape(shape), rlx.compile(g)(a)[0], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape", [(1, 1), (2, 4, 4), (2, 11, 11)])
def test_eigh_runs_as_python(shape: tuple[int, ...]):
    a = spread(np.random.default_rng(0), shape)
    g = rlx.Graph("factor")
    g.set_outputs(list(g.eigh(g.input("a", shape, "f64"))))
    for found, compiled in zip(run_as_python(g, a), rlx.compile(g)(a), strict=True):
        np.testing.assert_allclose(found.reshape(compiled.shape), compiled, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (2, 5, 3), (3, 3), (51, 49)])
def test_qr_runs_as_python(shape: tuple[int, ...]):
    a = np.random.default_rng(0).standard_normal(shape)
    a[..., 0] = 0.0
    g = rlx.Graph("factor")
    g.set_outputs(list(g.qr(g.input("a", shape, "f64"))))
    for found, compiled in zip(run_as_python(g, a), rlx.compile(g)(a), strict=True):
        np.testing.assert_allclose(found.reshape(compiled.shape), compiled, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (2, 4, 3), (27, 25)])
def test_svd_runs_as_python(shape: tuple[int, ...]):
    a = np.random.default_rng(0).standard_normal(shape)
    a[..., -1] = 0.0
    g = rlx.Graph("factor")
    g.set_outputs(list(g.svd(g.input("a", shape, "f64"))))
    for found, compiled in zip(run_as_python(g, a), rlx.compile(g)(a), strict=True):
        np.testing.assert_allclose(found.reshape(compiled.shape), compiled, rtol=1e-12, atol=1e-12)
