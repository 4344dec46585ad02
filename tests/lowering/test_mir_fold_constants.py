"""Constant folding: what is folded is what is compiled, bit for bit, of every elementwise op in every element type."""

from typing import Any

import numpy as np
import pytest
from numerics.sample import build_module
from oracle import numpy_dtype
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.utils.exceptions import VerifyException

import xdsl_rlx as rlx
from xdsl_rlx.dialects.constants import element_type, from_array
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.dialects.mir import Mir
from xdsl_rlx.dialects.mir.core import Elementwise
from xdsl_rlx.dialects.mir.elementwise import BinaryOp, CompareOp, UnaryOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import DTYPES
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module
from xdsl_rlx.lowering.backend.runtime.mir_fold_constants import MirFoldConstantsPass

Array = np.ndarray[Any, Any]

FLOAT_VALUES = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-7, 3e38, 65504.0, 7e4, 0.5, -2.5, 127.5, 1e10]
NUMBERS = [dtype for dtype in DTYPES if dtype not in ("i1", "c64", "c128")]
OPS: list[Any] = [op for op in Mir.operations if issubclass(op, UnaryOp | BinaryOp | CompareOp)]


def _values(dtype: str) -> Array:
    to = numpy_dtype(dtype)
    with np.errstate(all="ignore"):
        if to.kind in "iu":
            info = np.iinfo(to)
            return np.array([0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1, 100, 5, 6, 9, 4, 8, 10], to)
        if to.kind == "c":
            parts = np.array(FLOAT_VALUES)
            return (parts + 1j * np.roll(parts, 5)).astype(to)
        return np.array(FLOAT_VALUES).astype(to)


def _all_of(m: MirBuilder, x: Value, y: Value) -> tuple[Value, ...]:
    """Every elementwise op on two vectors that takes their element type, and casts to every other."""
    found: list[Value] = []
    for op in OPS:
        operands = (x,) if issubclass(op, UnaryOp) else (x, y)
        try:
            found.append(m.op(op, *(v.ssa for v in operands)))
        except VerifyException:
            continue
    found += [m.where(m.eq(x, x), x, y)]
    complex_ = x.dtype in ("c64", "c128")
    if x.dtype in ("f16", "bf16", "f32", "f64"):
        found.append(m.reduce_precision(x, 5, 3))
    if not complex_ and x.dtype != "i1":
        found += [m.bitcast_convert_type(x, to) for to in NUMBERS if _width(to) == _width(x.dtype) and to != x.dtype]
    return (*found, *(m.cast(x, to) for to in DTYPES if to != x.dtype and (not complex_ or to in ("c64", "c128"))))


def _width(dtype: Any) -> int:
    return numpy_dtype(str(dtype)).itemsize


def _bits(x: Array) -> Array:
    """The bits of an array, those of any NaN alike."""
    if x.dtype.kind == "c":
        x = x.view(np.float32 if x.dtype == np.complex64 else np.float64)
    if x.dtype.kind not in "biu":
        x = np.where(np.isnan(x), np.full_like(x, np.nan), x)
    return np.ascontiguousarray(x).view(np.uint8)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_folded_is_what_is_compiled(dtype: str) -> None:
    x = _values(dtype)
    y = np.roll(x, 3)
    type_ = TensorType(element_type(dtype), x.shape)
    # as written: optimised, LLVM 22 makes +0 of the f16 gelu of -0 in a kernel that has its ndtr as well
    compiled = compile_module(build_module(_all_of, [type_, type_]), 1, Effort.QUICK)(x, y)
    folded = build_module(lambda m: _all_of(m, m.constant(x), m.constant(y)), [])
    assert MirFoldConstantsPass().run(context(), folded)
    folded.verify()
    assert {op.name for op in folded.walk()} == {"builtin.module", "func.func", "mir.constant", "func.return"}
    constants = _returned(folded)
    assert len(constants) == len(compiled) > 5
    for number, (constant, array) in enumerate(zip(constants, compiled, strict=True)):
        expected = from_array(array)
        assert constant.type == expected.type
        found = np.frombuffer(constant.data.data, np.uint8)
        ours = _bits(found.view(array.dtype)) if array.dtype != np.bool_ else (found != 0).view(np.uint8)
        np.testing.assert_array_equal(ours, _bits(array).reshape(-1), err_msg=f"output {number}")


