"""ScalarBuilder inserts the ops it names, verified; the numbers are checked where they are emitted (tests/lowering)."""

import pytest
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, ModuleOp, bf16, f16, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute, Block, Region
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder

TYPES: list[Attribute] = [f64, f32, f16, bf16, i64, i32, i8, i1, IndexType()]


def block(*types: Attribute) -> tuple[ModuleOp, ScalarBuilder, list[Scalar]]:
    body = Block(arg_types=types)
    b = ScalarBuilder(Builder(InsertPoint.at_end(body)))
    return ModuleOp(Region(body)), b, [b.of(a) for a in body.args]


def names(module: ModuleOp) -> list[str]:
    return [op.name for op in module.body.block.ops]


def test_operators_take_numbers_on_both_sides():
    module, _, (x, y) = block(f32, f32)
    z = 2.0 - x * y + 1.0 / x
    assert z.type == f32
    assert names(module) == ["arith.mulf", "arith.constant", "arith.subf", "arith.constant", "arith.divf", "arith.addf"]
    module.verify()


def test_integer_operators():
    module, b, (x, y) = block(i32, i32)
    b.select((x < y) & b.ne(x, 3), -((x << 2) | (y >> 1)), x ^ y)
    module.verify()
    assert "arith.shrsi" in names(module)


def test_constants_are_shared_within_a_block_and_keep_their_sign():
    module, b, _ = block()
    one = b.const(1.0, f32)
    assert b.const(1.0, f32) is one
    assert b.const(0.0, f32) is not b.const(-0.0, f32)
    assert b.const(1.0, f64) is not one
    assert len(names(module)) == 4


def test_constants_are_not_shared_between_blocks():
    _, b, _ = block()
    outer = b.const(1.0, f32)
    inner = Block()
    b.builder.insertion_point = InsertPoint.at_end(inner)
    assert b.const(1.0, f32) is not outer
    assert len(inner.ops) == 1


@pytest.mark.parametrize("source", TYPES, ids=str)
@pytest.mark.parametrize("target", TYPES, ids=str)
@pytest.mark.parametrize("signed", [True, False])
def test_cast_reaches_every_type(source: Attribute, target: Attribute, signed: bool):
    module, b, (x,) = block(source)
    assert b.cast(x, target, signed=signed).type == target
    module.verify()


@pytest.mark.parametrize("type", [f32, f64], ids=str)
def test_every_float_function_verifies(type: Attribute):
    module, b, (x, y) = block(type, type)
    for f in (b.abs, b.sqrt, b.rsqrt, b.round_even, b.floor, b.ceil, b.trunc, b.exp, b.exp2, b.expm1, b.log, b.log2,
              b.log10, b.log1p, b.tanh, b.sinh, b.cosh, b.asinh, b.acosh, b.atanh, b.cbrt, b.asin, b.acos, b.erf,
              b.erfc, b.erfcx, b.erf_inv, b.ndtri, b.lgamma, b.digamma,
              b.gaussian, b.ndtr, b.gelu, b.sin, b.cos, b.tan, b.atan, b.sigmoid,
              b.neg):  # fmt: skip
        assert f(x).type == type
    for g in (b.maximum, b.minimum, b.copysign, b.fmod, b.pow, b.accumulate_add, b.accumulate_mul):
        assert g(x, y).type == type
    assert b.fma(x, y, 1.0).type == type
    module.verify()


def test_only_accumulation_may_be_reassociated():
    module, b, (x, y) = block(f32, f32)
    b.accumulate_add(x, y)
    b.add(x, y)
    first, second = module.body.block.ops
    assert isinstance(first, arith.AddfOp) and isinstance(second, arith.AddfOp)
    assert "reassoc" in str(first) and "fastmath" not in str(second)
