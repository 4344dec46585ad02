"""Loops over sin, cos and tan: which are made to run twice, and that their results are right when they do."""

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import math, memref, scf
from xdsl.dialects.builtin import ModuleOp, f32, f64

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import KernelOp
from xdsl_rlx.dialects.lir.scalar import SMALL, CosSmallOp, SinSmallOp, TanSmallOp
from xdsl_rlx.lowering.loops.lir_guard_range import LirGuardRangePass

Run = SimpleNamespace
DTYPES: dict[str, Any] = {"f32": np.float32, "f64": np.float64}
TOLERANCE = {"f32": 4e-7, "f64": 1e-15}


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# what the graph computes, what NumPy computes, whether all its loops may run twice
PROGRAMS: dict[str, tuple[Callable[[Any, Any], list[Any]], Callable[[np.ndarray], list[np.ndarray]], bool]] = {
    "elementwise": (
        lambda g, x: [g.sin(x), g.cos(x), g.tan(x)],
        lambda x: [np.sin(x), np.cos(x), np.tan(x)],
        True,
    ),
    "rows": (lambda g, x: [g.softmax(g.sin(x))], lambda x: [softmax(np.sin(x))], True),
    "total": (lambda g, x: [g.reduce_sum(g.cos(x))], lambda x: [np.cos(x).sum()], True),
    "columns": (lambda g, x: [g.reduce_sum(g.cos(x), axes=[0])], lambda x: [np.cos(x).sum(0)], False),
}
SHAPE = (6, 37)


def lower(name: str, suffix: str) -> ModuleOp:
    graph = rlx.Graph("step")
    x = graph.input("x", SHAPE, dtype=suffix)
    graph.set_outputs(PROGRAMS[name][0](graph, x))
    return rlx.lower(graph, 1).module


def arguments(suffix: str, kind: str) -> np.ndarray:
    x = np.random.default_rng(1).normal(scale=2, size=SHAPE)
    if kind == "one is large":
        x[2, 5] = 3e7 if suffix == "f32" else 1e18
    elif kind == "at the bound":
        bound = SMALL[f32 if suffix == "f32" else f64]
        x[0, :3] = bound, -bound, np.nextafter(DTYPES[suffix](bound), np.inf)
    elif kind == "special":
        x[1, :4] = np.inf, -np.inf, np.nan, -0.0
    return x.astype(DTYPES[suffix])


def expected(name: str, x: np.ndarray) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return PROGRAMS[name][1](x.astype(np.float64))


