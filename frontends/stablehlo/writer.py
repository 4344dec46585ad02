"""From mir to StableHLO: `Writer` inserts StableHLO operations, and writes mir ops by the rows of `ROWS`.

The rows are in the files `write_*.py`. An op without a row is written by its definition, the row of DECOMPOSE, and an
elementwise op by its scalar rule. StableHLO operations are unregistered ones of xDSL, in MLIR's generic form.
"""

# Types of xDSL are generic in their attributes.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import (
    AnyFloat,
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    TensorType,
    UnregisteredAttr,
    UnregisteredOp,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.dense_text import ExactDense
from xdsl_rlx.dialects.locations import named
from xdsl_rlx.dialects.mir.control import YieldOp
from xdsl_rlx.dialects.mir.custom import CustomBase
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.frontends.stablehlo.tidy import is_operation
from xdsl_rlx.frontends.stablehlo.write_constants import (
    Elements,
    band_of,
    computed,
    converted,
    elements,
    is_range,
    positions,
    unrepeated,
)
from xdsl_rlx.transforms.canonicalize.mir import EXACT_IN
from xdsl_rlx.transforms.engines.define import define
from xdsl_rlx.transforms.located import located
from xdsl_rlx.transforms.rules import DECOMPOSE, SCALAR

Row: TypeAlias = "Callable[[Any, Writer], Sequence[SSAValue]]"
"""`(op, w) -> values`: the results of an op, where `w[op.x]` is what stands for an operand."""

ROWS: dict[type[Operation], Row] = {}
"""The ops that are written as StableHLO operations."""

DEFINED: dict[type[Operation], Callable[[Any, MirBuilder], Sequence[Value]]] = {}
"""The ops that are written as other mir ops, beside those with a row in DECOMPOSE."""

OWN_KERNEL = "it has a kernel of rlx.custom_op, and no definition by ops"
"""Why an op of a user is not written."""

REFUSED: dict[type[Operation], str] = {}
"""The ops that are not written, and why not."""

ELEMENTWISE: list[Callable[[Operation, Writer], Sequence[SSAValue]]] = []
"""What writes an elementwise op by its scalar rule."""


def row(*ops: type[Operation]) -> Callable[[Row], Row]:
    """Decorator: the function writes these ops."""

    def register(function: Row) -> Row:
        for op in ops:
            ROWS[op] = function
        return function

    return register


def defined(op: type[Operation]) -> Callable[[Any], Any]:
    """Decorator: the function defines an op by simpler ones."""

    def register(function: Any) -> Any:
        DEFINED[op] = function
        return function

    return register


def definition_of(op: Operation) -> Callable[[Any, MirBuilder], Sequence[Value]] | None:
    """The rule that defines an op by other mir ops, if it is written so."""
    kind = type(op)
    if kind in ROWS or kind in REFUSED:
        return None
    return DEFINED.get(kind) or DECOMPOSE.get(kind)


@cache
def _kind(name: str) -> type[Operation]:
    return UnregisteredOp.with_name(name)


@cache
def _attribute(name: str) -> type[UnregisteredAttr]:
    return UnregisteredAttr.with_name_and_type(f"stablehlo.{name}", is_type=False)


def enum(kind: str, word: str) -> UnregisteredAttr:
    """An attribute such as `#stablehlo<comparison_direction LT>`."""
    return _attribute(kind)(f"stablehlo.{kind}", False, True, f" {word}")


def text(name: str, content: str) -> UnregisteredAttr:
    """An attribute such as `#stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>`."""
    return _attribute(name)(f"stablehlo.{name}", False, False, content)


def struct(name: str, **fields: Sequence[int] | int) -> UnregisteredAttr:
    """An attribute such as `#stablehlo.dot<lhs_contracting_dimensions = [1], ..>`; empty lists are left out."""
    given = {
        key: str(x) if isinstance(x, int) else f"[{', '.join(map(str, x))}]"
        for key, x in fields.items()
        if isinstance(x, int) or x
    }
    # xDSL leaves empty brackets out, which MLIR wants
    return text(name, ", ".join(f"{key} = {x}" for key, x in given.items()) or " ")


