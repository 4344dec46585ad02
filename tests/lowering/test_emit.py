"""The emitters: the LLVM text, the Numba text and the same text as plain Python give the same numbers, to the bit."""

import inspect
import re
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from xdsl.dialects import arith
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import PassFailedException

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm
from xdsl_rlx.lowering.backend.machine.llvm import ONLY_LOOPS
from xdsl_rlx.lowering.backend.numba.helpers import helpers_of
from xdsl_rlx.lowering.backend.numba.python_module import emit_python
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir

Run = SimpleNamespace
DTYPES: dict[str, Any] = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "i32": np.int32, "i8": np.int8}
TYPES: dict[str, Attribute] = {"f64": f64, "f32": f32, "f16": f16, "bf16": bf16, "i64": i64, "i32": i32, "i8": i8}
HARD = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    np.inf,
    -np.inf,
    np.nan,
    1e-40,
    -1e-310,
    3e38,
    127.6,
    -1e10,
    7e4,
]


def hard(dtype: Any) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        return np.array(HARD).astype(dtype)


def pairs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.meshgrid(values, values)
    return np.ascontiguousarray(x.reshape(-1)), np.ascontiguousarray(y.reshape(-1))


FLOAT_BINARY = {
    "add": lambda b, x, y: x + y,
    "sub": lambda b, x, y: x - y,
    "mul": lambda b, x, y: x * y,
    "div": lambda b, x, y: x / y,
    "maximum": lambda b, x, y: b.maximum(x, y),
    "minimum": lambda b, x, y: b.minimum(x, y),
    "copysign": lambda b, x, y: b.copysign(x, y),
    "fma": lambda b, x, y: b.fma(x, y, 0.1),
    "select": lambda b, x, y: b.select((x < y) | b.is_nan(x), x, y),
    "cascade": lambda b, x, y: b.select(x <= y, -x, b.select(b.ne(x, y) & b.not_(x >= y), 1.0, b.abs(y))),
}
FLOAT_UNARY = {
    "sqrt": lambda b, x: b.sqrt(x),
    "rsqrt": lambda b, x: b.rsqrt(x),
    "round_even": lambda b, x: b.round_even(x),
    "floor": lambda b, x: b.floor(x),
    "ceil": lambda b, x: b.ceil(x),
    "trunc": lambda b, x: b.trunc(x),
    "sigmoid": lambda b, x: b.sigmoid(x),
}
INT_BINARY = {
    "add": lambda b, x, y: x + y,
    "sub": lambda b, x, y: x - y,
    "mul": lambda b, x, y: x * y,
    "bitwise": lambda b, x, y: (x & y) ^ (x | 5),
    "shift": lambda b, x, y: ((x << 3) ^ (y >> 2)) + b.shift_right_logical(x, 3),
    "extrema": lambda b, x, y: b.maximum(x, y) - b.minimum(x, y),
    "unsigned_extrema": lambda b, x, y: b.integer(arith.MaxUIOp, x, y) - b.integer(arith.MinUIOp, x, y),
    "select": lambda b, x, y: b.select((x < y) | b.eq(x, 3), b.abs(x), -y),
    "div": lambda b, x, y: b.div(x, y),
    "rem": lambda b, x, y: b.rem(x, y),
    "floordiv": lambda b, x, y: b.floordiv(x, y),
    "by_constant": lambda b, x, y: b.div(x, 7) + b.rem(y, 3) + b.floordiv(x, 5),
    "ceildiv": lambda b, x, y: b.integer(arith.CeilDivSIOp, x, y),
    "counts": lambda b, x, y: b.population_count(x) - b.leading_zeros(y),
}


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_float_rows_agree(run: Run, type: str):
    x, y = pairs(hard(DTYPES[type]))
    t = TYPES[type]
    unary = [lambda b, x, y, f=f: f(b, x) for f in FLOAT_UNARY.values()]
    functions = [*FLOAT_BINARY.values(), *unary]
    run.agree(run.elementwise(functions, [t, t], [t] * len(functions), x.size), x0=x, x1=y)