@pytest.mark.sampled
@pytest.mark.parametrize("suffix", DTYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_right_whatever_the_arguments(run: Run, name: str, suffix: str):
    """Sums may be reordered, so that only elementwise results are equal to the bit."""
    module = lower(name, suffix)
    compiled, plain = run.llvm(module), run.text(module, jit=False)
    exact = TOLERANCE[suffix]
    for kind in ("small", "one is large", "at the bound", "special"):
        x = arguments(suffix, kind)
        for ours, theirs, right in zip(compiled(x=x), plain(x=x), expected(name, x), strict=True):
            scale = x.size if name in ("total", "columns") else 1
            for result in (ours, theirs):
                np.testing.assert_allclose(result, right, rtol=exact, atol=exact * scale, err_msg=kind)
            if name == "elementwise":
                np.testing.assert_array_equal(run.bits(ours), run.bits(theirs), err_msg=kind)


def test_numba_agrees_with_llvm(run: Run):
    run.agree(lower("elementwise", "f32"), plain=False, x=arguments("f32", "one is large"))


def test_signs_of_zeros_stay(run: Run):
    x = np.zeros(SHAPE, np.float32)
    x[:, ::2] = -0.0
    sine, _, tangent = run.llvm(lower("elementwise", "f32"))(x=x)
    for result in (sine, tangent):
        np.testing.assert_array_equal(np.signbit(result), np.signbit(x))


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_that_may_run_twice_are_guarded(name: str):
    ops = list(lower(name, "f32").walk())
    fast = [op for op in ops if isinstance(op, SinSmallOp | CosSmallOp | TanSmallOp)]
    calls = [*fast, *(op for op in ops if isinstance(op, math.SinOp | math.CosOp | math.TanOp))]
    guards = [op for op in ops if isinstance(op, scf.IfOp)]
    if PROGRAMS[name][2]:
        assert len(fast) * 2 == len(calls) and len(guards) == 1
        full = next(op for op in guards[0].true_region.block.ops if isinstance(op, scf.ForOp))
        assert sum(op in calls for op in full.walk()) == len(fast)
    else:
        assert not fast and not guards


LOOP = """builtin.module {{
  lir.kernel @k(%a: memref<8xf32>, %d: memref<8xf64>, %o: memref<8xf32>, %lo: index, %hi: index) {{
    %step = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    {}
    lir.return
  }}
}}"""
BOTH_WIDTHS = """%total = scf.for %i = %lo to %hi step %step iter_args(%sum = %zero) -> (f32) {
      %x = memref.load %a[%i] : memref<8xf32>
      %y = memref.load %d[%i] : memref<8xf64>
      %s = math.sin %x : f32
      %c = math.cos %x : f32
      %t = math.tan %y : f64
      %u = arith.truncf %t : f64 to f32
      %p = arith.mulf %s, %c : f32
      %q = arith.addf %p, %u : f32
      %next = arith.addf %sum, %q fastmath<reassoc,nsz> : f32
      scf.yield %next : f32
    }
    memref.store %total, %o[%lo] : memref<8xf32>"""
MUST_ALIAS = """scf.for %i = %lo to %hi step %step {
      %x = memref.load %o[%i] : memref<8xf32>
      %s = math.sin %x : f32
      memref.store %s, %o[%i] : memref<8xf32>
    }"""


def guarded(run: Run, text: str) -> KernelOp:
    module = run.parse(LOOP.format(text))
    kernel = next(op for op in module.walk() if isinstance(op, KernelOp))
    LirGuardRangePass().rewrite(kernel, ())
    module.verify()
    return kernel


def test_each_width_has_its_flag_and_each_argument_is_looked_at_once(run: Run):
    kernel = guarded(run, BOTH_WIDTHS)
    fast, chosen = (op for op in kernel.body.block.ops if isinstance(op, scf.ForOp | scf.IfOp))
    assert [str(result.type) for result in fast.results] == ["f32", "i32", "i64"]
    assert str(fast).count("math.absf") == 2
    assert [result.name_hint for result in chosen.results] == ["total"]
    (store,) = (op for op in kernel.body.block.ops if isinstance(op, memref.StoreOp))
    assert store.value is chosen.results[0]


def test_a_loop_that_reads_what_it_writes_stays(run: Run):
    assert "_small" not in str(guarded(run, MUST_ALIAS))


@pytest.mark.parametrize("suffix", DTYPES)
def test_loops_are_vectorised(run: Run, suffix: str):
    # rows so long that no loop is unrolled away, however wide the vectors
    graph = rlx.Graph("step")
    x = graph.input("x", (64, 4096), dtype=suffix)
    graph.set_outputs([graph.softmax(graph.sin(x))])
    blocks = re.split(r"^\.LBB", run.assembly(rlx.lower(graph, 1).module), flags=re.MULTILINE)
    jumps = [(b, re.search(rf"^\s*j\w+\s+\.LBB{b.split(':')[0]}\b", b, re.MULTILINE)) for b in blocks]
    loops = [b[: jump.end()] for b, jump in jumps if jump is not None]
    packed = [b for b in loops if re.search(r"\bvfn?m\w+p[sd]\b", b)]
    assert len(packed) == 3, "sin twice and exp"
    for loop in packed:
        assert not re.search(r"\b(v?(add|sub|mul|div)s[sd]|vfn?m\w+s[sd])\b", loop)
