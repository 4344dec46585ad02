"""Loops that are functions of their own: that they compute what they did, share what is equal, and which stay."""

import re

import numpy as np
import pytest
import wide_registers
from xdsl.dialects import scf

import xdsl_rlx as rlx
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.lir import KernelOp
from xdsl_rlx.dialects.lir.kernel import OUTLINE
from xdsl_rlx.lowering.backend.llvm import llvm_module
from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm, emit_llvm_parts
from xdsl_rlx.lowering.backend.machine.llvm import Effort, compile_llvm
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module
from xdsl_rlx.lowering.run_errors import CompileError

MARK = " {lir.outline}"
LINE = "memref<4x6xf32>"


def program(mark: str = MARK, own: str = MARK) -> str:
    """Sums of rows by two equal loops, of different buffers, by way of a number on the stack; and one loop around."""

    def sums(source: str, stack: str, target: str) -> str:
        return f"""
    scf.for %j = %c0 to %c6 step %c1 {{
      memref.store %zero, %{stack}[%c0] : memref<1xf32>
      scf.for %k = %c0 to %c6 step %c1 {{
        %s = memref.load %{stack}[%c0] : memref<1xf32>
        %e = memref.load %{source}[%i, %k] : {LINE}
        %t = arith.addf %s, %e : f32
        memref.store %t, %{stack}[%c0] : memref<1xf32>
        memref.store %t, %seen[%i] : memref<4xf32>
      }}{mark if source == "y" else ""}
      %sum = memref.load %{stack}[%c0] : memref<1xf32>
      %f = memref.load %{source}[%i, %j] : {LINE}
      %g = arith.mulf %f, %sum : f32
      memref.store %g, %{target}[%i, %j] : {LINE}
    }}{mark}"""

    return f"""builtin.module {{
lir.program @p {{
  %x = lir.input "x" : {LINE}
  %y = lir.input "y" : {LINE}
  %o = lir.output 0 : {LINE}
  %q = lir.output 1 : {LINE}
  %r = lir.output 2 : {LINE}
  lir.launch @k over 4 by 4 reads(%x, %y : {LINE}, {LINE}) writes(%o, %q, %r : {LINE}, {LINE}, {LINE})
}}
lir.kernel @k(%x: {LINE}, %y: {LINE}, %o: {LINE}, %q: {LINE}, %r: {LINE}, %lo: index, %hi: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  %first = memref.alloca(){own} : memref<1xf32>
  %second = memref.alloca(){own} : memref<1xf32>
  %third = memref.alloca(){own} : memref<1xf32>
  %seen = memref.alloca(){own} : memref<4xf32>
  scf.for %i = %lo to %hi step %c1 {{
    {sums("x", "first", "o")}
    {sums("o", "second", "q")}
    {sums("y", "third", "r")}
    %last = memref.load %seen[%i] : memref<4xf32>
    memref.store %last, %r[%i, %c0] : {LINE}
  }}
  lir.return
}}
}}"""


def text_of(source: str) -> str:
    return emit_llvm(op for op in rlx.parse(source).walk() if isinstance(op, KernelOp))


@pytest.mark.parametrize("effort", [Effort.QUICK, Effort.FULL])
def test_values_are_those_of_the_loops(effort: Effort):
    x, y = np.random.default_rng(0).standard_normal((2, 4, 6)).astype(np.float32)
    outputs = compile_module(rlx.parse(program()), 1, effort)(x, y)
    expected = [x * x.sum(1, keepdims=True)]
    expected += [expected[0] * expected[0].sum(1, keepdims=True), y * y.sum(1, keepdims=True)]
    expected[2][:, 0] = y.sum(1)
    for found, wanted in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_equal_loops_are_one_function_and_own_what_only_they_use():
    text = text_of(program())
    parts = re.findall(r"^define void @(part_\w+)\((.*)\) mustprogress", text, re.MULTILINE)
    calls = re.findall(r"^  call void @(part_\w+)\(", text, re.MULTILINE)
    # two equal loops, one with a loop in it that is a function as well
    assert len(parts) == 3 and sorted(calls.count(name) for name, _ in parts) == [1, 1, 2]
    # what they write, and what is read behind them, is passed; the sum on the stack is not
    shared = next(signature for name, signature in parts if calls.count(name) == 2)
    assert [p.split()[0] for p in shared.split(", ")].count("ptr") == 3 and shared.count("readonly") == 1


