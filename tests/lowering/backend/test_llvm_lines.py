"""Instructions that are there already are not written again, where every way leads through them."""

import re

import models
import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i32

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import KernelOp
from xdsl_rlx.lowering.backend.llvm.llvm_lines import LlvmLines, folded_index
from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module, lower_to_lir

INDEX = IndexType()


def test_what_is_known_on_a_branch_is_not_known_behind_it():
    lines = LlvmLines()
    first = lines.line("add i64 %lo, 1")
    with lines.branched():
        assert lines.line("add i64 %lo, 1") == first
        inner = lines.line("mul i64 %lo, 3")
        assert lines.line("mul i64 %lo, 3") == inner
    assert lines.line("mul i64 %lo, 3") != inner
    assert lines.line("add i64 %lo, 1") == first
    assert len(lines.lines) == 3


LOADS = """builtin.module {
lir.program @p {
  %x = lir.input "x" : memref<4xf32>
  %y = lir.output 0 : memref<4xf32>
  lir.launch @k over 1 by 1 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>)
}
lir.kernel @k(%x: memref<4xf32>, %y: memref<4xf32>, %lo: index, %hi: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %a = memref.load %x[%i] : memref<4xf32>
    memref.store %a, %y[%i] : memref<4xf32>
    %b = memref.load %y[%i] : memref<4xf32>
    %c = memref.load %x[%i] : memref<4xf32>
    %d = arith.addf %b, %c : f32
    memref.store %d, %y[%i] : memref<4xf32>
    %e = memref.load %y[%i] : memref<4xf32>
    %f = arith.mulf %e, %c : f32
    memref.store %f, %y[%i] : memref<4xf32>
  }
  lir.return
}
}"""


def test_only_what_the_function_does_not_write_is_loaded_once():
    module = rlx.parse(LOADS)
    text = emit_llvm(module)
    assert text.count("= load float") == 3
    x = np.array([1.0, -2.0, 3.0, 0.5], np.float32)
    np.testing.assert_array_equal(compile_module(module, 1, Effort.QUICK)(x)[0], 2 * x * x)


def test_indices_that_need_no_instruction():
    assert folded_index(arith.AddiOp, ["%x", "0"], INDEX) == "%x"
    assert folded_index(arith.AddiOp, ["0", "%x"], INDEX) == "%x"
    assert folded_index(arith.SubiOp, ["0", "%x"], INDEX) is None
    assert folded_index(arith.SubiOp, ["%x", "0"], INDEX) == "%x"
    assert folded_index(arith.MuliOp, ["1", "%x"], INDEX) == "%x"
    assert folded_index(arith.MuliOp, ["12", "30"], INDEX) == "360"
    # below zero, and beyond 64 bits, are LLVM's
    assert folded_index(arith.SubiOp, ["3", "5"], INDEX) is None
    assert folded_index(arith.AddiOp, [str((1 << 63) - 1), "1"], INDEX) is None
    # narrow integers wrap elsewhere
    assert folded_index(arith.AddiOp, [str((1 << 31) - 1), "1"], i32) is None


def test_no_block_computes_a_value_twice():
    kernels = [op for op in lower_to_lir(models.norm_step().module, 1).ops if isinstance(op, KernelOp)]
    for block in re.split(r"\n(?=\w+:\n|define )", emit_llvm(kernels)):
        values = re.findall(r"^  %v\d+ = ((?!load |phi ).*)$", block, re.MULTILINE)
        assert len(values) == len(set(values)), block[:80]
