"""Loops of lanes as LLVM vectors: which are, what the text is, and that numbers are those of the loop."""

import re

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import KernelOp
from xdsl_rlx.dialects.lir.kernel import LANES
from xdsl_rlx.lowering.numba.emit.llvm_module import emit_llvm
from xdsl_rlx.lowering.numba.machine.llvm import Effort
from xdsl_rlx.lowering.numba.runtime.compile_module import compile_module

LENGTH = 40
LINE = "memref<3x40xf32>"


def program(body: str, low: int = 0, high: int = LENGTH, mark: str = "{lir.vectorize}", element: str = "f32") -> str:
    """Rows of a result that begins as one operand, by a loop over columns."""
    return of_rows(f"scf.for %j = %low to %high step %c1 {{\n{body}\n}} {mark}", low, high).replace("f32", element)


def of_rows(body: str, low: int = 0, high: int = LENGTH) -> str:
    """The same by anything."""
    return f"""builtin.module {{
lir.program @p {{
  %x = lir.input "x" : {LINE}
  %y = lir.input "y" : {LINE}
  %o = lir.output 0 : {LINE}
  lir.launch @copy over 3 by 3 reads(%y : {LINE}) writes(%o : {LINE})
  lir.launch @k over 3 by 3 reads(%x, %y : {LINE}, {LINE}) writes(%o : {LINE})
}}
lir.kernel @copy(%y: {LINE}, %o: {LINE}, %lo: index, %hi: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant {LENGTH} : index
  scf.for %i = %lo to %hi step %c1 {{
    scf.for %j = %c0 to %n step %c1 {{
      %v = memref.load %y[%i, %j] : {LINE}
      memref.store %v, %o[%i, %j] : {LINE}
    }}
  }}
  lir.return
}}
lir.kernel @k(%x: {LINE}, %y: {LINE}, %o: {LINE}, %lo: index, %hi: index) {{
  %low = arith.constant {low} : index
  %high = arith.constant {high} : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %half = arith.constant 0.5 : f32
  scf.for %i = %lo to %hi step %c1 {{
    %first = memref.load %x[%i, %c3] : {LINE}
    {body}
  }}
  lir.return
}}
}}"""


AXPY = f"""
    %a = memref.load %x[%i, %j] : {LINE}
    %b = memref.load %o[%i, %j] : {LINE}
    %p = math.fma %a, %first, %b fastmath<contract> : f32
    %q = arith.mulf %p, %half : f32
    %n = arith.negf %q : f32
    %d = arith.divf %n, %first : f32
    %s = arith.subf %d, %a : f32
    memref.store %s, %o[%i, %j] : {LINE}"""
SHIFTED = f"""
    %k = arith.addi %c2, %j : index
    %l = arith.subi %k, %c3 : index
    %a = memref.load %x[%c1, %l] : {LINE}
    %b = memref.load %y[%i, %k] : {LINE}
    %s = arith.addf %a, %b fastmath<contract> : f32
    memref.store %s, %o[%i, %j] : {LINE}"""
BROADCAST = f"""
    %a = memref.load %x[%i, %c2] : {LINE}
    memref.store %a, %o[%i, %j] : {LINE}"""
CHOICE = f"""
    %a = memref.load %x[%i, %j] : {LINE}
    %here = arith.cmpi eq, %i, %c1 : index
    %s = arith.select %here, %half, %a : f32
    memref.store %s, %o[%i, %j] : {LINE}"""
FOUND = {
    "arithmetic": (AXPY, 0, LENGTH),
    "shifted": (SHIFTED, 1, 38),
    "one": (AXPY, 5, 6),
    "same": (BROADCAST, 3, 26),
    "one condition": (CHOICE, 0, 37),
}

