"""Fields of ops: from what a class says once, its constructor, text form and builder method follow."""

import inspect
from typing import Any

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import TensorType, f32, f64, i64
from xdsl.ir import Block, SSAValue
from xdsl.utils.exceptions import VerifyException

import xdsl_rlx as rlx
from xdsl_rlx.builder import HirGraph
from xdsl_rlx.dialects.hir import Hir
from xdsl_rlx.dialects.hir.hir_builder import HirBuilder
from xdsl_rlx.dialects.mir import Mir
from xdsl_rlx.dialects.mir.attention import AttentionBackwardOp, AttentionOp
from xdsl_rlx.dialects.mir.control import YieldOp
from xdsl_rlx.dialects.mir.core import MirOp
from xdsl_rlx.dialects.mir.custom_fn import CustomFnOp
from xdsl_rlx.dialects.mir.elementwise import AddOp
from xdsl_rlx.dialects.mir.fields import Part, declared_by, settings_of
from xdsl_rlx.dialects.mir.index import CumsumBackwardOp, GatherOp, TopkOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.norm import LayerNormOp
from xdsl_rlx.dialects.mir.pool import PoolOp
from xdsl_rlx.dialects.mir.recurrence import SelectiveScanOp
from xdsl_rlx.dialects.mir.reduce import ReduceMaxOp
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.dialects.mir.shape import ConcatOp, NarrowOp
from xdsl_rlx.dialects.mir.spectral import FftOp
from xdsl_rlx.dialects.mir.value import OP

DERIVED = {
    f"{graph.__name__}.{name}": function
    for graph, builder in ((rlx.Graph, MirBuilder), (HirGraph, HirBuilder))
    for name, function in inspect.getmembers(builder, inspect.isfunction)
    if hasattr(function, OP) and not name.startswith("_")
}


def value(*shape: int, element: Any = f32) -> SSAValue:
    return test.TestOp(result_types=[TensorType(element, shape)]).results[0]


def test_most_builder_methods_are_derived():
    assert len(DERIVED) > 90


@pytest.mark.parametrize("name", DERIVED)
def test_a_derived_method_has_the_arguments_and_the_words_of_its_op(name: str):
    function = DERIVED[name]
    op: type[MirOp] = vars(function)[OP]
    _, *parameters = inspect.signature(function).parameters.values()
    declared = declared_by(op)
    assert [p.name for p in parameters] == [found.alias or field for field, found in declared.items()]
    assert inspect.cleandoc(op.__doc__ or "") in (function.__doc__ or "")
    assert (function.__doc__ or "").startswith(f"`{op.name}`")
    graph, name = name.split(".")
    guarded = getattr({"Graph": rlx.Graph, "HirGraph": HirGraph}[graph], name)
    assert inspect.signature(guarded) == inspect.signature(function)
    assert (guarded.__name__, guarded.__doc__) == (name, function.__doc__)


@pytest.mark.parametrize(
    "op", [op for op in (*Mir.operations, *Hir.operations) if declared_by(op)], ids=lambda op: op.name
)
def test_operands_are_numbered_as_the_constructor_has_them(op: type[MirOp]):
    operands = [name for name, found in declared_by(op).items() if found.part == Part.OPERAND]
    assert [name for name, _ in op.get_irdl_definition().operands] == operands


def test_arguments_are_given_in_order_or_by_name_and_defaults_are_filled_in():
    x = value(2, 5)
    by_order, by_name = CumsumBackwardOp(x, 0, True), CumsumBackwardOp(x, exclusive=True, axis=0)
    assert by_order.properties == by_name.properties
    assert by_order.reverse is None and by_order.exclusive is not None
    assert str(CumsumBackwardOp(x)).count("axis -1") == 1


def test_the_alias_is_the_name_of_the_argument_and_of_the_property():
    op = NarrowOp(x=value(4, 3), axis=0, start=1, len=2)
    assert op.length.value.data == 2 and "len" in op.properties


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x: TopkOp(x), "mir.topk: k is missing"),
        (lambda x: TopkOp(x, 1, True, 2), "mir.topk takes 3 arguments, got 4"),
        (lambda x: TopkOp(x, 1, k=1), "no argument 'k', or it is given by position"),
        (lambda x: TopkOp(x, kk=1), "mir.topk has no argument 'kk'"),
    ],
)
def test_wrong_arguments_are_named(make: Any, words: str):
    with pytest.raises(TypeError, match=words):
        make(value(3))


