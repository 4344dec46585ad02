"""What computing one element of an elementwise op costs, in additions."""

from __future__ import annotations

from functools import cache

from xdsl.builder import Builder
from xdsl.ir import Attribute, Block, Operation
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.lir.scalar_builder import INDEX, ScalarBuilder
from xdsl_rlx.dialects.mir.core import PositionDependent
from xdsl_rlx.dialects.shapes import compute_type, element_of
from xdsl_rlx.transforms.rules.rule_table import SCALAR

DEAR = 8
"""What a transcendental function costs, in additions."""

_COSTS: dict[str, int] = {
    "arith.constant": 0,
    "builtin.unrealized_conversion_cast": 0,
    "arith.divf": 4,
    "math.sqrt": 4,
    "math.absf": 1,
    "math.fma": 1,
    "math.ctpop": 2,
    "math.ctlz": 1,
    "math.copysign": 1,
    "math.powf": 4 * DEAR,
    "math.roundeven": 1,
    "math.floor": 1,
    "math.ceil": 1,
    "math.trunc": 1,
    "lir.sigmoid": DEAR + 4,
    "lir.gaussian": DEAR,
    "lir.erfc": DEAR + 5,
    "lir.ndtr": DEAR + 5,
    "lir.gelu": DEAR + 5,
    "lir.fmod": 2 * DEAR,
    "lir.erfcx": 2 * DEAR,
    "lir.erf_inv": 4 * DEAR,
    "lir.ndtri": 5 * DEAR,
    "lir.lgamma": 4 * DEAR,
    "lir.digamma": 4 * DEAR,
}


def scalar_cost(op: Operation) -> int:
    """About how many additions one element of an elementwise op costs, by the scalar ops that its row emits."""
    return _scalar_cost(type(op), tuple(op.operand_types), tuple(op.result_types), tuple(op.properties.items()))


@cache
def _scalar_cost(
    kind: type[Operation],
    operands: tuple[Attribute, ...],
    results: tuple[Attribute, ...],
    properties: tuple[tuple[str, Attribute], ...],
) -> int:
    rule = SCALAR.get(kind)
    if rule is None:
        return 1
    op = kind.create(operands=Block(arg_types=operands).args, result_types=results, properties=dict(properties))
    position = [INDEX] if op.has_trait(PositionDependent) else []
    block = Block(arg_types=[*(compute_type(element_of(operand)) for operand in op.operands), *position])
    scalars = ScalarBuilder(Builder(InsertPoint.at_end(block)))
    rule(op, scalars, *(scalars.of(arg) for arg in block.args))
    return sum(_COSTS.get(inner.name, DEAR if inner.name.startswith("math.") else 1) for inner in block.ops)