STAY = {
    "a sum that goes on": f"""
    %k = arith.subi %j, %c1 : index
    %a = memref.load %o[%i, %k] : {LINE}
    memref.store %a, %o[%i, %j] : {LINE}""",
    "another function": f"""
    %a = memref.load %x[%i, %j] : {LINE}
    %s = math.sqrt %a : f32
    memref.store %s, %o[%i, %j] : {LINE}""",
    "a condition for each": f"""
    %a = memref.load %x[%i, %j] : {LINE}
    %here = arith.cmpi eq, %j, %c3 : index
    %s = arith.select %here, %half, %a : f32
    memref.store %s, %o[%i, %j] : {LINE}""",
    "every second element": f"""
    %k = arith.muli %j, %c2 : index
    %l = arith.remsi %k, %c3 : index
    %a = memref.load %x[%i, %l] : {LINE}
    memref.store %a, %o[%i, %j] : {LINE}""",
    "columns": f"""
    %r = arith.remsi %j, %c3 : index
    %a = memref.load %x[%r, %c1] : {LINE}
    memref.store %a, %o[%i, %j] : {LINE}""",
    "the mirror": f"""
    %k = arith.subi %high, %j : index
    %l = arith.subi %k, %c1 : index
    %a = memref.load %x[%i, %l] : {LINE}
    memref.store %a, %o[%i, %j] : {LINE}""",
    "one place": f"""
    %a = memref.load %x[%i, %j] : {LINE}
    memref.store %a, %o[%i, %c2] : {LINE}""",
}


def text_of(source: str) -> str:
    module = rlx.parse(source)
    return emit_llvm(op for op in module.walk() if isinstance(op, KernelOp) and op.sym_name.data == "k")


def results(source: str, effort: Effort, dtype: type) -> np.ndarray:
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((3, LENGTH)).astype(dtype) for _ in range(2))
    return compile_module(rlx.parse(source), 1, effort)(x, y)[0]


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("case", FOUND)
def test_vectors_are_what_the_loop_is(case: str, element: str):
    body, low, high = FOUND[case]
    assert LANES in program(body)
    text = text_of(program(body, low, high, element=element))
    lengths = {int(n) for n in re.findall(r"store <(\d+) x", text)}
    longest = 16 if element == "f32" else 8
    assert lengths and max(lengths) <= longest and sum(lengths) <= high - low
    assert text.count("icmp slt i64 %v") == 1, "there is the loop over rows only"
    dtype = np.float32 if element == "f32" else np.float64
    looped = results(program(body, low, high, "", element), Effort.QUICK, dtype)
    for effort in (Effort.QUICK, Effort.FULL):
        np.testing.assert_array_equal(results(program(body, low, high, element=element), effort, dtype), looped)


@pytest.mark.parametrize("case", STAY)
def test_what_is_no_arithmetic_on_neighbours_stays_a_loop(case: str):
    low, high = (1, 20) if case != "the mirror" else (0, 20)
    source = program(STAY[case], low, high)
    assert " x float>" not in text_of(source)
    np.testing.assert_array_equal(
        results(source, Effort.FULL, np.float32), results(program(STAY[case], low, high, ""), Effort.FULL, np.float32)
    )


def test_a_loop_around_vectors_is_written_out_and_carries_values():
    source = of_rows(f"""
    %sum = scf.for %r = %c0 to %c3 step %c1 iter_args(%acc = %half) -> (f32) {{
      %t = arith.subi %c2, %r : index
      scf.for %j = %low to %high step %c1 {{
        %a = memref.load %x[%r, %j] : {LINE}
        memref.store %a, %o[%t, %j] : {LINE}
      }} {{lir.vectorize}}
      %next = arith.addf %acc, %half : f32
      scf.yield %next : f32
    }} {{lir.unroll = 3 : i64}}
    memref.store %sum, %o[%i, %c1] : {LINE}""")
    text = text_of(source)
    assert text.count("store <16 x float>") == 6 and text.count("store <8 x float>") == 3
    x = np.random.default_rng(0).standard_normal((3, LENGTH)).astype(np.float32)
    (found,) = compile_module(rlx.parse(source), 1, Effort.FULL)(x, np.zeros_like(x))
    expected = x[::-1].copy()
    expected[2, 1] = 2  # the last row that is stored to; the others were written again after
    np.testing.assert_array_equal(found, expected)
