"""The standalone Python module of `-t numba`: kernels as readable Numba functions, and the program that calls them.
Scalar ops are the rows of rows.py, helpers the texts of prelude.py; nothing is compiled here."""

from __future__ import annotations

import re
from functools import cache
from math import prod
from typing import cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    MemRefType,
    ModuleOp,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.constants import splat_value
from xdsl_rlx.dialects.lir import (
    ConstantOp,
    InputOp,
    KernelOp,
    LaunchOp,
    OutputOp,
    ParamOp,
    ProgramOp,
    SlotOp,
    ViewOp,
)
from xdsl_rlx.dialects.lir.memory import AnyMemRef, element_bytes, is_contiguous, strides_of
from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.lowering.numba import mathlib
from xdsl_rlx.lowering.numba.prelude import LOWERED, PRIMITIVES
from xdsl_rlx.lowering.numba.python_body import Body, identifier
from xdsl_rlx.lowering.numba.rows import buffer_type, outside_type
from xdsl_rlx.transforms.driver import verify_dominance

_CALL = re.compile(r"\b([a-z_]\w*)\(")
_WORD = re.compile(r"\b[a-z_]\w*\b")
_JIT = '@njit(error_model="numpy")'
_INLINE = '@njit(error_model="numpy", forceinline=True)'


def emit_python(module: ModuleOp) -> str:
    """
    A Python module, with NumPy and Numba (and SciPy for matrix products) as its only imports, that runs the programs
    of a lir `module`.

    Each program becomes a function of its name that takes inputs and params by keyword and gives the tuple of outputs.
    f16 and bf16 buffers are arrays of uint16 bits; bf16 results as well, and such arguments may be. Raises
    `PassFailedException` for an op that has no row, and for a module that was not lowered or whose slots have no place.
    """
    kernels: dict[str, str] = {}
    programs: list[str] = []
    verify_dominance(module)
    for op in module.body.block.ops:
        if isinstance(op, KernelOp):
            kernels[op.sym_name.data] = _kernel(op)
        elif isinstance(op, ProgramOp):
            if any(isinstance(slot, SlotOp) and slot.at is None for slot in op.body.block.ops):
                raise PassFailedException(f"the slots of @{op.sym_name.data} have no place: run lir-plan-memory")
            programs.append(_Program(op).text())
    body = [*kernels.values(), *programs]
    if not body:
        raise PassFailedException("no lir.program: run convert-mir-to-lir and lir-plan-memory before -t numba")
    library = _library("\n".join(body))
    header = _header("\n".join([*library, *body]))
    return "\n\n\n".join(part.strip("\n") for part in [header, *library, *body]) + "\n"


def _header(text: str) -> str:
    lines = [
        '"""Printed by xdsl-rlx: loop nests, and the program that runs them.',
        "",
        'With NUMBA_DISABLE_JIT=1 in the environment it is plain Python."""',
        "",
    ]
    standard = [
        name for name, use in (("ctypes", "ctypes."), ("inspect", "inspect."), ("math", "math.")) if use in text
    ]
    lines += [f"import {name}" for name in standard]
    lines += ["from fractions import Fraction"] if "Fraction(" in text else []
    lines += [""] if lines[-1] else []
    if "ir.FunctionType" in text:
        lines += ["from llvmlite import ir"]
    lines += ["import numpy as np", "from numba import njit" + (", types" if "types." in text else "")]
    if "def lowered(" in text:
        lines += [
            "from numba.core import cgutils",
            "from numba.core.typing import signature",
            "from numba.extending import lower_builtin, type_callable",
        ]
    if "get_cython_function_address" in text:
        lines += ["from numba.extending import get_cython_function_address"]
    return "\n".join(lines)


def _library(text: str) -> list[str]:
    """The helpers, tables and mathlib functions that `text` uses, and what those use, definitions first."""
    functions: dict[str, str] = {}
    queue = [name for name in dict.fromkeys(_CALL.findall(text)) if name in mathlib.NAMES]
    while queue:
        name = queue.pop(0)
        if name not in functions:
            functions[name] = _math_function(name)
            queue += [n for n in dict.fromkeys(_CALL.findall(functions[name])) if n in mathlib.NAMES]
    everything = "\n".join([text, *functions.values()])
    called, words = set(_CALL.findall(everything)), set(_WORD.findall(everything))
    primitives = [definition for name, definition in PRIMITIVES.items() if name in called]
    tables = [
        f"{name} = np.array(\n    [\n" + "".join(f"        {v!r},\n" for v in values) + "    ]\n)"
        for name, values in mathlib.TABLES.items()
        if name in words
    ]
    lowered = [LOWERED] if any("@lowered" in p or "@intrinsic" in p for p in primitives) else []
    return [*lowered, *primitives, *tables, *reversed(functions.values())]


@cache
def _math_function(name: str) -> str:
    function = mathlib.function(name)
    body = Body(name)
    args = [body.name(arg) for arg in function.args]
    body.block(function.body.block)
    return "\n".join([_INLINE, f"def {name}({', '.join(args)}):", *body.lines])


def _type_text(type: Attribute) -> str:
    assert isinstance(type, MemRefType)
    buffer = cast("AnyMemRef", type)
    layout = "" if is_contiguous(buffer) else f" strides {list(strides_of(buffer))}"
    return f"{buffer.element_type}{list(buffer.get_shape())}{layout}"


def _kernel(kernel: KernelOp) -> str:
    args = kernel.body.block.args
    body = Body(kernel.sym_name.data)
    names = [
        body.name(arg, default)
        for arg, default in zip(args, [*(f"a{i}" for i in range(len(args) - 2)), "lo", "hi"], strict=True)
    ]
    types = ", ".join(f"{n}: {_type_text(a.type)}" for n, a in zip(names[:-2], args[:-2], strict=True))
    body.block(kernel.body.block)
    head = [_JIT, f"def {identifier(kernel.sym_name.data)}({', '.join(names)}):", f"    # {types}"]
    return "\n".join(head + body.lines)