@pytest.mark.parametrize("type", ["i8", "i32", "i64"])
def test_integer_rows_agree(run: Run, type: str):
    info = np.iinfo(DTYPES[type])
    x, y = pairs(np.array([0, 1, -1, 2, 7, -7, 100, info.max, info.min, info.min + 1], DTYPES[type]))
    t = TYPES[type]
    run.agree(run.elementwise([*INT_BINARY.values()], [t, t], [t] * len(INT_BINARY), x.size), x0=x, x1=y)


def test_integer_division_never_traps(run: Run):
    x = np.array([5, -5, np.iinfo(np.int32).min, 7], np.int32)
    y = np.array([0, 0, -1, -2], np.int32)
    (quotient,) = run.agree(run.elementwise(lambda b, p, q: b.div(p, q), [i32, i32], i32, 4), x0=x, x1=y)
    assert quotient.tolist() == [0, 0, np.iinfo(np.int32).min, -3]


@pytest.mark.parametrize("source", DTYPES)
def test_casts_agree(run: Run, source: str):
    info = np.iinfo(DTYPES[source]) if source[0] == "i" else None
    x = hard(DTYPES[source]) if info is None else np.array([0, 1, -1, 100, info.max, info.min], DTYPES[source])

    def cast(target: Attribute, signed: bool) -> Any:
        return lambda b, v: b.cast(v, target, signed=signed)

    targets = [TYPES[name] for name in DTYPES]
    functions = [cast(target, signed) for signed in (True, False) for target in targets]
    run.agree(run.elementwise(functions, [TYPES[source]], targets * 2, x.size), x0=x)


def test_float_to_integer_saturates_and_nan_is_zero(run: Run):
    x = np.array([np.nan, np.inf, -np.inf, 1e20, -1.9, 2.0**31], np.float32)
    (y,) = run.agree(run.elementwise(lambda b, v: b.cast(v, i32), [f32], i32, 6), x0=x)
    assert y.tolist() == [0, 2**31 - 1, -(2**31), 2**31 - 1, -1, 2**31 - 1]


@pytest.mark.parametrize("type", ["f32", "i32", "i8"])
def test_booleans_are_bytes(run: Run, type: str):
    x = np.array([0, 1, 2, 5, 0], DTYPES[type])
    module = run.elementwise(lambda b, v: b.cast(v, i1), [TYPES[type]], i1, x.size)
    (flags,) = run.agree(module, x0=x)
    assert flags.dtype == np.bool_ and flags.tolist() == [False, True, True, True, False]
    back = run.elementwise(lambda b, v: b.cast(b.not_(v) & True, TYPES[type]), [i1], TYPES[type], x.size)
    assert run.agree(back, x0=flags)[0].tolist() == [1, 0, 0, 0, 1]


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_every_narrow_float_is_extended_exactly(run: Run, kind: str):
    codes = np.arange(1 << 16, dtype=np.uint16)
    dtype = np.float16 if kind == "f16" else bfloat16
    x = codes.view(np.float16) if kind == "f16" else codes
    module = run.elementwise(lambda b, v: v, [TYPES[kind]], f32, codes.size)
    (ours,) = run.agree(module, plain=False, x0=x)
    np.testing.assert_array_equal(run.bits(ours), run.bits(codes.view(dtype).astype(np.float32)))
    some = codes[:: 1 << 7]
    short = run.elementwise(lambda b, v: v, [TYPES[kind]], f32, some.size)
    run.agree(short, x0=some.view(np.float16) if kind == "f16" else some)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_narrow_floats_are_rounded_once_to_nearest_even(run: Run, kind: str, source: str):
    rng = np.random.default_rng(0)
    dtype = np.float16 if kind == "f16" else bfloat16
    values = rng.integers(0, 1 << 16, 4000).astype(np.uint16).view(dtype)
    with np.errstate(invalid="ignore"):
        values = values.astype(np.float32)
    values = values[~np.isnan(values)].astype(np.float64)
    with np.errstate(all="ignore"):
        nearby = np.concatenate([values, values * (1 + 2.0**-9), values * (1 + 2.0**-12), values * (1 + 2.0**-40)])
        halves = (values[:-1] + values[1:]) / 2
        x = np.concatenate([nearby, halves, HARD]).astype(DTYPES[source])
    module = run.elementwise(lambda b, v: v, [TYPES[source]], TYPES[kind], x.size)
    (ours,) = run.agree(module, plain=False, x0=x)
    with np.errstate(all="ignore"):
        expected = x.astype(np.float16) if kind == "f16" else _to_bfloat16(x)
    np.testing.assert_array_equal(run.bits(ours.view(np.float16)), run.bits(expected.view(np.float16)))


