"""Tables that say how an op becomes loops, and constructors of rows. The rows are in `loops.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32, i8, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.mir.builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of, u8, u32
from xdsl_rlx.transforms.rules.table import SCALAR, RuleTable

Axes: TypeAlias = tuple[int | None, ...]
"""The loop of each axis of a value; None where the value does not move along with a loop."""

Loops: TypeAlias = tuple[tuple[int, ...], Mapping[SSAValue, Axes]]
"""The extents of an op's loops, and the axes of the operands and results that it reads or writes along them."""


@dataclass(frozen=True)
class Layout:
    """Where the elements of a buffer lie: offset and strides in elements from the start of what it is a view of."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Reduction:
    """
    An associative and commutative reduction: its identity for an element type, one step, and whether a step on floats
    rounds, so that long reductions want more digits.
    """

    identity: Callable[[Attribute], float | int]
    combine: Callable[[ScalarBuilder, Scalar, Scalar], Scalar]
    rounds: bool = False


LOOPS: RuleTable[Callable[[Operation], Loops | None]] = RuleTable("loops")
"""An op that is a loop over its elements; None when this one is not (a general reshape)."""

REDUCTION: RuleTable[Reduction] = RuleTable("reduction")
"""An op that reduces its operand along the loops that its result lacks."""

VIEW: RuleTable[Callable[[Operation, Layout], Layout | None]] = RuleTable("view")
"""An op whose result aliases its operand; None when that needs a copy first."""

PRODUCT: RuleTable[Callable[[Operation], tuple[SSAValue, SSAValue]]] = RuleTable("product")
"""An op that is a (batched) matrix product of two whole operands."""

PLACE: RuleTable[Callable[[Operation, Layout], Sequence[tuple[SSAValue, Layout]]]] = RuleTable("place")
"""An op whose operands are copied into windows of its result."""

NORMALIZE: RuleTable[Callable[[Operation, MirBuilder], Sequence[Value] | None]] = RuleTable("normalize")
"""An op that some cases of which have to become other ops before they are loops; None for the other cases."""


def compute_type(element: Attribute) -> Attribute:
    """The type that values of this element type are computed in: half floats are only stored narrow, and unsigned
    integers are computed with as signless ones of their width."""
    if isinstance(element, Float16Type | BFloat16Type):
        return f32
    if element in (u8, u32):
        return i8 if element == u8 else i32
    return element


def pointwise_loops(op: Operation) -> Loops:
    """The loops of an elementwise op: its result's shape, the operands aligned on the right."""
    (result,) = op.results
    shape = shape_of(result)
    maps: dict[SSAValue, Axes] = {}
    for operand in op.operands:
        own = shape_of(operand)
        shift = len(shape) - len(own)
        maps[operand] = tuple(
            axis + shift if extent == shape[axis + shift] else None for axis, extent in enumerate(own)
        )
    maps[result] = tuple(range(len(shape)))
    return shape, maps


def result_loops(op: Operation) -> Loops:
    """Loops over the result only: the operands are needed whole."""
    (result,) = op.results
    shape = shape_of(result)
    return shape, {result: tuple(range(len(shape)))}


DEAR = 8
"""What a transcendental function costs, in additions."""


_COSTS: dict[str, int] = {
    "arith.constant": 0,
    "builtin.unrealized_conversion_cast": 0,
    "arith.divf": 4,
    "math.sqrt": 4,
    "math.absf": 1,
    "math.fma": 1,
    "math.copysign": 1,
    "math.roundeven": 1,
    "math.floor": 1,
    "math.ceil": 1,
    "math.trunc": 1,
    "lir.gaussian": DEAR,
    "lir.ndtr": DEAR + 5,
    "lir.gelu": DEAR + 5,
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
    block = Block(arg_types=[compute_type(element_of(operand)) for operand in op.operands])
    scalars = ScalarBuilder(Builder(InsertPoint.at_end(block)))
    rule(op, scalars, *(scalars.of(arg) for arg in block.args))
    return sum(_COSTS.get(inner.name, DEAR if inner.name.startswith("math.") else 1) for inner in block.ops)