class _Program:
    """The function of one program: buffers, then launches in order, with the chunks of the launch table."""

    def __init__(self, program: ProgramOp) -> None:
        self.program = program
        self.optional = {name.data for name in program.optional} if program.optional is not None else set[str]()
        self.body = Body(identifier(program.sym_name.data))
        self.roots: dict[SSAValue, tuple[str, int]] = {}
        """Buffer or view -> the array it lies in, and the element it starts at."""
        self.outputs: dict[int, str] = {}
        self.types: list[str] = []

    def text(self) -> str:
        body = self.body
        block = self.program.body.block
        names = [op.buffer_name.data for op in block.ops if isinstance(op, InputOp | ParamOp)]
        body.emit(f"_known({', '.join(['inputs', *map(repr, names)])})")
        arena = self.program.arena_bytes
        if arena is not None and any(isinstance(op, SlotOp) for op in block.ops):
            body.emit(f"arena = np.empty({arena.value.data}, np.uint8)")
        for op in block.ops:
            if isinstance(op, LaunchOp):
                body.gap()
                self.launch(op)
            else:
                self.buffer(op)
        results = "".join(f"{self.outputs[n]}, " for n in range(len(self.outputs)))
        lines = [
            f"def {identifier(self.program.sym_name.data)}(**inputs):",
            f'    """{", ".join(self.types)}"""',
            '    with np.errstate(all="ignore"):',
            *(f"    {line}" if line else "" for line in body.lines),
            f"    return ({results.rstrip()})",
        ]
        return "\n".join(lines)

    def buffer(self, op: Operation) -> None:
        body, value = self.body, op.results[0]
        type = memref_of(value)
        shape, dtype = tuple(type.get_shape()), buffer_type(type.element_type)
        if isinstance(op, ViewOp):
            root, start = self.roots[op.source]
            size = element_bytes(type.element_type)
            start += op.offset.value.data * size
            strides = tuple(s * size for s in strides_of(type))
            name = body.name(value, "view")
            body.emit(f"{name} = np.ndarray({shape}, {dtype}, {root}, {start}, {strides})")
            self.roots[value] = (root, start)
            return
        name = body.name(value, _default_name(op))
        self.roots[value] = (name, 0)
        if isinstance(op, InputOp | ParamOp):
            self.argument(name, op.buffer_name.data, type)
        elif isinstance(op, ConstantOp):
            own = outside_type(type.element_type)
            bits = f".view({dtype})" if own.startswith("np.uint") else ""
            body.emit(f"{name} = {_constant_array(op.value, own if bits else dtype, shape)}{bits}")
        elif isinstance(op, SlotOp) and op.at is not None:
            first = op.at.value.data
            last = first + prod(shape) * element_bytes(type.element_type)
            body.emit(f"{name} = arena[{first}:{last}].view({dtype}).reshape({shape})")
        else:
            body.emit(f"{name} = np.empty({shape}, {dtype})")
        if isinstance(op, OutputOp):
            own = outside_type(type.element_type)
            self.outputs[op.number.value.data] = name if own == dtype else f"{name}.view({own})"

    def argument(self, name: str, key: str, type: AnyMemRef) -> None:
        shape, dtype = tuple(type.get_shape()), buffer_type(type.element_type)
        self.types.append(f"{key}: {type.element_type}{list(shape)}")
        own = outside_type(type.element_type)
        given = f"inputs, {key!r}, {shape}, {own}"
        if key in self.optional:
            one = "np.full({}, 0x3F80, np.uint16)" if isinstance(type.element_type, BFloat16Type) else "np.ones({}, {})"
            given += f", {one.format(shape, own)}"
        bits = f".view({dtype})" if own != dtype else ""
        self.body.emit(f"{name} = _argument({given}){bits}")

    def launch(self, op: LaunchOp) -> None:
        body = self.body
        args = ", ".join(body.names[x] for x in (*op.reads, *op.writes))
        kernel = identifier(op.kernel.root_reference.data)
        extent, chunk = op.extent.value.data, op.chunk.value.data
        separator = ", " if args else ""
        if extent <= chunk:
            body.emit(f"{kernel}({args}{separator}0, {extent})")
            return
        body.emit(f"for lo in range(0, {extent}, {chunk}):")
        body.emit(f"    {kernel}({args}{separator}lo, min(lo + {chunk}, {extent}))")


def _default_name(op: Operation) -> str:
    if isinstance(op, InputOp | ParamOp):
        return op.buffer_name.data
    if isinstance(op, OutputOp):
        return f"output_{op.number.value.data}"
    return "constant" if isinstance(op, ConstantOp) else "slot"


def _constant_array(value: DenseIntOrFPElementsAttr, dtype: str, shape: tuple[int, ...]) -> str:
    """Few numbers as numbers, many as their bytes."""
    element = value.get_element_type()
    numbers = [x for x in value.get_values() if isinstance(x, int | float)]
    finite = all(x - x == 0 for x in numbers) and not isinstance(element, Float16Type | BFloat16Type)
    if finite and splat_value(value) is not None:
        return f"np.full({shape}, {numbers[0]!r}, {dtype})"
    if finite and (len(numbers) <= 16 or element == i1):
        return f"np.array({[int(x) for x in numbers] if element == i1 else numbers!r}, {dtype}).reshape({shape})"
    return f"np.frombuffer(bytes.fromhex({value.data.data.hex()!r}), {dtype}).reshape({shape})"
