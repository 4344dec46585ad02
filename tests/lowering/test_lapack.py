"""Calls of LAPACK: both readings of a kernel agree bit for bit, and solve. Nests around them are in tests/numerics."""

from types import SimpleNamespace as Run
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.dialects import lir
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir

DTYPES = {"f32": np.float32, "f64": np.float64}


@pytest.mark.sampled
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_factors_solve(run: Run, type: str, transpose: bool):
    """Two matrices with lines further apart than they are long, three right hand sides."""
    n, k = 5, 3
    wide = f"memref<2x{n}x{n}x{type}, strided<[{n * 7}, 7, 1]>>"
    flat, rhs = f"memref<{2 * n * 7}x{type}>", f"memref<2x{k}x{n}x{type}>"
    pivots = f"memref<2x{n}xi32>"
    flag = "transpose " if transpose else ""
    module = run.parse(f"""builtin.module {{
  lir.program @step {{
    %a = lir.input "a" : {flat}
    %b = lir.input "b" : {rhs}
    %f = lir.output 0 : {flat}
    %p = lir.output 1 : {pivots}
    %x = lir.output 2 : {rhs}
    %fv = lir.view %f at 0 : {flat} to {wide}
    lir.launch @fill over {2 * n * 7} by {2 * n * 7} reads(%a : {flat}) writes(%f : {flat})
    lir.launch @factorise over 2 by 1 writes(%fv, %p : {wide}, {pivots})
    lir.launch @solve over 2 by 1 reads(%fv, %p, %b : {wide}, {pivots}, {rhs}) writes(%x : {rhs})
  }}
  lir.kernel @fill(%a: {flat}, %f: {flat}, %lo: index, %hi: index) {{
    %c1 = arith.constant 1 : index
    scf.for %i = %lo to %hi step %c1 {{
      %v = memref.load %a[%i] : {flat}
      memref.store %v, %f[%i] : {flat}
    }}
    lir.return
  }}
  lir.kernel @factorise(%a: {wide}, %p: {pivots}, %lo: index, %hi: index) {{
    lir.getrf %a[%lo], %p[%lo] : {wide}, {pivots}
    lir.return
  }}
  lir.kernel @solve(%a: {wide}, %p: {pivots}, %b: {rhs}, %x: {rhs}, %lo: index, %hi: index) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %k = arith.constant {k} : index
    %n = arith.constant {n} : index
    scf.for %r = %c0 to %k step %c1 {{
      scf.for %i = %c0 to %n step %c1 {{
        %v = memref.load %b[%lo, %r, %i] : {rhs}
        memref.store %v, %x[%lo, %r, %i] : {rhs}
      }}
    }}
    lir.getrs %a[%lo], %p[%lo], %x[%lo] {flag}: {wide}, {pivots}, {rhs}
    lir.return
  }}
}}""")
    rng = np.random.default_rng(3)
    a, b = (rng.normal(size=size).astype(DTYPES[type]) for size in (2 * n * 7, (2, k, n)))
    _, _, x = run.agree(module, jit=transpose, a=a, b=b)
    matrices = a.reshape(2, n, 7)[:, :, :n]
    columns = matrices if transpose else matrices.transpose(0, 2, 1)
    expected = np.linalg.solve(columns.astype(np.float64), b.transpose(0, 2, 1)).transpose(0, 2, 1)
    np.testing.assert_allclose(x, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.sampled
@pytest.mark.parametrize("flags", ["", "lower ", "transpose unit_diagonal ", "lower transpose "])
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_triangles_solve(run: Run, type: str, flags: str):
    """Of two matrices with a right-hand side each; the other triangle is not read."""
    n = 5
    square, rhs = f"memref<2x{n}x{n}x{type}>", f"memref<2x{n}x{type}>"
    module = run.parse(f"""builtin.module {{
  lir.program @step {{
    %a = lir.input "a" : {square}
    %b = lir.input "b" : {rhs}
    %x = lir.output 0 : {rhs}
    lir.launch @solve over 2 by 1 reads(%a, %b : {square}, {rhs}) writes(%x : {rhs})
  }}
  lir.kernel @solve(%a: {square}, %b: {rhs}, %x: {rhs}, %lo: index, %hi: index) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant {n} : index
    scf.for %i = %c0 to %n step %c1 {{
      %v = memref.load %b[%lo, %i] : {rhs}
      memref.store %v, %x[%lo, %i] : {rhs}
    }}
    lir.trsv %a[%lo], %x[%lo] {flags}: {square}, {rhs}
    lir.return
  }}
}}""")
    rng = np.random.default_rng(3)
    a = (rng.normal(size=(2, n, n)) / n + np.eye(n)).astype(DTYPES[type])
    b = rng.normal(size=(2, n)).astype(DTYPES[type])
    triangle = (np.tril if "lower" in flags else np.triu)(a)
    a[triangle == 0] = np.nan
    if "unit" in flags:
        triangle[:, range(n), range(n)] = 1
    (x,) = run.agree(module, jit=type == "f64", a=a, b=b)
    matrices = np.swapaxes(triangle, 1, 2) if "transpose" in flags else triangle
    expected = np.linalg.solve(matrices, b[..., None])[..., 0]
    np.testing.assert_allclose(x, expected, rtol=1e-4, atol=1e-5)


SIZES = {"cholesky": (2, 50, 50), "eigh": (2, 11, 11), "qr": (2, 53, 49), "svd": (2, 31, 25)}
"""Of matrices that are taken apart by LAPACK, and by blocks of our own (cholesky)."""


@pytest.mark.sampled
@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("op", SIZES)
def test_factorisations_agree(run: Run, op: str, type: str):
    """Of two matrices, the last of which has no factors of finite numbers, where NaN says so."""
    shape = SIZES[op]
    g = rlx.Graph("step")
    made: Any = getattr(g, op)(g.input("a", shape, type))
    g.set_outputs(list(made) if isinstance(made, tuple) else made)
    module = lower_to_lir(g.module, threads=1)
    assert sum(isinstance(x, lir.LapackOp) for x in module.walk()) == {"cholesky": 0, "qr": 2}.get(op, 1)
    a = np.random.default_rng(5).uniform(-1, 1, shape) + 8 * np.eye(*shape[1:])
    a[1, 3, 3] = -1 if op == "cholesky" else np.nan
    found = run.agree(module, jit=type == "f64", a=a.astype(DTYPES[type]))
    assert all(np.isfinite(x[0]).all() and not np.isfinite(x[1]).all() for x in found)
