"""Instructions that are there already are not written again, where every way leads through them."""

import re

import models
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i32

from xdsl_rlx.dialects.lir import KernelOp
from xdsl_rlx.lowering.numba.emit.llvm_lines import LlvmLines, folded_index
from xdsl_rlx.lowering.numba.emit.llvm_module import emit_llvm
from xdsl_rlx.lowering.numba.runtime.compile_module import lower_to_lir

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


def test_loads_are_never_the_same():
    lines = LlvmLines()
    assert lines.new_line("load float, ptr %p") != lines.new_line("load float, ptr %p")


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
