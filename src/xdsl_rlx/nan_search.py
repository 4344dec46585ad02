"""Finds the op that made the first NaN of a result: a graph is run again op by op, loops and branches in Python."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.compiling import compile
from xdsl_rlx.dialects.errors import NanError
from xdsl_rlx.dialects.locations import source_of
from xdsl_rlx.dialects.mir.branch import IfOp, RematOp, SwitchOp, WhileOp
from xdsl_rlx.dialects.mir.control import FusionOp, YieldOp
from xdsl_rlx.dialects.mir.core import Elementwise
from xdsl_rlx.dialects.mir.custom_fn import CustomFnOp, is_continuous
from xdsl_rlx.dialects.mir.elementwise import ConstantOp, WhereOp
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.backend.driver.dtypes import dtype_of
from xdsl_rlx.passes import lower_hir
from xdsl_rlx.transforms.signature import KIND, NAME

if TYPE_CHECKING:
    from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph

Array = np.ndarray[Any, Any]

SHOWN = 3
"""Positions of NaN that a message has."""


def has_nan(array: Array) -> bool:
    """Whether an array of floating-point or complex elements has a NaN."""
    return array.dtype.kind not in "biu" and bool(np.isnan(array).any())


class Kind(Enum):
    """How a NaN was made."""

    COMPUTED = "gives NaN"
    """By an op from numbers, or it was in an argument."""
    CONSTANT = "is NaN"
    """It is a constant of the program."""
    CHOSEN = "takes NaN from a constant"
    """`mir.where` took it from a constant."""


@dataclass(frozen=True)
class Birth:
    """Where a NaN came from: an op, or an argument."""

    what: str
    array: Array
    iterations: tuple[str, ...] = ()
    """The iterations of the loops around the op, outermost first."""
    kind: Kind = Kind.COMPUTED
    order: int = -1
    """Its number among the births of the run; arguments are before all ops."""

    @property
    def message(self) -> str:
        """The words of the exception."""
        positions = np.argwhere(np.isnan(self.array))
        places = ", ".join(str([int(i) for i in at]) for at in positions[:SHOWN])
        more = f" and {len(positions) - SHOWN} more" if len(positions) > SHOWN else ""
        at = "" if self.array.ndim == 0 else f" at {places}{more} of shape {self.array.shape}"
        return f"{self.what} {self.kind.value}{at}" + "".join(f", in {one}" for one in self.iterations)


@dataclass(frozen=True)
class _Value:
    array: Array
    birth: Birth | None = None
    """That of its first NaN, if it has any."""
    cause: Birth | None = None
    """
    That of the first NaN among the numbers that it was chosen by.

    A comparison with NaN has a result without NaN, which selects elements, branches and the ends of loops.
    """


def _first(births: Iterable[Birth | None]) -> Birth | None:
    return min((one for one in births if one is not None), key=lambda one: one.order, default=None)


def _influenced(value: _Value, cause: Birth | None) -> _Value:
    """
    The value, chosen by something that NaN had an influence on.

    A constant that is NaN stands for a failure, so a NaN that made the program choose it is reported instead.
    """
    if cause is None:
        return value
    replaced = value.birth is not None and value.birth.kind is not Kind.COMPUTED
    return _Value(value.array, cause if replaced else value.birth, _first((value.cause, cause)))


class _Run:
    """One run of a graph; programs of single ops are kept by their text."""

    def __init__(self) -> None:
        self._programs: dict[str, CompiledGraph] = {}
        self._iterations: list[str] = []
        self._births = count()

    def block(self, block: Block, inputs: Sequence[_Value]) -> list[_Value]:
        """The operands of the terminator."""
        env: dict[SSAValue, _Value] = dict(zip(block.args, inputs, strict=True))
        for op in block.ops:
            operands = [env[x] for x in op.operands]
            if isinstance(op, ReturnOp | YieldOp):
                return operands
            env.update(zip(op.results, self._op(op, operands), strict=True))
        raise AssertionError("a block without a terminator")

    def _op(self, op: Operation, operands: Sequence[_Value]) -> Sequence[_Value]:
        match op:
            case ScanOp():
                return self._scan(op, operands)
            case WhileOp():
                return self._while(op, operands)
            case IfOp():
                taken = op.then if operands[0].array else op.otherwise
                return self._branch(taken, operands)
            case SwitchOp():
                number = min(max(int(operands[0].array), 0), len(op.regions) - 1)
                return self._branch(op.regions[number], operands)
            case RematOp() | FusionOp():
                return self.block(op.body.block, operands)
            case CustomFnOp():
                return self.block(op.forward.block, operands)
            case _ if not op.results:
                # it is there for its effect, which the run of the whole graph had
                return []
            case _:
                return self._single(op, operands)

    def _single(self, op: Operation, operands: Sequence[_Value]) -> list[_Value]:
        source = _module_of(op)
        program = self._programs.get(text := str(source))
        if program is None:
            program = self._programs[text] = compile(as_graph_module(source))
        cause = _first(x.cause for x in operands)
        found: list[_Value] = []
        for result, array in zip(op.results, program(*(x.array for x in operands)), strict=True):
            birth = self._birth(op, operands, array) if has_nan(array) else None
            # NaN leaves no trace in a float result without NaN, but in truth values and integers
            lost = () if is_continuous(result) else (x.birth for x in operands if x.birth is not None)
            found.append(_influenced(_Value(array, birth), _first((cause, *lost))))
        return found

    def _birth(self, op: Operation, operands: Sequence[_Value], array: Array) -> Birth:
        """That of the NaN in a result: of an operand's NaN if it has any, else this op."""
        births = [x.birth for x in operands if x.birth is not None]
        computed = _first(one for one in births if one.kind is Kind.COMPUTED)
        if computed is not None:
            return computed
        kind = Kind.COMPUTED
        if (constant := _first(births)) is not None and not _is_new(op, operands, array):
            if not isinstance(op, WhereOp) or constant.kind is Kind.CHOSEN:
                return constant
            kind = Kind.CHOSEN
        elif isinstance(op, ConstantOp):
            kind = Kind.CONSTANT
        return Birth(f"{op.name}{source_of(op)}", array, tuple(self._iterations), kind, next(self._births))

    def _branch(self, region: Region, operands: Sequence[_Value]) -> list[_Value]:
        choice, *inputs = operands
        return [_influenced(x, choice.cause) for x in self.block(region.block, inputs)]

    def _scan(self, op: ScanOp, operands: Sequence[_Value]) -> list[_Value]:
        n, m = len(op.init), len(op.init) + len(op.xs)
        carries, xs, captured = list(operands[:n]), operands[n:m], operands[m:]
        length = op.length.value.data
        rows: list[dict[int, _Value]] = [{} for _ in op.ys]
        for t in range(length) if op.reverse is None else reversed(range(length)):
            elements = [_row(x, t) for x in xs]
            with self._iteration(f"iteration {t} of the scan{source_of(op)}"):
                found = self.block(op.body.block, [*carries, *elements, *captured])
            carries = found[:n]
            for stack, y in zip(rows, found[n:], strict=True):
                stack[t] = y
        return [*carries, *(_stacked(stack, y) for stack, y in zip(rows, op.ys, strict=True))]

    def _while(self, op: WhileOp, operands: Sequence[_Value]) -> list[_Value]:
        n, trips = len(op.init), 0
        carries, captured = list(operands[:n]), operands[n:]
        most = None if op.max_iterations is None else op.max_iterations.value.data
        cause: Birth | None = None
        while most is None or trips < most:
            going = self.block(op.condition.block, [*carries, *captured])[0]
            cause = _first((cause, going.cause))
            if not going.array:
                break
            with self._iteration(f"iteration {trips} of the loop{source_of(op)}"):
                carries = self.block(op.body.block, [*carries, *captured])
            trips += 1
        return [_influenced(x, cause) for x in (*carries, _Value(np.asarray(trips, np.int32)))]

    @contextmanager
    def _iteration(self, words: str) -> Generator[None]:
        self._iterations.append(words)
        yield
        self._iterations.pop()


