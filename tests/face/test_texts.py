"""Texts that the parser upstream takes, or does not come back from, although they mean nothing."""

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import xdsl_rlx as rlx
from xdsl_rlx.dialects.contexts import context

BACKWARDS = """
func.func @f(%x: tensor<4x3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<4x3xf32> {
  %y = mir.tanh %z : tensor<4x3xf32>
  %z = mir.exp %x : tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}
"""
MESSAGE = r"^mir.tanh: operand 0 %z \(a result of mir.exp\) is used before it is defined$"

USES: dict[str, Callable[[ModuleOp], object]] = {
    "compile": rlx.compile,
    "grad": lambda module: rlx.grad_with_loss(module, wrt=["x"]),
    "run_passes": lambda module: rlx.run_passes(module, "mir-prepare-for-fusion,mir-fuse"),
    "source": rlx.numba_source,
}


def test_a_text_that_uses_a_value_before_its_definition_is_refused() -> None:
    with pytest.raises(rlx.GraphError, match=MESSAGE):
        rlx.parse(BACKWARDS)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_so_is_a_module_however_it_was_made(use: Callable[[ModuleOp], object]) -> None:
    module = Parser(context(), BACKWARDS).parse_module()
    with pytest.raises(rlx.GraphError, match=MESSAGE):
        use(module)


def test_a_value_of_another_block_is_visible_where_its_block_dominates() -> None:
    rlx.parse("""
func.func private @branches(%c: i1) -> i32 {
  %a = arith.constant 1 : i32
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %b = arith.addi %a, %a : i32
  cf.br ^bb2
^bb2:
  func.return %a : i32
}""")


def test_a_value_of_a_block_that_may_be_passed_by_is_not() -> None:
    with pytest.raises(rlx.GraphError, match="is used before it is defined"):
        rlx.parse("""
func.func private @branches(%c: i1) -> i32 {
  %a = arith.constant 1 : i32
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %b = arith.addi %a, %a : i32
  cf.br ^bb2
^bb2:
  func.return %b : i32
}""")


def test_a_string_without_an_end_is_named_at_once() -> None:
    with pytest.raises(rlx.GraphError, match=r'^<unknown>:2: unterminated string: "x, y'):
        rlx.parse(f'// "a comment may have one\n"test.op"() {{a = "x, y{" and so on" * 1}')
    with pytest.raises(rlx.GraphError, match="unterminated string"):
        rlx.parse('"test.op"() {a = "' + "long " * 100)


def test_a_number_out_of_range_is_named_with_what_follows_it() -> None:
    with pytest.raises(rlx.GraphError, match=r"(?s)<unknown>:3.*out of range"):
        rlx.parse("func.func private @f() {\n  %0 = arith.constant 99999999999999999999 : i64\n  func.return\n}")
