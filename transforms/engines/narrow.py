"""A line of ops on f32, stored in narrower types: each op is replaced by one of the types that its kind asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

from xdsl.builder import Builder
from xdsl.dialects.builtin import UNKNOWN_LOC, IntegerType, TensorType, bf16, f16, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.constants import Number, round_to
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.bodies import BodyOp
from xdsl_rlx.dialects.mir.core import TensorOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of, tensor_of, tensor_type
from xdsl_rlx.transforms.canonicalize.mir import splat
from xdsl_rlx.transforms.located import located, replace
from xdsl_rlx.transforms.op_kinds import OpKind, kind_of
from xdsl_rlx.transforms.precision import Precision
from xdsl_rlx.transforms.rules.rows import operand_names
from xdsl_rlx.transforms.rules.rule_table import INERT

_LEAST: dict[Attribute, float] = {f16: 2.0**-14, bf16: 2.0**-126}
"""The least number of each half type that has all of its digits."""


@dataclass
class Narrowing:
    """
    Converts the ops of one block, and of the bodies in them.

    Of the values of the block, those in `narrow` were f32 and are not any more. Those in `held` stay f32, and so does
    what is computed of them, up to a product.
    """

    precisions: Mapping[OpKind, Precision]
    held: set[SSAValue] = field(default_factory=set[SSAValue])
    narrow: set[SSAValue] = field(default_factory=set[SSAValue])
    exact: set[SSAValue] = field(default_factory=set[SSAValue])
    """Labels and indices, and what they are computed from."""
    casts: dict[tuple[SSAValue, Attribute], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, Attribute], SSAValue]
    )
    changed: bool = False

    def convert(self, block: Block) -> bool:
        """Convert the ops of a block. Its arguments and what it returns keep their types. Whether anything changed."""
        ops = list(block.ops)
        for op in reversed(ops):
            self._mark_exact(op)
        for op in ops:
            b = MirBuilder(Builder(InsertPoint.before(op)))
            with located(b.builder, op.location):
                self._convert(op, b)
        return self.changed

    def _mark_exact(self, op: Operation) -> None:
        """What becomes an integer, or is one in f32, loses what it says where it is rounded: so do its origins."""
        kind = kind_of(type(op))
        if kind is OpKind.BOUNDARY and op.results and all(_is_integer(result) for result in op.results):
            self.exact.update(op.operands)
        if kind is not OpKind.COMPUTE and not self.exact.isdisjoint(op.results):
            self.exact.update(op.operands)
        half = next((one.element for one in self.precisions.values() if one is not Precision.F32), f32)
        for index in _inert(op):
            if not self._is_single(op.operands[index]):
                continue
            types = [half if self._is_single(x) else None for x in op.operands]
            encoded = [*types[:index], f32, *types[index + 1 :]]
            if _result_types(op, types, half) is None and _result_types(op, encoded, half) is not None:
                self.exact.add(op.operands[index])

    def _convert(self, op: Operation, b: MirBuilder) -> None:
        kind = kind_of(type(op))
        if isinstance(op, BodyOp) and (kind is OpKind.BODY or kind is OpKind.LOOP):
            self._convert_bodies(op, kind)
        element, hold = self._choose(op, kind)
        for types in self._operand_types(op, element):
            if (results := _result_types(op, types, element)) is not None:
                break
        else:
            types, results = [f32 if self._is_single(x) else None for x in op.operands], list(op.result_types)
        self._retype(op, b, types, results)
        if hold:
            self.held.update(result for result in op.results if self._is_single(result))

    def _convert_bodies(self, op: BodyOp, kind: OpKind) -> None:
        """What a loop carries adds up over its times: it stays f32."""
        carries = operand_names(op).count("init") if kind is OpKind.LOOP else 0
        for region in op.regions:
            for block in region.blocks:
                inside = Narrowing(self.precisions, held=set(block.args[:carries]))
                self.changed |= inside.convert(block)

    def _is_single(self, value: SSAValue) -> bool:
        """Whether the program has the value in f32."""
        return value in self.narrow or (isinstance(value.type, TensorType) and element_of(value) == f32)

    def _choose(self, op: Operation, kind: OpKind | None) -> tuple[Attribute, bool]:
        """The type to store results in, and whether what is computed of them stays f32."""
        singles = [x for x in op.operands if self._is_single(x)]
        results = [result for result in op.results if self._is_single(result)]
        if kind is None or kind in (OpKind.BOUNDARY, OpKind.BODY, OpKind.LOOP):
            return f32, False
        if kind is not OpKind.COMPUTE and not self.exact.isdisjoint(results):
            return f32, False
        precision = self.precisions.get(kind)
        if kind is not OpKind.COMPUTE:
            narrow = f32 if precision is None else precision.element
            if not self.held.isdisjoint(singles) or any(not _holds(narrow, splat(x)) for x in singles):
                return f32, True
        if precision is None or not results:
            # nothing is rounded: numbers take any type
            found = {element_of(x) for x in singles if splat(x) is None}
            return (found.pop() if len(found) == 1 else f32), False
        return precision.element, False

    def _operand_types(self, op: Operation, element: Attribute) -> Iterator[list[Attribute | None]]:
        """Element types to try for the operands, None for one that stays: in those that only say where, or are results
        of a forward pass, an op may want others than in what it computes with."""
        inert = _inert(op)
        types: list[Attribute | None] = [element if self._is_single(x) else None for x in op.operands]
        if element != f32 and any(types[index] is not None for index in inert):
            as_is = [element_of(x) if self._is_single(x) else None for x in op.operands]
            yield [as_is[n] if n in inert else type_ for n, type_ in enumerate(types)]
            yield [type_ and f32 if n in inert else type_ for n, type_ in enumerate(types)]
        yield types

    def _retype(
        self, op: Operation, b: MirBuilder, types: Sequence[Attribute | None], results: Sequence[Attribute]
    ) -> None:
        for index, (x, type_) in enumerate(zip(op.operands, types, strict=True)):
            if type_ is not None and element_of(x) != type_:
                op.operands[index] = self._cast(b, x, type_)
                self.changed = True
        if list(op.result_types) == list(results):
            return
        copy = type(op).create(
            operands=op.operands, result_types=results, properties=dict(op.properties), attributes=dict(op.attributes)
        )
        b.builder.insert(copy)
        self.narrow.update(new for new, old in zip(copy.results, op.results, strict=True) if new.type != old.type)
        replace(op, copy.results)
        self.changed = True

    def _cast(self, b: MirBuilder, x: SSAValue, to: Attribute) -> SSAValue:
        """A value in another type, made once for all that ask."""
        if (x, to) not in self.casts:
            with located(b.builder, x.owner.location if isinstance(x.owner, Operation) else UNKNOWN_LOC):
                self.casts[x, to] = _converted(b, x, to).ssa
        return self.casts[x, to]


def _converted(b: MirBuilder, x: SSAValue, to: Attribute) -> Value:
    number = splat(x)
    if isinstance(number, float) and isfinite(number):
        return b.expand(b.scalar(round_to(number, to), to), shape_of(x))
    return b.cast(x, to)


def _inert(op: Operation) -> list[int]:
    """The operands that an op does not compute with, or that are results of a forward pass."""
    return [index for index in INERT.of(op) if index < len(op.operands)]


def _is_integer(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and isinstance(element_of(value), IntegerType)


def _holds(element: Attribute, number: Number | None) -> bool:
    """Whether a half type has a number that is as near as half precision is; None is no number."""
    if not isinstance(number, float) or not isfinite(number) or number == 0.0 or element not in _LEAST:
        return True
    return isfinite(round_to(number, element)) and abs(number) >= _LEAST[element]


def _result_types(op: Operation, types: Sequence[Attribute | None], element: Attribute) -> list[Attribute] | None:
    """
    The types of results where operands have these element types (None: their own) and f32 results may be `element`.

    None where the op does not take them.
    """
    if not isinstance(op, TensorOp):
        return None
    operands = [x.type if t is None else tensor_of(t, shape_of(x)) for x, t in zip(op.operands, types, strict=True)]
    narrowed = [_narrowed(result.type, element) for result in op.results]
    twin = type(op).create(
        operands=Block(arg_types=operands).args,
        result_types=narrowed,
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
    try:
        found = list(twin.infer_types())
    except (VerifyException, GraphError):
        return None
    finally:
        twin.erase(safe_erase=False)
    fits = all(type_ in (old, new) for type_, old, new in zip(found, op.result_types, narrowed, strict=True))
    return found if fits else None


def _narrowed(type_: Attribute, element: Attribute) -> Attribute:
    found = tensor_type(type_)
    return tensor_of(element, shape_of(found)) if found.element_type == f32 else found