def _to_bfloat16(x: np.ndarray) -> np.ndarray:
    """Nearest even, from either width, by comparing with the two neighbours in f64."""
    near = x.astype(np.float32).astype(bfloat16)
    codes = near.view(np.uint16)
    best = codes.copy()
    wide = x.astype(np.float64)
    for step in (-1, 1):
        other = (codes.astype(np.int32) + step).clip(0, 0xFFFF).astype(np.uint16)
        a, c = (v.view(bfloat16).astype(np.float64) for v in (best, other))
        closer = (abs(c - wide) < abs(a - wide)) | ((abs(c - wide) == abs(a - wide)) & (other % 2 == 0))
        keep = ~np.isfinite(a) | ~np.isfinite(c) | ((other ^ codes) >> 15 == 1)
        best = np.where(closer & ~keep, other, best)
    return best


KERNELS = """
  lir.kernel @sums(%a: memref<7x9xf32, strided<[1, 7]>>, %d: memref<f32>, %o: memref<7x9xf32>, %s: memref<7xf32>,
                   %lo: index, %hi: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %zero = arith.constant 0.0 : f32
    %scale = memref.load %d[] : memref<f32>
    %row = memref.alloca() : memref<9xf32>
    scf.for %i = %lo to %hi step %c1 {
      %total, %largest = scf.for %j = %c0 to %c9 step %c1 iter_args(%acc = %zero, %top = %zero) -> (f32, f32) {
        %v = memref.load %a[%i, %j] : memref<7x9xf32, strided<[1, 7]>>
        %m = arith.mulf %v, %scale : f32
        memref.store %m, %row[%j] : memref<9xf32>
        %sum = arith.addf %acc, %m : f32
        %max = arith.maximumf %top, %m : f32
        scf.yield %sum, %max : f32, f32
      }
      scf.for %j = %c0 to %c9 step %c1 {
        %r = memref.load %row[%j] : memref<9xf32>
        %positive = arith.cmpf ogt, %r, %zero : f32
        %q = scf.if %positive -> (f32) {
          %t = math.tanh %r : f32
          scf.yield %t : f32
        } else {
          %e = math.exp %r : f32
          scf.yield %e : f32
        }
        memref.store %q, %o[%i, %j] : memref<7x9xf32>
        %last = arith.cmpi eq, %j, %c0 : index
        scf.if %last {
          %both = arith.addf %total, %largest : f32
          memref.store %both, %s[%i] : memref<7xf32>
        }
      }
    }
    lir.return
  }
"""


def test_nested_loops_scratch_branches_views_and_chunks(run: Run):
    module = run.parse(
        """builtin.module {
  lir.program @step attributes {arena_bytes = 512 : i64, alignment = 64 : i64, optional = ["d_output"]} {
    %x = lir.input "layer.0.x" : memref<9x7xf32>
    %d = lir.input "d_output" : memref<f32>
    %t = lir.view %x at 0 : memref<9x7xf32> to memref<7x9xf32, strided<[1, 7]>>
    %o = lir.output 1 : memref<7x9xf32>
    %h = lir.slot at 64 : memref<7xf32>
    %s = lir.output 0 : memref<7xf32>
    lir.launch @sums over 7 by 3 reads(%t, %d : memref<7x9xf32, strided<[1, 7]>>, memref<f32>)
      writes(%o, %h : memref<7x9xf32>, memref<7xf32>)
    lir.launch @copy over 7 by 7 reads(%h : memref<7xf32>) writes(%s : memref<7xf32>)
  }"""
        + KERNELS
        + """
  lir.kernel @copy(%a: memref<7xf32>, %o: memref<7xf32>, %lo: index, %hi: index) {
    %c1 = arith.constant 1 : index
    scf.for %i = %lo to %hi step %c1 {
      %v = memref.load %a[%i] : memref<7xf32>
      memref.store %v, %o[%i] : memref<7xf32>
    }
    lir.return
  }
}"""
    )
    x = np.random.default_rng(1).normal(size=(9, 7)).astype(np.float32)
    sums, mapped = run.agree(module, **{"layer.0.x": x})
    expected = np.where(x.T > 0, np.tanh(x.T), np.exp(x.T))
    np.testing.assert_allclose(mapped, expected, rtol=1e-6)
    np.testing.assert_allclose(sums, x.sum(0) + np.maximum(x.max(0), 0), rtol=1e-5)