def test_an_axis_is_counted_from_the_front():
    assert LayerNormOp(value(2, 3), value(3), value(3)).axis.value.data == 1
    assert tuple(ReduceMaxOp(value(2, 3, 4), -1).axes.get_values()) == (2,)
    assert tuple(ReduceMaxOp(value(2, 3, 4)).axes.get_values()) == (0, 1, 2)
    with pytest.raises(VerifyException, match="axis 3 is out of range for rank 2"):
        LayerNormOp(value(2, 3), value(3), value(3), 3)


def test_a_word_is_a_member_or_its_name():
    x = value(2, 8)
    assert FftOp(x, norm="ortho").norm == FftOp(x, False, FftOp(x, norm="ortho").norm.data).norm
    with pytest.raises(rlx.GraphError, match=r"mir\.fft: norm 'other' is not one of backward, forward, ortho"):
        FftOp(x, norm="other")
    m = HirGraph("model")
    x, w, scale = m.input("x", (2, 4)), m.param("w", (4, 3), "i8"), m.param("scale", (1, 3))
    with pytest.raises(rlx.GraphError, match=r"hir\.attention: mask kind 'other' is not one of none, causal"):
        m.attention(x, x, x, num_heads=1, mask_kind="other")
    with pytest.raises(rlx.GraphError, match="dequant_matmul: scheme 'other' is not one of int8_block"):
        m.dequant_matmul(x, w, "other", scale)
    with pytest.raises(rlx.GraphError, match="dequant_matmul: int8_block needs a block size of at least 1, got 0"):
        m.dequant_matmul(x, w, "int8_block", scale)


def test_one_step_stands_for_all_dimensions_and_none_for_another_field():
    op = PoolOp(value(1, 1, 8, 8), "max", 2)
    assert tuple(op.kernel_size.get_values()) == (2, 2)
    assert op.stride == op.kernel_size
    assert tuple(op.padding.get_values()) == (0, 0)
    assert tuple(PoolOp(value(1, 1, 8, 8), "max", 2, (1, 2)).stride.get_values()) == (1, 2)


def test_an_op_that_does_not_fit_leaves_no_uses():
    x, y = value(2), value(3)
    with pytest.raises(VerifyException, match="do not broadcast"):
        AddOp(x, y)
    assert not x.uses.get_length() and not y.uses.get_length()


def test_an_optional_result_is_there_if_it_is_asked_for():
    x, a, row = value(2, 3, 4), value(4, 5), value(2, 3, 5)
    without, states = SelectiveScanOp(x, x, a, row, row), SelectiveScanOp(x, x, a, row, row, states=True)
    assert without.states is None and len(without.results) == 2
    assert states.states is not None and states.states.type == TensorType(f32, (3, 2, 4, 5))
    assert list(states.results) == [states.result, states.final, states.states]


def test_blocks_become_regions_and_segments_properties():
    def ended(*types: Any, first: int = 0) -> Block:
        block = Block(arg_types=types)
        block.add_op(YieldOp(*block.args[first:]))
        return block

    x = value(2)
    scan = ScanOp([x], [value(3, 4)], [], 3, ended(x.type, TensorType(f32, (4,))))
    assert [y.type for y in scan.carries] == [x.type] and [y.type for y in scan.ys] == [TensorType(f32, (3, 4))]
    assert ScanOp([], [], [], 3, ended()).results == ()
    function = CustomFnOp([x], [], ended(x.type), jvp=ended(x.type, x.type, first=1))
    assert function.vjp is None and function.jvp is not None
    function.verify()


def test_properties_of_an_op_are_keyword_arguments_of_another():
    q = value(2, 3, 8)
    op = AttentionOp(q, q, q, num_heads=2, num_kv_heads=2, mask_kind="causal", score_scale=0.5)
    back = AttentionBackwardOp(q, q, q, op.result, op.lse, q, **settings_of(op))
    assert settings_of(back) == settings_of(op)
    assert {name: op.properties[name] for name in op.properties} == {
        name: found for name, found in back.properties.items() if name != "operandSegmentSizes"
    }


def test_numbers_take_the_element_type_of_the_others_unless_they_stand_alone():
    g = rlx.Graph("f")
    x = g.input("x", (3, 4), "f64")
    assert (g.add(2, x)).dtype == "f64"
    assert g.gather(x, 1).shape == (4,)
    op = g.gather(x, 1).ssa.owner
    assert isinstance(op, GatherOp) and op.indices.type == TensorType(f32, [])
    assert isinstance(ConcatOp([value(2), value(3)], 0).result.type, TensorType)


def test_a_missing_text_form_is_that_of_the_fields():
    text = str(GatherOp(value(4, 2, element=f64), value(3, element=i64)))
    assert "mir.gather %1, %2 axis 0 batch_dims 0 : (tensor<4x2xf64>, tensor<3xi64>) -> tensor<3x2xf64>" in text
