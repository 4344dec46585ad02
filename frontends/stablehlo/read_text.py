"""The reader by xDSL, for generic text: it needs no JAX. Operations of StableHLO are unregistered ones there."""

# Attributes are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from itertools import count
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    Builtin,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    UnregisteredAttr,
    UnregisteredOp,
)
from xdsl.dialects.func import Func, FuncOp
from xdsl.ir import Attribute as IRAttribute
from xdsl.ir import Block as IRBlock
from xdsl.ir import Operation, Region, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.stablehlo.attributes import attribute_of, filled, numpy_type, type_of
from xdsl_rlx.frontends.stablehlo.tree import OUTSIDE, WHOLE, Attribute, Block, Function, Module, Op, Type
from xdsl_rlx.passes import check_text

_DENSE_FLOATS = re.compile(r"dense<([^<>\"]*0x[0-9A-Fa-f][^<>\"]*)>(\s*:\s*tensor<[^<>]*?(f16|bf16|f32|f64)>)")
_PRETTY = re.compile(r"^\s*(?:func\.func|(?:%[\w:]+\s*=\s*)?(?:stablehlo|chlo)\.\w+|return)\b", re.MULTILINE)
_BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}


def read(source: str) -> Module:
    """Return the tree of a module in MLIR's generic form; FrontendError, with the line, for another text."""
    if (match := _PRETTY.search(source)) is not None:
        line = source.count("\n", 0, match.start() + len(match[0])) + 1
        raise FrontendError(
            f"from_stablehlo: line {line} is in StableHLO's own form ({match[0].strip()}), which JAX reads: "
            "pip install 'xdsl-rlx[jax]', or print the module with print_generic_op_form=True"
        )
    try:
        check_text(source)
    except GraphError as error:
        raise FrontendError(f"from_stablehlo: {str(error).replace('<unknown>:', 'line ')}; {WHOLE}") from error
    context = Context(allow_unregistered=True)
    for dialect in (Builtin, Func):
        context.load_dialect(dialect)
    parser = _LineParser(context, with_bytes(source), "module")
    try:
        module = parser.parse_module()
    except (ParseError, VerifyException, ValueError, AssertionError, TypeError, OverflowError, AttributeError) as error:
        raise FrontendError(f"from_stablehlo: {_message(error)}; {WHOLE}") from error
    return tree_of(module, parser.lines)


def _message(error: Exception) -> str:
    if isinstance(error, ParseError):
        text, start = str(error.span.input.content), error.span.start
        line = text.count("\n", 0, start) + 1
        return f"line {line}: {error.msg}"
    return str(error) or type(error).__name__


def with_bytes(source: str) -> str:
    """
    Return a text in which each constant of floats that has hexadecimal numbers is written as bytes.

    xDSL reads hexadecimal numbers as integers, also in constants of floats, where these are the bits of the number.
    """

    def replaced(match: re.Match[str]) -> str:
        size = _BYTES[match[3]]
        data = bytearray()
        for word in re.findall(r"0x[0-9A-Fa-f]+|-?[\d.]+(?:[eE][-+]?\d+)?", match[1]):
            if word.startswith("0x"):
                data += int(word, 16).to_bytes(size, "little")
            else:
                dtype = numpy_type(match[3])
                data += np.array(float(word)).astype(dtype).tobytes()
        return f'dense<"0x{data.hex().upper()}">{match[2]}'

    return _DENSE_FLOATS.sub(replaced, source) if "0x" in source else source


class _LineParser(Parser):
    """A parser that notes the line of each operation."""

    def __init__(self, context: Context, source: str, name: str):
        super().__init__(context, source, name)
        self.lines: dict[Operation, int] = {}
        self._seen, self._line = 0, 1

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        self._line += self._current_token.span.input.content.count("\n", self._seen, start)
        self._seen, line = start, self._line
        op = super().parse_operation()
        self.lines[op] = line
        return op


def tree_of(module: ModuleOp, lines: dict[Operation, int] | None = None) -> Module:
    """Return the tree of a module of xDSL; FrontendError for anything but functions."""
    return _Reader(lines or {}).module(module)


class _Reader:
    """Numbers for the values of a module."""

    def __init__(self, lines: dict[Operation, int]):
        self.lines = lines
        self.next = count()
        self.numbers: dict[SSAValue, int] = {}

    def module(self, module: ModuleOp) -> Module:
        found = Module()
        for op in module.ops:
            if _name(op) in OUTSIDE:
                continue
            if not isinstance(op, FuncOp):
                raise FrontendError(f"from_stablehlo: expected functions in a module, got {_name(op)}")
            name = op.sym_name.data
            if not op.body.blocks:
                raise FrontendError(f"from_stablehlo: the function @{name} has no body")
            results = tuple(map(self.type, op.function_type.outputs.data))
            names = tuple(one.name_hint for one in op.body.block.args)
            found.functions[name] = Function(name, self.block(op.body), names, results)
        return found

    def block(self, region: Region) -> Block:
        if not region.blocks:
            return Block((), (), [])
        block: IRBlock = region.blocks[0]
        arguments = tuple(self.number(one) for one in block.args)
        types = tuple(self.type(one.type) for one in block.args)
        return Block(arguments, types, [self.op(op) for op in block.ops])

    def op(self, op: Operation) -> Op:
        attributes: dict[str, IRAttribute] = {**op.attributes, **op.properties}
        attributes.pop("op_name__", None)
        blocks = tuple(self.block(region) for region in op.regions)
        line = self.lines.get(op)
        return Op(
            _name(op),
            tuple(self.number(one) for one in op.operands),
            tuple(self.type(one.type) for one in op.operands),
            tuple(self.number(one) for one in op.results),
            tuple(self.type(one.type) for one in op.results),
            {name: self.attribute(one) for name, one in attributes.items()},
            blocks,
            f"line {line}" if line else "an unknown location",
        )

    def number(self, value: SSAValue) -> int:
        if value not in self.numbers:
            self.numbers[value] = next(self.next)
        return self.numbers[value]

    def type(self, type_: IRAttribute) -> Type:
        return type_of(str(type_))

    def attribute(self, one: IRAttribute) -> Attribute:
        match one:
            case DenseIntOrFPElementsAttr():
                return self.dense(one)
            case IntegerAttr():
                number = one.value.data
                return bool(number) if one.type == IntegerType(1) else number
            case FloatAttr():
                return one.value.data
            case StringAttr():
                return one.data
            case SymbolRefAttr():
                return one.root_reference.data
            case DenseArrayBase():
                array: Any = one
                values = array.get_values()
                return tuple(map(bool, values)) if one.elt_type == IntegerType(1) else tuple(values)
            case ArrayAttr():
                return tuple(self.attribute(inner) for inner in one.data)
            case DictionaryAttr():
                return {name: self.attribute(inner) for name, inner in one.data.items()}
            case UnitAttr():
                return True
            case UnregisteredAttr():
                return attribute_of(str(one))
            case _:
                return str(one)

    def dense(self, one: Any) -> np.ndarray[Any, Any]:
        type_ = self.type(one.type)
        dtype = numpy_type(type_.dtype)
        if dtype is None or not type_.is_static:
            raise FrontendError(f"from_stablehlo: a constant of type {type_} is not supported")
        element = one.type.get_element_type()
        if type_.dtype == "i1" or isinstance(element, ComplexType):
            values = [complex(*n) if isinstance(n, tuple) else n for n in one.get_values()]
            return np.array(values).astype(dtype).reshape(type_.extents)
        data = np.frombuffer(one.data.data, dtype)
        return filled(data, type_.extents)


def _name(op: Operation) -> str:
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name