def test_while_loops(run: Run):
    module = run.parse(
        """builtin.module {
  lir.program @step {
    %x = lir.input "x" : memref<5xi64>
    %o = lir.output 0 : memref<5xi64>
    lir.launch @collatz over 5 by 2 reads(%x : memref<5xi64>) writes(%o : memref<5xi64>)
  }
  lir.kernel @collatz(%x: memref<5xi64>, %o: memref<5xi64>, %lo: index, %hi: index) {
    %step = arith.constant 1 : index
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %two = arith.constant 2 : i64
    %three = arith.constant 3 : i64
    scf.for %i = %lo to %hi step %step {
      %n = memref.load %x[%i] : memref<5xi64>
      %end, %steps = scf.while (%m = %n, %k = %zero) : (i64, i64) -> (i64, i64) {
        %more = arith.cmpi ne, %m, %one : i64
        scf.condition(%more) %m, %k : i64, i64
      } do {
      ^bb0(%p: i64, %q: i64):
        %bit = arith.andi %p, %one : i64
        %odd = arith.cmpi ne, %bit, %zero : i64
        %next = scf.if %odd -> (i64) {
          %t = arith.muli %p, %three : i64
          %u = arith.addi %t, %one : i64
          scf.yield %u : i64
        } else {
          %v = arith.divsi %p, %two : i64
          scf.yield %v : i64
        }
        %count = arith.addi %q, %one : i64
        scf.yield %next, %count : i64, i64
      }
      memref.store %steps, %o[%i] : memref<5xi64>
    }
    lir.return
  }
}"""
    )
    (steps,) = run.agree(module, x=np.array([1, 6, 7, 27, 97]))
    assert steps.tolist() == [0, 8, 16, 111, 118]