def test_a_buffer_without_the_mark_is_passed():
    signatures = re.findall(r"^define void @part_\w+\((.*)\) mustprogress", text_of(program(own="")), re.MULTILINE)
    assert [signature.count("ptr ") for signature in signatures] == [4, 3, 4]
    assert "@part_" not in text_of(program(""))


def test_a_part_of_several_modules_is_defined_in_the_first(monkeypatch: pytest.MonkeyPatch):
    g = rlx.Graph("products")
    x, y, w = g.input("x", (128, 96)), g.input("y", (128, 96)), g.input("w", (96, 112))
    g.set_outputs([x @ w, g.exp(y @ w)])
    monkeypatch.setattr(llvm_module, "_PART_CHARACTERS", 1)
    first, second = emit_llvm_parts(wide_registers.lowered(g, 1, called=False))
    ((name, signature),) = re.findall(r"^define void @(part_\w+)\((.*)\) mustprogress", first, re.MULTILINE)
    assert f"declare void @{name}({signature}) mustprogress" in second and f"define void @{name}" not in second
    a, b = np.random.default_rng(0).standard_normal((2, 128, 96)).astype(np.float32) / 4
    c = np.random.default_rng(1).standard_normal((96, 112)).astype(np.float32) / 4
    found = compile_module(wide_registers.lowered(g, 1, called=False), 1)(a, b, c)
    np.testing.assert_allclose(found[0], a @ c, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found[1], np.exp(b @ c), rtol=1e-5, atol=1e-5)
    with pytest.raises(CompileError, match=f"calls {name}, which this process does not have"):
        compile_llvm(second, effort=Effort.QUICK)


def test_only_a_loop_that_carries_nothing_has_the_mark():
    text = program("").replace("scf.for %j =", "%z = scf.for %j =", 1)
    text = text.replace("step %c1 {", "step %c1 iter_args(%a = %zero) -> (f32) {", 2).replace(
        "iter_args(%a = %zero) -> (f32) {", "{", 1
    )
    start = text.index("memref.store %g, %o[%i, %j]")
    end = text.index("}", start)
    text = f"{text[:end]}scf.yield %a : f32\n }}{MARK}{text[end + 1 :]}"
    with pytest.raises(GraphError, match=r"expected lir\.outline on a loop without carries"):
        rlx.parse(text)


def test_products_are_apart_and_checked_ones_are_not(monkeypatch: pytest.MonkeyPatch):
    g = rlx.Graph("product")
    x, w = g.input("x", (130, 96)), g.input("w", (112, 96))
    g.set_outputs([x @ g.transpose(w, (1, 0))])
    module = wide_registers.lowered(g, 1, called=False)
    assert [op for op in module.walk() if isinstance(op, scf.ForOp) and OUTLINE in op.attributes]
    assert "@part_" in emit_llvm(module)
    a, b = (np.random.default_rng(0).standard_normal(shape).astype(np.float32) for shape in ((130, 96), (112, 96)))
    plain = compile_module(module, 1)(a, b)[0]
    np.testing.assert_allclose(plain, a @ b.T, rtol=1e-5, atol=1e-4)
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
    np.testing.assert_array_equal(compile_module(wide_registers.lowered(g, 1, called=False), 1)(a, b)[0], plain)


def test_what_may_leave_the_kernel_stays_in_it():
    check = 'lir.check %i at_most %c6, "too far"\n'
    text = program().replace("memref.store %zero, %first[%c0]", f"{check} memref.store %zero, %first[%c0]")
    assert text_of(text).count("define internal void @part_") == text_of(program()).count("define internal void @part_")
    assert text_of(text).count("call void @part_") == text_of(program()).count("call void @part_") - 1
