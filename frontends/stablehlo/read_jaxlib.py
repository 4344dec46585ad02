"""The reader by the MLIR bindings of jaxlib: pretty and generic text, bytecode, portable artifacts, locations."""

# Objects of jaxlib, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import re
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.shared.needed import check_jax
from xdsl_rlx.frontends.stablehlo.attributes import attribute_of, dense_of, filled, numpy_type, type_of
from xdsl_rlx.frontends.stablehlo.tree import OUTSIDE, WHOLE, Attribute, Block, Function, Module, Op, Type

PORTABLE = b"ML\xefR\rStableHLO_v"
"""The first bytes of a portable artifact, which other versions of StableHLO read."""


def is_installed() -> bool:
    """Whether JAX, and with it jaxlib's bindings, is there."""
    try:
        import_module("jax.interpreters.mlir")
        import_module("jaxlib.mlir.ir")
    except ImportError:
        return False
    return True


def read(source: str | bytes) -> Module:
    """Return the tree of a text, of bytecode or of a portable artifact; FrontendError if it is none of these."""
    ir: Any = import_module("jaxlib.mlir.ir")
    check_jax(import_module("jaxlib").__version__)
    context = _context()
    with context:
        try:
            return _Reader().module(_parsed(ir, context, source))
        except ir.MLIRError as error:
            message = _message(error)
            cure = _NEWER if "unregistered operation" in message else WHOLE
            raise FrontendError(f"from_stablehlo: {message}; {cure}") from error


_NEWER = "compute it by other operations, or install a newer JAX if StableHLO has it"


def _context() -> Any:
    """A context with JAX's dialects, in which operations of others are read without being known."""
    context: Any = import_module("jax.interpreters.mlir").make_ir_context()
    context.allow_unregistered_dialects = True
    return context


def _parsed(ir: Any, context: Any, source: str | bytes) -> Any:
    if isinstance(source, bytes) and source.startswith(PORTABLE):
        stablehlo: Any = import_module("jaxlib.mlir.dialects.stablehlo")
        try:
            return stablehlo.deserialize_portable_artifact(context, source)
        except (ValueError, RuntimeError) as error:
            raise FrontendError(
                f"from_stablehlo: a portable artifact cannot be read: {_message(error)}; it is truncated, or of a "
                f"newer version than {stablehlo.get_current_version()}"
            ) from error
    return ir.Module.parse(source)


def _message(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.startswith("Unable to")]
    return "; ".join(line.removeprefix("error: ") for line in lines[:2]) or type(error).__name__


class _Reader:
    """Numbers for the values of a module."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.next = count()
        self.types: dict[Any, Type] = {}

    def module(self, module: Any) -> Module:
        found = Module()
        for op in module.body.operations:
            op = op.operation
            if op.name in OUTSIDE:
                continue
            if op.name != "func.func":
                raise FrontendError(f"from_stablehlo: expected functions in a module, got {op.name}")
            name = str(op.attributes["sym_name"].value)
            if not list(op.regions[0].blocks):
                raise FrontendError(f"from_stablehlo: the function @{name} has no body")
            inside = op.regions[0].blocks[0]
            results = tuple(self.type(one) for one in op.attributes["function_type"].value.results)
            names = tuple(_name_in(str(argument.location)) for argument in inside.arguments)
            found.functions[name] = Function(name, self.block(inside), names, results)
        return found

    def block(self, block: Any) -> Block:
        arguments = tuple(self.number(one) for one in block.arguments)
        types = tuple(self.type(one.type) for one in block.arguments)
        return Block(arguments, types, [self.op(op.operation) for op in block.operations])

    def op(self, op: Any) -> Op:
        operands, results = list(op.operands), list(op.results)
        blocks = tuple(
            self.block(region.blocks[0]) if len(region.blocks) else Block((), (), []) for region in op.regions
        )
        return Op(
            op.name,
            tuple(self.number(one) for one in operands),
            tuple(self.type(one.type) for one in operands),
            tuple(self.number(one) for one in results),
            tuple(self.type(one.type) for one in results),
            self.attributes(op),
            blocks,
            place_of(str(op.location)),
        )

    def number(self, value: Any) -> int:
        if value not in self.numbers:
            self.numbers[value] = next(self.next)
        return self.numbers[value]

    def type(self, type_: Any) -> Type:
        if type_ not in self.types:
            self.types[type_] = type_of(str(type_))
        return self.types[type_]

    def attributes(self, op: Any) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        for name in op.attributes:
            try:
                one = op.attributes[name]
            except TypeError as error:
                # bindings have no class for some constants; the message has their text
                found[name] = self.of_text(str(error))
            else:
                found[name] = self.attribute(one)
        return found

    def of_text(self, message: str) -> Attribute:
        match = re.search(r"Attribute\((dense<(.*)> : (tensor<.*>))\)", message, re.DOTALL)
        if match is None:
            return message
        return dense_of(match[2], type_of(match[3]))

    def attribute(self, one: Any) -> Attribute:
        kind = type(one).__name__
        if kind in ("DenseFPElementsAttr", "DenseIntElementsAttr"):
            return self.dense(one)
        if kind in ("IntegerAttr", "FloatAttr", "StringAttr", "BoolAttr", "FlatSymbolRefAttr"):
            return one.value
        if kind.startswith("Dense") and kind.endswith("ArrayAttr"):
            return tuple(one[n] for n in range(len(one)))
        if kind == "ArrayAttr":
            return tuple(self.attribute(inner) for inner in one)
        if kind == "DictAttr":
            return {one[n].name: self.attribute(one[n].attr) for n in range(len(one))}
        if kind == "UnitAttr":
            return True
        if kind == "TypeAttr":
            return str(one.value)
        return attribute_of(str(one))

    def dense(self, one: Any) -> np.ndarray[Any, Any]:
        type_ = self.type(one.type)
        dtype = numpy_type(type_.dtype)
        if dtype is None or type_.dtype == "bf16":
            match = re.fullmatch(r"dense<(.*)> : tensor<.*>", str(one), re.DOTALL)
            assert match is not None
            return dense_of(match[1], type_)
        if one.is_splat and type_.dtype != "i1":
            # the buffer of one element, whatever the shape
            return filled(np.array(one.get_splat_value().value).astype(dtype), type_.extents)
        return np.array(one)


_FILE = re.compile(r'"([^"]+)":(\d+):\d+')


def place_of(location: str) -> str:
    """The line that a location of MLIR says, and the name of what is there: `model.py:12 (jit(f)/add)`."""
    name = re.match(r'loc\("([^"]+)"\(', location)
    file = _FILE.search(location)
    if file is None:
        return name[1] if name else "an unknown location"
    where = f"line {file[2]}" if file[1] == "-" else f"{file[1]}:{file[2]}"
    return f"{where} ({name[1]})" if name else where


def _name_in(location: str) -> str | None:
    match = re.fullmatch(r'loc\("([^"]+)"(?:\(.*\))?\)', location, re.DOTALL)
    return match[1] if match else None