@pytest.mark.sampled
@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
@pytest.mark.parametrize(
    "shape", [(5, 7, 3), (1, 4, 6), (6, 4, 1), (3, 1, 2), (1, 1, 1), (3, 0, 2), (0, 2, 3), (2, 3, 0)]
)
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_gemm_of_row_and_column_ranges(run: Run, ta: bool, tb: bool, shape: tuple[int, int, int], type: str):
    """Two batches, rows in chunks of 2, all columns but the first from a second kernel that accumulates."""
    m, k, n = shape
    first = min(1, n)
    sa, sb = ([1, m] if ta else [k, 1]), ([1, k] if tb else [n, 1])
    ma = f"memref<2x{m}x{k}x{type}, strided<[{m * k}, {sa[0]}, {sa[1]}]>>"
    mb, mc = f"memref<{k}x{n}x{type}, strided<[{sb[0]}, {sb[1]}]>>", f"memref<2x{m}x{n}x{type}>"
    flat_a, flat_b = f"memref<{2 * m * k}x{type}>", f"memref<{k * n}x{type}>"
    module = run.parse(f"""builtin.module {{
  lir.program @step {{
    %a = lir.input "a" : {flat_a}
    %b = lir.input "b" : {flat_b}
    %av = lir.view %a at 0 : {flat_a} to {ma}
    %bv = lir.view %b at 0 : {flat_b} to {mb}
    %c = lir.output 0 : {mc}
    lir.launch @k0 over {m} by 2 reads(%av, %bv : {ma}, {mb}) writes(%c : {mc})
  }}
  lir.kernel @k0(%a: {ma}, %b: {mb}, %c: {mc}, %lo: index, %hi: index) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %first = arith.constant {first} : index
    %n = arith.constant {n} : index
    scf.for %i = %c0 to %c2 step %c1 {{
      lir.gemm %a[%i], %b[], %c[%i] rows %lo to %hi cols %c0 to %n : {ma}, {mb}, {mc}
      lir.gemm %a[%i], %b[], %c[%i] rows %lo to %hi cols %first to %n accumulate : {ma}, {mb}, {mc}
    }}
    lir.return
  }}
}}""")
    rng = np.random.default_rng(2)
    a, b = (rng.normal(size=size).astype(DTYPES[type]) for size in (2 * m * k, k * n))
    (c,) = run.agree(module, jit=shape == (5, 7, 3) and ta == tb, a=a, b=b)
    left = a.reshape(2, k, m).transpose(0, 2, 1) if ta else a.reshape(2, m, k)
    right = b.reshape(n, k).T if tb else b.reshape(k, n)
    expected = left @ right
    expected[:, :, first:] *= 2
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("ta", "tb"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_gemm_of_an_inner_range(run: Run, ta: bool, tb: bool, type: str):
    """Iteration i multiplies columns [bounds[i], bounds[i+1]) by those rows; an empty range gives zeros."""
    m, k, n = 3, 7, 4
    sa, sb = ([1, m] if ta else [k, 1]), ([1, k] if tb else [n, 1])
    ma = f"memref<{m}x{k}x{type}, strided<[{sa[0]}, {sa[1]}]>>"
    mb, mc = f"memref<{k}x{n}x{type}, strided<[{sb[0]}, {sb[1]}]>>", f"memref<3x{m}x{n}x{type}>"
    flat_a, flat_b, at = f"memref<{m * k}x{type}>", f"memref<{k * n}x{type}>", "memref<4xi64>"
    module = run.parse(f"""builtin.module {{
  lir.program @step {{
    %a = lir.input "a" : {flat_a}
    %b = lir.input "b" : {flat_b}
    %at = lir.input "at" : {at}
    %av = lir.view %a at 0 : {flat_a} to {ma}
    %bv = lir.view %b at 0 : {flat_b} to {mb}
    %c = lir.output 0 : {mc}
    lir.launch @k0 over 3 by 2 reads(%av, %bv, %at : {ma}, {mb}, {at}) writes(%c : {mc})
  }}
  lir.kernel @k0(%a: {ma}, %b: {mb}, %at: {at}, %c: {mc}, %lo: index, %hi: index) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = arith.constant {m} : index
    %n = arith.constant {n} : index
    scf.for %i = %lo to %hi step %c1 {{
      %next = arith.addi %i, %c1 : index
      %w0 = memref.load %at[%i] : {at}
      %w1 = memref.load %at[%next] : {at}
      %k0 = arith.index_cast %w0 : i64 to index
      %k1 = arith.index_cast %w1 : i64 to index
      lir.gemm %a[], %b[], %c[%i] rows %c0 to %m cols %c0 to %n inner %k0 to %k1 : {ma}, {mb}, {mc}
    }}
    lir.return
  }}
}}""")
    rng = np.random.default_rng(2)
    a, b = (rng.normal(size=size).astype(DTYPES[type]) for size in (m * k, k * n))
    bounds = [1, 4, 4, 7]
    (c,) = run.agree(module, jit=not (ta or tb), a=a, b=b, at=np.array(bounds))
    left = a.reshape(k, m).T if ta else a.reshape(m, k)
    right = b.reshape(n, k).T if tb else b.reshape(k, n)
    for i in range(3):
        inner = slice(bounds[i], bounds[i + 1])
        np.testing.assert_allclose(c[i], left[:, inner] @ right[inner], rtol=1e-5, atol=1e-5)


@pytest.mark.sampled
@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
@pytest.mark.parametrize("size", [(3, 2, 4), (1, 1, 1), (2, 3, 0)])
def test_gemm_of_blocks(run: Run, ta: bool, tb: bool, size: tuple[int, int, int]):
    """A block inside of each buffer, then the same added to it; around the block nothing is written."""
    m, n, k = size
    flips = ["transposed" if flip else "" for flip in (ta, tb)]
    module = run.parse(f"""builtin.module {{
  lir.program @step {{
    %a = lir.input "a" : memref<2x7x8xf64>
    %b = lir.input "b" : memref<6x9xf64>
    %c = lir.output 0 : memref<2x6x7xf64>
    lir.launch @k0 over 2 by 1 reads(%a, %b : memref<2x7x8xf64>, memref<6x9xf64>) writes(%c : memref<2x6x7xf64>)
  }}
  lir.kernel @k0(%a: memref<2x7x8xf64>, %b: memref<6x9xf64>, %c: memref<2x6x7xf64>, %lo: index, %hi: index) {{
    {" ".join(f"%c{i} = arith.constant {i} : index" for i in range(10))}
    %zero = arith.constant 0.0 : f64
    scf.for %i = %c0 to %c6 step %c1 {{
      scf.for %j = %c0 to %c7 step %c1 {{
        memref.store %zero, %c[%lo, %i, %j] : memref<2x6x7xf64>
      }}
    }}
    lir.block_gemm %a[%lo, %c2, %c3] {flips[0]}, %b[%c1, %c4] {flips[1]}, %c[%lo, %c1, %c2]
      rows %c{m} cols %c{n} depth %c{k} : memref<2x7x8xf64>, memref<6x9xf64>, memref<2x6x7xf64>
    lir.block_gemm %a[%lo, %c2, %c3] {flips[0]}, %b[%c1, %c4] {flips[1]}, %c[%lo, %c1, %c2]
      rows %c{m} cols %c{n} depth %c{k} accumulate : memref<2x7x8xf64>, memref<6x9xf64>, memref<2x6x7xf64>
    lir.return
  }}
}}""")
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 7, 8)), rng.normal(size=(6, 9))
    (c,) = run.agree(module, jit=size == (3, 2, 4) and ta == tb, a=a, b=b)
    left = a[:, 2 : 2 + k, 3 : 3 + m].transpose(0, 2, 1) if ta else a[:, 2 : 2 + m, 3 : 3 + k]
    right = b[1 : 1 + n, 4 : 4 + k].T if tb else b[1 : 1 + k, 4 : 4 + n]
    expected = np.zeros((2, 6, 7))
    expected[:, 1 : 1 + m, 2 : 2 + n] = 2 * (left @ right)
    np.testing.assert_allclose(c, expected, rtol=1e-13, atol=1e-13)