def _row(x: _Value, t: int) -> _Value:
    row = x.array[t]
    return _Value(row, x.birth if has_nan(row) else None, x.cause)


def _is_new(op: Operation, operands: Sequence[_Value], array: Array) -> bool:
    """Whether an elementwise op has NaN at a position where no operand has it."""
    if not op.has_trait(Elementwise):
        return False
    before = [np.isnan(x.array) for x in operands if x.birth is not None]
    return bool((np.isnan(array) & ~np.any(np.broadcast_arrays(*before, array)[:-1], axis=0)).any())


def _stacked(rows: Mapping[int, _Value], result: SSAValue) -> _Value:
    if not rows:
        return _Value(np.zeros(shape_of(result), dtype_of(str(element_of(result)))))
    array = np.stack([rows[t].array for t in range(len(rows))])
    return _Value(array, _first(x.birth for x in rows.values()), _first(x.cause for x in rows.values()))


def _module_of(op: Operation) -> ModuleOp:
    """A graph of one op."""
    types = [x.type for x in op.operands]
    block = Block(arg_types=types)
    copy = op.clone(dict(zip(op.operands, block.args, strict=True)))
    block.add_ops([copy, ReturnOp(*copy.results)])
    names = [DictionaryAttr({NAME: StringAttr(f"x{i}"), KIND: StringAttr("input")}) for i in range(len(types))]
    function = FuncOp("op", FunctionType.from_lists(types, [x.type for x in copy.results]), Region(block))
    function.arg_attrs = ArrayAttr(names)
    return ModuleOp([function])


def check(graph: CompiledGraph, arguments: Mapping[str, Array]) -> None:
    """
    Raise NanError with the op that made the first NaN of a result; `arguments` are by name, as before the call.

    Returns if no result of the ops run one by one has NaN.
    """
    signature = lower_hir(graph.origin.module()).signature
    inputs: list[_Value] = []
    for one in signature.arguments:
        array = arguments[one.name]
        inputs.append(_Value(array, Birth(f"argument '{one.name}'", array) if has_nan(array) else None))
    found = _first(result.birth for result in _Run().block(signature.block, inputs))
    if found is not None:
        raise NanError(f"'{graph.name}': {found.message}")
