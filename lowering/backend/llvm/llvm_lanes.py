"""Loops marked `lir.vectorize` as LLVM vectors, where a lane is arithmetic on neighbours in memory: LLVM would find the
same vectors, in several times the time. All other loops are those of `llvm_body.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple, cast

from xdsl.dialects import arith, math, memref, scf
from xdsl.dialects.builtin import IntegerAttr, bf16, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_rlx.dialects.lir.bounds import constant_index, trip_count
from xdsl_rlx.dialects.lir.kernel import LANES, UNROLL
from xdsl_rlx.dialects.lir.memory import element_bytes, memref_of, strides_of
from xdsl_rlx.dialects.lir.scalar_builder import is_float
from xdsl_rlx.lowering.backend.llvm.packed_texts import VECTORS
from xdsl_rlx.lowering.backend.llvm.scalar_texts import ROWS, llvm_text
from xdsl_rlx.lowering.backend.llvm.scalar_types import llvm_type

VECTOR = 64
"""Bytes of a vector at most; on processors with shorter ones, LLVM cuts it up."""

_ARITHMETIC = (
    *(arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.NegfOp, math.FmaOp),
    *(arith.AddiOp, arith.MuliOp, arith.XOrIOp, arith.MinSIOp, arith.MaxSIOp),
)


class _Kind(Enum):
    """How a value depends on the lane."""

    SAME = auto()
    """Not at all."""
    NEXT = auto()
    """An index that is one more in the next lane."""
    VECTOR = auto()
    """A number of its own in each."""


class Role(Enum):
    """What an op of a loop of lanes becomes."""

    LOAD = auto()
    """One load of a vector."""
    STORE = auto()
    """One store of a vector."""
    ARITHMETIC = auto()
    """One operation on vectors."""
    SEVERAL = auto()
    """Several operations on vectors, by its row in `VECTORS`."""
    ONCE = auto()
    """What it is anywhere: it is the same for all lanes, or an index."""


class LaneStep(NamedTuple):
    """An op of a loop of lanes, taken apart once for all places where the loop is written out."""

    role: Role
    op: Operation
    value: SSAValue
    """What is loaded, stored or computed; for ONCE, nothing that is read."""
    buffer: SSAValue
    """What is loaded from or stored to; for others, nothing that is read."""
    operands: tuple[SSAValue, ...]
    """Indices of a load or store, numbers of an operation."""
    text: str
    """The vector's type; of an operation its text, with its operands as `{0}`, `{1}`, ..."""