def test_reassociated_sums_are_vectorised(run: Run):
    module = run.parse(
        """builtin.module {
  lir.program @step {
    %x = lir.input "x" : memref<1000xf32>
    %o = lir.output 0 : memref<f32>
    lir.launch @sum over 1000 by 1000 reads(%x : memref<1000xf32>) writes(%o : memref<f32>)
  }
  lir.kernel @sum(%x: memref<1000xf32>, %o: memref<f32>, %lo: index, %hi: index) {
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %s = scf.for %i = %lo to %hi step %c1 iter_args(%acc = %zero) -> (f32) {
      %v = memref.load %x[%i] : memref<1000xf32>
      %n = arith.addf %acc, %v fastmath<reassoc,nsz> : f32
      scf.yield %n : f32
    }
    memref.store %s, %o[] : memref<f32>
    lir.return
  }
}"""
    )
    x = np.random.default_rng(3).normal(size=1000).astype(np.float32)
    for total in (*run.llvm(module)(x=x), *run.text(module, jit=True)(x=x), *run.text(module, jit=False)(x=x)):
        np.testing.assert_allclose(total, x.astype(np.float64).sum(), rtol=1e-4)
    assert re.search(r"\bv?addps\b", run.assembly(module))


def test_an_elementwise_kernel_has_no_scalar_float_math_in_its_loop(run: Run):
    module = run.elementwise(lambda b, x: b.exp(x) + b.tanh(x) * b.erf(x), [f32], f32, 1 << 14)
    text = run.assembly(module)
    blocks = re.split(r"^\.LBB", text, flags=re.MULTILINE)
    loops = [x for x in blocks if re.search(r"^\s*j\w+\s+\.LBB" + re.escape(x.split(":")[0]) + r"\b", x, re.MULTILINE)]
    main = max(loops, key=lambda x: len(re.findall(r"\bv?(fn?madd\w+|mul|add|sub|div)ps\b", x)))
    assert len(re.findall(r"\bv?(fn?m(?:add|sub)\w+|mul|add|sub|div)ps\b", main)) > 40
    assert not re.search(r"\b(v?(add|sub|mul|div|sqrt)s[sd]|vfn?m(add|sub)\w+s[sd]|call\w*)\b", main)


