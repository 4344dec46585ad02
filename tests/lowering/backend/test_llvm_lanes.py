"""Loops of lanes as LLVM vectors: which are, what the text is, and that numbers are those of the loop."""

import re

import ml_dtypes
import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import KernelOp
from xdsl_rlx.dialects.lir.kernel import LANES
from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module

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
OWN_COLUMN = f"""
    %a = memref.load %o[%i, %j] : {LINE}
    %b = memref.load %x[%i, %j] : {LINE}
    %s = arith.addf %a, %b : f32
    memref.store %s, %o[%c1, %j] : {LINE}
    %d = memref.load %o[%c1, %j] : {LINE}
    %m = arith.mulf %d, %half : f32
    memref.store %m, %o[%i, %j] : {LINE}"""
FOUND = {
    "arithmetic": (AXPY, 0, LENGTH),
    "shifted": (SHIFTED, 1, 38),
    "one": (AXPY, 5, 6),
    "same": (BROADCAST, 3, 26),
    "one condition": (CHOICE, 0, 37),
    "several elements of its own column": (OWN_COLUMN, 2, 37),
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


@pytest.mark.sampled
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


def narrow(mark: str) -> str:
    """A program that rounds seven columns, packs two lines of them, and computes with bytes."""
    columns, rows = "memref<7x40xf32, strided<[1, 7]>>", "memref<40x7x{}>".format
    half, wide, pairs, line, sums = rows("bf16"), rows("f32"), rows("i32"), "memref<40xi8>", "memref<40xi32>"
    return f"""builtin.module {{
lir.program @p {{
  %x = lir.input "x" : {wide}
  %b = lir.input "b" : {line}
  %s = lir.output 0 : {half}
  %w = lir.output 1 : {wide}
  %n = lir.output 2 : {sums}
  %c = lir.output 3 : {pairs}
  %t = lir.view %x at 0 : {wide} to {columns}
  lir.launch @round over 40 by 40 reads(%t : {columns}) writes(%s, %w : {half}, {wide})
  lir.launch @pack over 40 by 40 reads(%s : {half}) writes(%c : {pairs})
  lir.launch @bytes over 1 by 1 reads(%b : {line}) writes(%n : {sums})
}}
lir.kernel @round(%x: {columns}, %s: {half}, %w: {wide}, %lo: index, %hi: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  scf.for %i = %lo to %hi step %c1 {{
    scf.for %j = %c0 to %c7 step %c1 {{
      %v = memref.load %x[%j, %i] : {columns}
      %r = arith.truncf %v : f32 to bf16
      %e = arith.extf %r : bf16 to f32
      memref.store %r, %s[%i, %j] : {half}
      memref.store %e, %w[%i, %j] : {wide}
    }} {mark}
  }}
  lir.return
}}
lir.kernel @pack(%s: {half}, %c: {pairs}, %lo: index, %hi: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  scf.for %i = %lo to %hi step %c1 {{
    scf.for %j = %c0 to %c7 step %c1 {{
      %low = memref.load %s[%c0, %j] : {half}
      %high = memref.load %s[%i, %j] : {half}
      %r = lir.pack_bf16 %low, %high
      memref.store %r, %c[%i, %j] : {pairs}
    }} {mark}
  }}
  lir.return
}}
lir.kernel @bytes(%b: {line}, %n: {sums}, %lo: index, %hi: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  %three = arith.constant 3 : i32
  scf.for %j = %c0 to %c40 step %c1 {{
    %v = memref.load %b[%j] : {line}
    %e = arith.extsi %v : i8 to i32
    %p = arith.muli %e, %three : i32
    %q = arith.addi %p, %e : i32
    %r = arith.xori %q, %three : i32
    memref.store %r, %n[%j] : {sums}
  }} {mark}
  lir.return
}}
}}"""


@pytest.mark.parametrize("effort", [Effort.QUICK, Effort.FULL])
def test_narrow_numbers_are_those_of_the_loop(effort: Effort):
    """Rounding to bf16 has the bits of scalars: NaN, infinities, ties and subnormal numbers too."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 1 << 32, (40, 7), np.uint32).view(np.float32)
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -3e-39, 3.4e38, 1.00390625, 1.01171875, 2.0**-126]
    x.flat[: len(special)] = special
    b = rng.integers(-128, 128, 40).astype(np.int8)
    vectors, loops = (compile_module(rlx.parse(narrow(mark)), 1, effort)(x, b) for mark in ("{lir.vectorize}", ""))
    for found, expected in zip(vectors, loops, strict=True):
        assert np.array_equal(found.view(np.uint8), expected.view(np.uint8))
    text = emit_llvm([op for op in rlx.parse(narrow("{lir.vectorize}")).walk() if isinstance(op, KernelOp)])
    assert re.search(r"trunc <4 x i32> .* to <4 x i16>", text) and "sext <16 x i8>" in text and "xor <16 x i32>" in text


def test_only_neighbours_are_loaded_at_once():
    text = """builtin.module {
lir.program @p {
  %x = lir.input "x" : memref<3x4xbf16>
  %o = lir.output 0 : memref<3x4xi32>
  lir.launch @k over 3 by 3 reads(%x : memref<3x4xbf16>) writes(%o : memref<3x4xi32>)
}
lir.kernel @k(%x: memref<3x4xbf16>, %o: memref<3x4xi32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %lo to %hi step %c1 {
    %first = memref.load %x[%i, %c0] : memref<3x4xbf16>
    %second = memref.load %x[%i, %c1] : memref<3x4xbf16>
    %third = memref.load %x[%i, %c2] : memref<3x4xbf16>
    %other = memref.load %x[%c0, %c1] : memref<3x4xbf16>
    %a = lir.pack_bf16 %first, %second
    %b = lir.pack_bf16 %first, %third
    %c = lir.pack_bf16 %second, %first
    %d = lir.pack_bf16 %first, %other
    memref.store %a, %o[%i, %c0] : memref<3x4xi32>
    memref.store %b, %o[%i, %c1] : memref<3x4xi32>
    memref.store %c, %o[%i, %c2] : memref<3x4xi32>
    memref.store %d, %o[%i, %c3] : memref<3x4xi32>
  }
  lir.return
}
}"""
    bits = np.random.default_rng(0).integers(0, 1 << 16, (3, 4), np.uint16)
    (found,) = compile_module(rlx.parse(text), 1, Effort.FULL)(bits.view(ml_dtypes.bfloat16))
    first, second, third = (bits[:, n].astype(np.uint32) for n in range(3))
    pairs = [(first, second), (first, third), (second, first), (first, second[0])]
    expected = np.stack([low | high << 16 for low, high in pairs], -1)
    assert np.array_equal(found.view(np.uint32), expected)
    assert emit_llvm([op for op in rlx.parse(text).walk() if isinstance(op, KernelOp)]).count("load i32") == 1


def test_llvm_is_asked_for_vectors_of_loops_without_any():
    """Tiles of a short product are written out: the loop over them has vectors already."""
    x = np.zeros((5000, 64), np.float32)
    graph = rlx.trace(rlx.grad(lambda x: (x @ np.ones((64, 8), np.float32)).sum()), x)
    lines = rlx.llvm_source(graph, threads=1).splitlines()
    asked = {line.split(" = ")[0] for line in lines if "llvm.loop.vectorize.width" in line}
    of_tiles = [n for n, line in enumerate(lines) if re.match(r"define void @part_", line)]
    assert of_tiles
    for first in of_tiles:
        ends = lines.index("}", first)
        assert any("<16 x float>" in line or "<8 x float>" in line for line in lines[first:ends])
        assert not any(line.endswith(f"!llvm.loop {name}") for line in lines[first:ends] for name in asked)