class LaneLoop:
    """A loop that can be vectors, and what its values are."""

    def __init__(self, loop: scf.ForOp, first: int, count: int):
        self.loop, self.first, self.count = loop, first, count
        self.kinds: dict[SSAValue, _Kind] = {loop.body.block.args[0]: _Kind.NEXT}
        self.accessed: dict[SSAValue, list[tuple[SSAValue, ...]]] = {}
        self.stored: set[SSAValue] = set()
        self._steps: dict[int, list[LaneStep]] = {}

    @staticmethod
    def of(loop: scf.ForOp) -> LaneLoop | None:
        """The loop as vectors, or None if it has to stay one."""
        if LANES not in loop.attributes:
            return None
        first, count = constant_index(loop.lb), trip_count(loop)
        if first is None or count is None or loop.iter_args:
            return None
        found = LaneLoop(loop, first, count)
        return found if constant_index(loop.step) == 1 and found._is_understood() else None

    def vectors(self) -> list[tuple[int, int]]:
        """The first lane and the length of each vector: a power of two, at most `VECTOR` bytes long."""
        widths = [element_bytes(memref_of(buffer).element_type) for buffer in self.accessed]
        longest, found, at = VECTOR // max(widths, default=8), list[tuple[int, int]](), 0
        while left := self.count - at:
            length = min(longest, 1 << left.bit_length() - 1)
            found.append((self.first + at, length))
            at += length
        return found

    def is_vector(self, value: SSAValue) -> bool:
        """Whether a value is a vector."""
        return self._kind(value) is _Kind.VECTOR

    def steps(self, length: int) -> list[LaneStep]:
        """What its ops become as vectors of a length."""
        found = self._steps.get(length)
        if found is None:
            ops = (op for op in self.loop.body.block.ops if not isinstance(op, scf.YieldOp))
            found = self._steps[length] = [self._step(op, length) for op in ops]
        return found

    def _step(self, op: Operation, length: int) -> LaneStep:
        if isinstance(op, memref.LoadOp) and self.is_vector(op.res):
            return LaneStep(Role.LOAD, op, op.res, op.memref, tuple(op.indices), vector_type(length, op.res.type))
        if isinstance(op, memref.StoreOp):
            return LaneStep(Role.STORE, op, op.value, op.memref, tuple(op.indices), vector_type(length, op.value.type))
        (result,) = op.results
        if not self.is_vector(result):
            return LaneStep(Role.ONCE, op, result, result, (), "")
        if type(op) in VECTORS:
            return LaneStep(Role.SEVERAL, op, result, result, tuple(op.operands), "")
        element = result.type
        places = [f"{{{number}}}" for number in range(len(op.operands))]
        kind = "f" if is_float(element) else "i"
        suffix, type_ = f"v{length}{kind}{8 * element_bytes(element)}", vector_type(length, element)
        # arithmetic is one instruction
        text = llvm_text(op, places, type_, suffix, str, type_)
        # the name of a function for integers has their type as a suffix
        text = text.replace(f".{type_}(", f".{suffix}(")
        return LaneStep(Role.ARITHMETIC, op, result, result, tuple(op.operands), text)

    def _kind(self, value: SSAValue) -> _Kind:
        return self.kinds.get(value, _Kind.SAME)

    def _is_understood(self) -> bool:
        for op in self.loop.body.block.ops:
            if isinstance(op, scf.YieldOp):
                continue
            if (kind := self._kind_of(op)) is None:
                return False
            self.kinds.update(dict.fromkeys(op.results, kind))
        # what a lane reads of a buffer that is written is what this lane writes
        return all(self._has_own(buffer) for buffer in self.stored)

    def _has_own(self, buffer: SSAValue) -> bool:
        """Whether no lane touches what another one does: all accesses are one, or in the lane's column of a matrix."""
        places = set(self.accessed[buffer])
        columns = {place[-1] for place in places}
        inside = self.first >= 0 and self.first + self.count <= memref_of(buffer).get_shape()[-1]
        return len(places) == 1 or (columns == {self.loop.body.block.args[0]} and inside)

    def _kind_of(self, op: Operation) -> _Kind | None:
        if isinstance(op, memref.LoadOp):
            return self._access(op.memref, op.indices)
        if isinstance(op, memref.StoreOp):
            self.stored.add(op.memref)
            is_number = self._kind(op.value) is not _Kind.NEXT
            return self._access(op.memref, op.indices) if is_number and self._moves(op.indices) else None
        if op.regions or not (type(op) in ROWS or isinstance(op, arith.ConstantOp)):
            return None
        kinds = {self._kind(operand) for operand in op.operands}
        if kinds <= {_Kind.SAME}:
            return _Kind.SAME
        if _Kind.NEXT in kinds:
            first, second = (self._kind(operand) for operand in op.operands[:2])
            adds = isinstance(op, arith.AddiOp) and _Kind.SAME in kinds
            takes = isinstance(op, arith.SubiOp) and (first, second) == (_Kind.NEXT, _Kind.SAME)
            return _Kind.NEXT if adds or takes else None
        if isinstance(op, arith.SelectOp):
            # one condition for all lanes
            return _Kind.VECTOR if self._kind(op.cond) is _Kind.SAME and _is_number(op.result.type) else None
        return _Kind.VECTOR if isinstance(op, _ARITHMETIC) or _is_several(op) else None

    def _moves(self, indices: Sequence[SSAValue]) -> bool:
        return any(self._kind(index) is _Kind.NEXT for index in indices)

    def _access(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> _Kind | None:
        type_ = memref_of(buffer)
        self.accessed.setdefault(buffer, []).append(tuple(indices))
        if type_.element_type not in (f32, f64, bf16, i8, i32, i64):
            return None
        moving = [axis for axis, index in enumerate(indices) if self._kind(index) is not _Kind.SAME]
        if not moving:
            return _Kind.SAME
        neighbours = len(moving) == 1 and self._moves(indices) and strides_of(type_)[moving[0]] == 1
        return _Kind.VECTOR if neighbours else None


def _is_number(type_: Attribute) -> bool:
    """Whether a choice between vectors of a type is made in vectors."""
    return is_float(type_) or type_ == i32


def _is_several(op: Operation) -> bool:
    """Whether an op has a row in `VECTORS` for its types."""
    if isinstance(op, arith.ExtFOp | arith.TruncFOp):
        return {op.input.type, op.result.type} == {bf16, f32}
    if isinstance(op, arith.ExtSIOp):
        return (op.input.type, op.result.type) == (i8, i32)
    return type(op) in VECTORS


def vector_type(length: int, element: Attribute) -> str:
    """The LLVM type of a vector of such elements."""
    return f"<{length} x {llvm_type(element)}>"


class Vector:
    """The instructions of one vector of a loop; `line` emits one with a result."""

    def __init__(self, lanes: LaneLoop, length: int, names: dict[SSAValue, str], line: Callable[[str], str]):
        self.lanes, self.length, self.names, self.line = lanes, length, names, line
        self.copies: dict[SSAValue, str] = {}

    def number(self, value: SSAValue) -> str:
        """The name of a vector: the value's own, or of as many copies of it; or of a condition."""
        if self.lanes.is_vector(value) or value.type == i1:
            return self.names[value]
        found = self.copies.get(value)
        if found is None:
            type_ = vector_type(self.length, value.type)
            one = self.line(f"insertelement {type_} poison, {llvm_type(value.type)} {self.names[value]}, i64 0")
            mask = f"<{self.length} x i32> zeroinitializer"
            found = self.copies[value] = self.line(f"shufflevector {type_} {one}, {type_} poison, {mask}")
        return found


def is_written_out(loop: scf.ForOp, lanes_of: Callable[[scf.ForOp], LaneLoop | None] = LaneLoop.of) -> bool:
    """Whether a loop is to be written out whole, and the loops in it become vectors: those that `lanes_of` knows."""
    mark, trips = loop.attributes.get(UNROLL), trip_count(loop)
    if mark is None or trips is None or cast("IntegerAttr[Any]", mark).value.data < trips:
        return False
    inner = [op for op in loop.body.block.ops if op.regions]
    return bool(inner) and all(
        isinstance(op, scf.ForOp) and (lanes_of(op) is not None or is_written_out(op, lanes_of)) for op in inner
    )