def _returned(module: ModuleOp) -> list[Any]:
    (func,) = module.ops
    last = func.regions[0].block.last_op
    assert last is not None
    return [operand.owner.value for operand in last.operands]  # pyright: ignore


def test_elementwise_ops_of_both_operands_are_all_there() -> None:
    others = {op.name for op in Mir.operations if op.has_trait(Elementwise) and op not in OPS}
    backward = {"mir.relu_backward", "mir.activation_backward", "mir.straight_through"}
    more = {"mir.cast", "mir.where", "mir.bitcast_convert_type", "mir.reduce_precision", "mir.threefry2x32"}
    assert others == more | backward


def test_the_text_of_a_folded_program_is_the_program() -> None:
    """NaN, infinities, -0 and half floats survive printing."""
    g = rlx.Graph("g")
    for_dtypes = [g.neg(g.constant(_values(dtype))) for dtype in ("f16", "bf16", "f32", "f64")]
    g.set_outputs(for_dtypes)
    folded = rlx.run_passes(g, "mir-fold-constants")
    for ours, back in zip(_returned(folded.module), _returned(rlx.parse(str(folded))), strict=True):
        assert ours == back


def test_reductions_products_and_what_is_composite_are_folded_as_they_run() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 5)).astype(np.float32), rng.normal(size=(5, 3)).astype(np.float32)

    def build(g: rlx.Graph, x: Any, y: Any) -> None:
        g.set_outputs([g.softmax(x @ y), g.reduce_mean(x.cast("f16"), 0), g.topk(x, 2), g.transpose(y, (1, 0))])

    plain, constant = rlx.Graph("plain"), rlx.Graph("constant")
    build(plain, plain.input("a", (4, 5)), plain.input("b", (5, 3)))
    build(constant, constant.constant(a), constant.constant(b))
    folded = rlx.run_passes(constant, "mir-fold-constants")
    for ours, theirs in zip(_returned(folded.module), rlx.compile(plain, threads=1)(a=a, b=b), strict=True):
        assert ours == from_array(theirs)


def test_the_limit_is_one_of_elements() -> None:
    g = rlx.Graph("g")
    g.set_outputs([g.constant(np.ones(8, np.float32)) + 1.0])
    assert "mir.add" in str(rlx.run_passes(g, "mir-fold-constants{limit=7}"))
    assert "mir.add" not in str(rlx.run_passes(g, "mir-fold-constants{limit=8}"))
    with pytest.raises(rlx.GraphError, match="limit: expected a number of elements, got -1"):
        rlx.run_passes(g, "mir-fold-constants{limit=-1}")


def test_empty_and_scalar_constants_fold() -> None:
    g = rlx.Graph("g")
    g.set_outputs([g.constant(np.zeros((0, 3), np.float64)) * 2.0, g.exp(g.constant(0.0)), g.constant(2, "i64") + 3])
    folded = rlx.run_passes(g, "mir-fold-constants")
    shapes = [constant.get_shape() for constant in _returned(folded.module)]
    assert shapes == [(0, 3), (), ()] and "mir.mul" not in str(folded)


def test_a_folded_constant_stands_where_the_op_stood() -> None:
    g = rlx.Graph("g")
    g.set_outputs([g.exp(g.constant([1.0, 2.0]))])
    (constant,) = (op for op in rlx.run_passes(g, "mir-fold-constants").module.walk() if op.name == "mir.constant")
    assert "test_mir_fold_constants.py" in str(constant.location)