def test_constants_of_every_type(run: Run):
    module = run.parse(
        """builtin.module {
  lir.program @step {
    %a = lir.constant dense<[1.0, -0.0, 0.1]> : tensor<3xf32> : memref<3xf32>
    %b = lir.constant dense<7> : tensor<3xi32> : memref<3xi32>
    %c = lir.constant dense<[true, false, true]> : tensor<3xi1> : memref<3xi1>
    %o = lir.output 0 : memref<3xf32>
    lir.launch @k over 3 by 3 reads(%a, %b, %c : memref<3xf32>, memref<3xi32>, memref<3xi1>) writes(%o : memref<3xf32>)
  }
  lir.kernel @k(%a: memref<3xf32>, %b: memref<3xi32>, %c: memref<3xi1>, %o: memref<3xf32>, %lo: index, %hi: index) {
    %c1 = arith.constant 1 : index
    scf.for %i = %lo to %hi step %c1 {
      %x = memref.load %a[%i] : memref<3xf32>
      %y = memref.load %b[%i] : memref<3xi32>
      %p = memref.load %c[%i] : memref<3xi1>
      %z = arith.sitofp %y : i32 to f32
      %r = arith.select %p, %x, %z : f32
      memref.store %r, %o[%i] : memref<3xf32>
    }
    lir.return
  }
}"""
    )
    assert run.agree(module)[0].tolist() == [1.0, 7.0, np.float32(0.1)]


def test_ops_without_a_row_are_named(run: Run):
    module = run.parse(
        """builtin.module {
  lir.kernel @k(%a: memref<3xf32>, %lo: index, %hi: index) {
    %x = memref.load %a[%lo] : memref<3xf32>
    %y = math.round %x : f32
    lir.return
  }
}"""
    )
    for emit in (emit_llvm, emit_python):
        with pytest.raises(PassFailedException, match=r"math\.round has no"):
            emit(module)


def test_printed_python_is_readable(run: Run):
    text = emit_python(run.parse("builtin.module {" + KERNELS + "}"))
    assert "for i in range(lo, hi):" in text
    assert "m = v * scale" in text
    assert "row = stack('f32[9]')" in text
    assert emit_python(run.parse("builtin.module {" + KERNELS + "}")) == text


@pytest.mark.parametrize("stem", ["machinery", "launching", "prelude"])
def test_helpers_of_printed_modules_are_functions_of_modules(stem: str):
    """A printed module has them as they stand there."""
    module = import_module(f"xdsl_rlx.lowering.backend.numba.{stem}")
    own = [name for name, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__]
    sources = {name: inspect.getsource(getattr(module, name)) for name in own}
    sources = {name: text for name, text in sources.items() if f"\ndef {name}(" in f"\n{text}"}
    assert len(sources) > 6
    for name, source in sources.items():
        assert source.rstrip("\n").replace("TOO_LONG", "-2") in "\n".join(helpers_of(name))


def test_threads_must_be_a_number_of_threads(run: Run):
    with pytest.raises(PassFailedException, match=r"^threads must be at least 1, got 0$"):
        emit_python(run.parse("builtin.module {" + KERNELS + "}"), 0)


def test_the_text_of_a_kernel_is_the_same_each_time():
    """Of one with several results, which are written in their order."""
    g = rlx.Graph("gates")
    x = g.input("x", (4, 5))
    g.set_outputs([g.tanh(x), g.exp(x), g.sin(x), g.sigmoid(x), g.cos(x), x * x])
    assert len({emit_llvm(lower_to_lir(g.module)) for _ in range(12)}) == 1


@pytest.mark.parametrize(
    ("f", "shape", "lines"),
    [
        (lambda x: np.tanh(x) * 2, (33, 130), False),
        (lambda x: x.sum(0), (64, 2000), False),
        (lambda x: x.sum(1), (5000, 3), True),
        (lambda x: (x + 1, x * 2), (1000,), True),
    ],
)
def test_blocks_that_hold_one_element_are_not_searched_for_vectors(
    f: Callable[[Any], Any], shape: tuple[int, ...], lines: bool
):
    """A module says so of itself where no kernel has a loop that is written out, or stores twice in a block."""
    text = emit_llvm(lower_to_lir(rlx.compile(f).trace(np.ones(shape, np.float32)).module))
    assert (f"!{ONLY_LOOPS} = !{{}}" not in text) is lines