def number(x: int) -> IntegerAttr[Any]:
    """A 64-bit integer as an attribute."""
    return IntegerAttr(x, i64)


def truth(x: bool) -> BoolAttr:
    """A boolean as an attribute."""
    return IntegerAttr.from_bool(x)


def numbers(values: Sequence[int]) -> Attribute:
    """Integers as an attribute, `array<i64: 1, 2>`."""
    return DenseArrayBase.from_list(i64, list(values))


def truths(values: Sequence[bool]) -> Attribute:
    """Booleans as an attribute, `array<i1: true, false>`."""
    return DenseArrayBase.from_list(i1, [int(x) for x in values])


def pairs(values: Sequence[tuple[int, int]]) -> Attribute:
    """Pairs of integers as a dense attribute, such as the padding of windows."""
    flat = [x for pair in values for x in pair]
    return DenseIntOrFPElementsAttr.from_list(TensorType(i64, (len(values), 2)), flat)


class Writer:
    """Inserts StableHLO operations at the end of a block; `w[x]` is what stands for a value of the function."""

    def __init__(self, block: Block, env: Mapping[SSAValue, SSAValue], around: Writer | None = None):
        """`around` writes what the block stands in."""
        self.builder = Builder(InsertPoint.at_end(block))
        self._env = dict(env)
        self._around = around
        self._constants: dict[tuple[str, Attribute], SSAValue] = {}
        self._arrays: dict[SSAValue, Elements] = {}

    def __getitem__(self, x: SSAValue) -> SSAValue:
        found = self._env.get(x)
        if found is not None:
            return found
        if self._around is None:
            raise KeyError(x)
        found = self._around[x]
        if (array := self.elements_of(found)) is not None:
            # the importer has constants where they are used
            found = self._env[x] = self.constant(array, element_of(found))
        return found

    def set(self, x: SSAValue, value: SSAValue) -> None:
        """Say what stands for a value."""
        self._env[x] = value

    def inside(self, block: Block, env: Mapping[SSAValue, SSAValue] | None = None) -> Writer:
        """A writer of the body of an operation, which may use what has been written before it."""
        return Writer(block, env or {}, self)

    # Operations

    def ops(
        self,
        name: str,
        operands: Sequence[SSAValue],
        types: Sequence[Attribute],
        regions: Sequence[Block] = (),
        **attributes: Attribute,
    ) -> list[SSAValue]:
        """Insert an operation, and return its results; a dot in front of its name stands for StableHLO's dialect."""
        made = _kind(name if "." in name else f"stablehlo.{name}").create(
            operands=operands,
            result_types=types,
            attributes=attributes,
            regions=[Region(one) for one in regions],
        )
        self.builder.insert(made)
        return list(made.results)

    def op(
        self, name: str, operands: Sequence[SSAValue], type_: Attribute, *regions: Block, **attributes: Attribute
    ) -> SSAValue:
        """Insert an operation of one result; one on small constants is computed."""
        if regions or not operands or attributes:
            return self._inserted(name, operands, type_, *regions, **attributes)
        arrays = [self.elements_of(x) for x in operands]
        folded = None if any(x is None for x in arrays) else computed(name, arrays, element_of(operands[0]))
        if folded is not None and isinstance(type_, TensorType) and element_of(operands[0]) == type_.element_type:
            return self.constant(folded, type_.element_type)
        return self._inserted(name, operands, type_)

    def _inserted(
        self, name: str, operands: Sequence[SSAValue], type_: Attribute, *regions: Block, **attributes: Attribute
    ) -> SSAValue:
        (result,) = self.ops(name, operands, [type_], regions, **attributes)
        return result

    def end(self, values: Sequence[SSAValue]) -> None:
        """End the body of an operation."""
        self.ops("return", values, [])

    # Values

    def dense(self, value: DenseIntOrFPElementsAttr[Any]) -> SSAValue:
        """A constant."""
        element, array = value.get_element_type(), elements(value)
        if array is not None:
            return self.constant(array, element)
        return self.op("constant", [], value.type, value=ExactDense(value))

    def constant(self, array: Elements, element: Attribute) -> SSAValue:
        """A constant of elements as `elements` has them: the smallest one that repeats to them, or a range."""
        type_ = TensorType(element, array.shape)
        small, axes = unrepeated(array)
        if len(axes) == 1 and is_range(small, element):
            found = self.iota(array.shape, axes[0], element)
        else:
            if element == i1 and (band := band_of(small)) is not None:
                found = self._band(small.shape, *band)
            else:
                value = constants.from_bytes(small.tobytes(), element, small.shape)
                found = self.op("constant", [], value.type, value=ExactDense(value))
            if found.type != type_:
                found = self.op("broadcast_in_dim", [found], type_, broadcast_dimensions=numbers(axes))
        self._arrays[found] = array
        return found

    def _band(self, shape: Sequence[int], direction: str, offset: int) -> SSAValue:
        """Where a row and an offset compare to the column, as a triangle or a diagonal of a matrix does."""
        type_ = TensorType(i64, shape)
        rows, columns = (self.op("iota", [], type_, iota_dimension=number(axis)) for axis in (0, 1))
        if offset:
            by = self.op("broadcast_in_dim", [self.scalar(offset, i64)], type_, broadcast_dimensions=numbers([]))
            rows = self._inserted("add", [rows, by], type_)
        return self._compared(direction, rows, columns, "SIGNED")

    def elements_of(self, x: SSAValue) -> Elements | None:
        """The elements of a constant that has been written."""
        found = self._arrays.get(x)
        return self._around.elements_of(x) if found is None and self._around is not None else found

    def scalar(self, x: complex, element: Attribute) -> SSAValue:
        """A constant of rank 0, made once in a body."""
        key = repr(x), element
        if key not in self._constants:
            self._constants[key] = self.dense(constants.number(x, element))
        return self._constants[key]

    def full(self, x: complex, shape: Sequence[int], element: Attribute) -> SSAValue:
        """A tensor of one number."""
        return self.expand(self.scalar(x, element), shape)

    def like(self, x: complex, value: SSAValue) -> SSAValue:
        """A tensor of one number, of the type of a value."""
        return self.full(x, shape_of(value), element_of(value))

    def placed(self, x: SSAValue, shape: Sequence[int], axes: Sequence[int]) -> SSAValue:
        """`broadcast_in_dim`: axis `i` of `x` is axis `axes[i]` of the result."""
        if shape_of(x) == tuple(shape) and list(axes) == list(range(len(shape))):
            return x
        if (array := self.elements_of(x)) is not None:
            ones = [1] * len(shape)
            for axis, extent in zip(axes, array.shape, strict=True):
                ones[axis] = extent
            return self.constant(np.broadcast_to(array.reshape(ones), tuple(shape)), element_of(x))
        if prod(shape) == prod(shape_of(x)) and list(axes) == sorted(axes):
            return self.reshape(x, shape)
        if isinstance(x, OpResult) and is_operation(x.op, "stablehlo.broadcast_in_dim"):
            inner = cast("DenseArrayBase[Any]", x.op.attributes["broadcast_dimensions"]).get_values()
            return self.placed(x.op.operands[0], shape, [axes[int(axis)] for axis in inner])
        x, axes = self._without_ones(x, axes, shape)
        type_ = TensorType(element_of(x), shape)
        return self.op("broadcast_in_dim", [x], type_, broadcast_dimensions=numbers(axes))

    def _without_ones(self, x: SSAValue, axes: Sequence[int], shape: Sequence[int]) -> tuple[SSAValue, Sequence[int]]:
        """The value before a reshape that adds or removes axes of one element, and the axes of its own."""
        if not (isinstance(x, OpResult) and is_operation(x.op, "stablehlo.reshape")):
            return x, axes
        before = x.op.operands[0]
        kept = [n for n, extent in enumerate(shape_of(x)) if extent != 1]
        sizes, places = [shape_of(x)[n] for n in kept], [axes[n] for n in kept]
        aligned = range(len(shape) - len(shape_of(before)), len(shape))
        wide = [(axis, extent) for axis, extent in zip(aligned, shape_of(before), strict=True) if extent != 1]
        if wide == list(zip(places, sizes, strict=True)) and aligned.start >= 0:
            return before, aligned
        return self.reshape(before, sizes), places

    def expand(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        """`x` broadcast as in NumPy."""
        rank = len(shape_of(x))
        return self.placed(x, shape, range(len(shape) - rank, len(shape)))

    def reshape(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The elements in another shape."""
        if shape_of(x) == tuple(shape):
            return x
        if (array := self.elements_of(x)) is not None:
            return self.constant(array.reshape(tuple(shape)), element_of(x))
        if isinstance(x, OpResult) and is_operation(x.op, "stablehlo.reshape"):
            return self.reshape(x.op.operands[0], shape)
        return self.op("reshape", [x], TensorType(element_of(x), shape))

    def transpose(self, x: SSAValue, axes: Sequence[int]) -> SSAValue:
        """Axis `i` of the result is axis `axes[i]`."""
        if list(axes) == list(range(len(axes))):
            return x
        if (array := self.elements_of(x)) is not None:
            return self.constant(array.transpose(axes), element_of(x))
        shape = shape_of(x)
        if (wide := [axis for axis in axes if shape[axis] != 1]) == sorted(wide):
            return self.reshape(x, [shape[axis] for axis in axes])
        type_ = TensorType(element_of(x), [shape[axis] for axis in axes])
        return self.op("transpose", [x], type_, permutation=numbers(axes))

    def narrow(self, x: SSAValue, axis: int, start: int, stop: int) -> SSAValue:
        """A slice along one axis."""
        if (start, stop) == (0, shape_of(x)[axis]):
            return x
        shape = list(shape_of(x))
        first, last = [0] * len(shape), list(shape)
        first[axis], last[axis] = start, stop
        if (array := self.elements_of(x)) is not None:
            return self.constant(array[(*(slice(None),) * axis, slice(start, stop))], element_of(x))
        shape[axis] = stop - start
        steps = numbers([1] * len(shape))
        type_ = TensorType(element_of(x), shape)
        return self.op("slice", [x], type_, start_indices=numbers(first), limit_indices=numbers(last), strides=steps)

    def convert(self, x: SSAValue, element: Attribute) -> SSAValue:
        """`convert`, if the element type is another."""
        if element_of(x) == element:
            return x
        array = self.elements_of(x)
        if array is not None and (folded := converted(array, element_of(x), element)) is not None:
            return self.constant(folded, element)
        if isinstance(x, OpResult) and is_operation(x.op, "stablehlo.convert") and isinstance(element, AnyFloat):
            before = x.op.operands[0]
            if isinstance(element_of(before), AnyFloat) and element_of(x) in EXACT_IN.get(element_of(before), ()):
                return self.convert(before, element)
        return self.op("convert", [x], TensorType(element, shape_of(x)))

    def bits(self, x: SSAValue, element: Attribute) -> SSAValue:
        """`bitcast_convert` to an element type of the same width, if it is another."""
        return x if element_of(x) == element else self.op("bitcast_convert", [x], TensorType(element, shape_of(x)))

    def iota(self, shape: Sequence[int], axis: int, element: Attribute) -> SSAValue:
        """Positions along an axis."""
        found = self.op("iota", [], TensorType(element, shape), iota_dimension=number(axis))
        if (array := positions(shape, axis, element)) is not None:
            self._arrays[found] = array
        return found

    def compare(self, direction: str, a: SSAValue, b: SSAValue, kind: str) -> SSAValue:
        """`direction` is EQ, NE, LT, LE, GT or GE, `kind` FLOAT, SIGNED, UNSIGNED or TOTALORDER."""
        folded = computed(direction, [self.elements_of(x) for x in (a, b)], element_of(a))
        return self._compared(direction, a, b, kind) if folded is None else self.constant(folded, i1)

    def _compared(self, direction: str, a: SSAValue, b: SSAValue, kind: str) -> SSAValue:
        return self.op(
            "compare",
            [a, b],
            TensorType(i1, shape_of(a)),
            comparison_direction=enum("comparison_direction", direction),
            compare_type=enum("comparison_type", kind),
        )

    def reduce(self, x: SSAValue, axes: Sequence[int], kind: str, initial: SSAValue) -> SSAValue:
        """Reduce over axes by an operation of two operands, such as `add`."""
        shape = [n for axis, n in enumerate(shape_of(x)) if axis not in axes]
        type_ = TensorType(element_of(x), shape)
        return self.op("reduce", [x, initial], type_, self.combining(kind, element_of(x)), dimensions=numbers(axes))

    def combining(self, kind: str, element: Attribute) -> Block:
        """A body that combines two numbers."""
        one = TensorType(element, ())
        block = Block(arg_types=[one, one])
        inner = self.inside(block)
        inner.end([inner.op(kind, block.args, one)])
        return block

    # mir

    def body(self, source: Block) -> list[SSAValue]:
        """Write the ops of a block, and return what it yields."""
        for op in source.ops:
            if isinstance(op, YieldOp) or op.name == "func.return":
                return [self[x] for x in op.operands]
            self.write(op)
        raise AssertionError("a body that yields nothing")

    def write(self, op: Operation) -> None:
        """Write an op: by its row, its definition, or its scalar rule."""
        with located(self.builder, op.location):
            values = self._values(op)
        for result, value in zip(op.results, values, strict=True):
            if value.type != result.type:
                raise AssertionError(f"{named(op)}: a row gives {value.type} for {result.type}")
            if value.name_hint is None:
                value.name_hint = result.name_hint
            self.set(result, value)

    def _values(self, op: Operation) -> Sequence[SSAValue]:
        kind = type(op)
        if op.results and kind not in REFUSED and all(0 in shape_of(x) for x in op.results):
            return [self.full(0, shape_of(x), element_of(x)) for x in op.results]
        if (found := ROWS.get(kind)) is not None:
            return found(op, self)
        if kind in REFUSED:
            raise PassFailedException(f"{named(op)} cannot be written as StableHLO: {REFUSED[kind]}")
        if isinstance(op, CustomBase) and DECOMPOSE.get(kind) is None:
            raise PassFailedException(f"{named(op)} cannot be written as StableHLO: {OWN_KERNEL}")
        if (rule := definition_of(op)) is not None:
            return self._by_definition(op, rule)
        if SCALAR.get(kind) is not None:
            return ELEMENTWISE[0](op, self)
        raise PassFailedException(f"{named(op)} cannot be written as StableHLO: it has no row")

    def _by_definition(self, op: Operation, rule: Any) -> list[SSAValue]:
        """The values of the ops that define an op, which are written in its place."""
        aside = Block()
        b = MirBuilder(Builder(InsertPoint.at_end(aside)))
        with located(b.builder, op.location):
            values = define(op, b, rule)
        return self._aside(aside, values)

    def _aside(self, aside: Block, values: Sequence[Value]) -> list[SSAValue]:
        """Write the ops of a block, which is dropped; what stands for some values of it."""
        for inner in aside.ops:
            self.write(inner)
        found = [self[value.ssa] for value in values]
        for inner in reversed(list(aside.ops)):
            inner.detach()
            inner.drop_all_references()
        return found

    def built(self, build: Callable[..., Value], *operands: SSAValue) -> SSAValue:
        """Write what a function of mir values, behind their builder, builds."""
        aside = Block(arg_types=[x.type for x in operands])
        b = MirBuilder(Builder(InsertPoint.at_end(aside)))
        for arg, x in zip(aside.args, operands, strict=True):
            self.set(arg, x)
        (found,) = self._aside(aside, [build(b, *map(b.value, aside.args))])
        return found
