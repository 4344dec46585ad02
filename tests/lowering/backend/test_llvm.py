"""LLVM text to object code to addresses."""

import ctypes
import re

import llvmlite.binding as llvm
import models
import pytest
from xdsl.dialects.builtin import ModuleOp

from xdsl_rlx import Graph
from xdsl_rlx.lowering.backend.llvm import llvm_module
from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm, emit_llvm_parts
from xdsl_rlx.lowering.backend.machine import workers
from xdsl_rlx.lowering.backend.machine.llvm import Effort, compile_llvm, emit_assembly, load_object
from xdsl_rlx.lowering.backend.machine.objects import undefined_symbols
from xdsl_rlx.lowering.backend.runtime.build_program import build_program
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module, lower_to_lir
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph
from xdsl_rlx.lowering.run_errors import CompileError

ANSWER = "define i64 @answer(i64 %x) { %y = add i64 %x, 41  ret i64 %y }"


def test_a_function_can_be_called_by_its_address():
    loaded = load_object(compile_llvm(ANSWER), ["answer"])
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loaded["answer"])(1) == 42


def test_two_objects_may_define_the_same_name():
    other = ANSWER.replace("41", "1")
    first, second = (load_object(compile_llvm(text), ["answer"]) for text in (ANSWER, other))
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    assert (prototype(first["answer"])(1), prototype(second["answer"])(1)) == (42, 2)


@pytest.mark.parametrize("text", ["define i64 @f() { ret i32 0 }", "nonsense", "define void @f() { br label %gone }"])
def test_bad_text_is_our_own_error(text: str):
    with pytest.raises(CompileError, match="llvm rejected the generated code"):
        compile_llvm(text)


def test_a_function_that_nobody_has_is_found_before_linking_ends_the_process():
    text = """
declare void @no_such_function_anywhere()
define void @f() { call void @no_such_function_anywhere() ret void }"""
    with pytest.raises(CompileError, match="no_such_function_anywhere"):
        compile_llvm(text)


def test_functions_of_the_c_library_are_found():
    text = """
declare float @llvm.tan.f32(float)
define float @f(float %x) { %y = call float @llvm.tan.f32(float %x)  ret float %y }"""
    code = compile_llvm(text)
    assert "tanf" in undefined_symbols(code)
    loaded = load_object(code, ["f"])
    assert ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(loaded["f"])(0.0) == 0.0


def test_the_code_does_not_depend_on_what_a_machine_has_emitted_before() -> None:
    texts = [ANSWER, ANSWER.replace("add", "mul"), ANSWER.replace("41", "43").replace("@answer", "@other")]
    first = [compile_llvm(text) for text in texts]
    assert [compile_llvm(text) for text in reversed(texts)] == first[::-1]
    with pytest.raises(CompileError):
        compile_llvm("nonsense")
    assert compile_llvm(ANSWER) == first[0]


def test_numba_keeps_the_passes_of_the_code_generator() -> None:
    """The option that kernels are emitted with is one of the process."""
    loop = """
define void @f(ptr noalias %a, ptr noalias %b, i64 %n, i64 %s) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %j = mul i64 %i, %s
  %p = getelementptr float, ptr %a, i64 %j
  %x = load volatile float, ptr %p
  %q = getelementptr [7 x float], ptr %b, i64 %j
  store volatile float %x, ptr %q
  %next = add i64 %i, 1
  %again = icmp slt i64 %next, %n
  br i1 %again, label %loop, label %done
done:
  ret void
}"""
    machine = llvm.Target.from_default_triple().create_target_machine(opt=3)
    before = machine.emit_assembly(llvm.parse_assembly(loop))
    assert emit_assembly(loop, Effort.FULL)
    assert machine.emit_assembly(llvm.parse_assembly(loop)) == before
    llvm.set_option("", "-disable-lsr=true")
    try:
        assert machine.emit_assembly(llvm.parse_assembly(loop)) != before
    finally:
        llvm.set_option("", "-disable-lsr=false")


def test_a_missing_kernel_is_an_error():
    with pytest.raises(CompileError, match="does not define other"):
        load_object(compile_llvm(ANSWER), ["answer", "other"])


def test_loops_are_vectorised(make):
    # the kernels' pointers may alias, so the loop is versioned by a check; its body is packed all the same
    assembly = emit_assembly(make.text)
    assert re.search(r"addps|fadd\s+v\d+\.4s", assembly)


def test_the_same_text_gives_the_same_code(make):
    assert compile_llvm(make.text) == compile_llvm(make.text)


@pytest.fixture(scope="module")
def lowered() -> ModuleOp:
    return lower_to_lir(models.norm_step().module, 1)


def test_parts_hold_each_kernel_once_and_give_the_same_bits(lowered: ModuleOp, monkeypatch: pytest.MonkeyPatch):
    program = build_program(lowered)
    monkeypatch.setattr(llvm_module, "_PART_CHARACTERS", 1 << 30)
    (whole,) = emit_llvm_parts(lowered)
    assert whole == emit_llvm(lowered)
    monkeypatch.setattr(llvm_module, "_PART_CHARACTERS", 1)
    parts = [*emit_llvm_parts(lowered)]
    assert len(parts) == len(program.kernels) > 1
    assert sorted(name for part in parts for name in re.findall(r"define void @([^.(]+)\(", part)) == sorted(
        program.kernels
    )
    found = [
        CompiledGraph(program, load_object(compile_llvm(*texts), program.kernels), 1)(**models.norm_arrays())
        for texts in ([whole], parts)
    ]
    assert [one.tobytes() for one in found[0]] == [one.tobytes() for one in found[1]]


def test_the_code_does_not_depend_on_the_cores(make, monkeypatch: pytest.MonkeyPatch):
    found = set[bytes]()
    for cores in (1, 3):
        monkeypatch.setattr(workers, "cores", lambda cores=cores: cores)
        found.add(compile_llvm(make.add_text, ANSWER, make.add_text))
    assert len(found) == 1


def test_an_error_in_one_of_several_modules_is_our_own(make):
    with pytest.raises(CompileError, match="llvm rejected the generated code"):
        compile_llvm(ANSWER, "nonsense", make.add_text)


def test_the_least_effort_gives_scalar_code_of_the_same_meaning(make):
    assembly = emit_assembly(make.text, Effort.QUICK)
    assert not re.search(r"addps|fadd\s+v\d+\.4s", assembly)
    assert load_object(compile_llvm(ANSWER, effort=Effort.QUICK), ["answer"])["answer"]


@pytest.mark.optimised
def test_the_effort_is_part_of_the_key():
    graph = Graph("effort")
    graph.set_outputs([graph.tanh(graph.input("x", (3,)))])
    assert not compile_module(graph.module, 1, effort=Effort.QUICK).from_cache
    assert compile_module(graph.module, 1, effort=Effort.QUICK).from_cache
    assert not compile_module(graph.module, 1).from_cache
    assert compile_module(graph.module, 1, effort=Effort.FULL).from_cache
