"""The standalone Python module of `-t numba`: kernels as readable Numba functions, and the program that calls them.
Scalar ops are the rows of rows.py, helpers the texts of prelude.py; nothing is compiled here."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any, cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    UnrealizedConversionCastOp,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.constants import splat_value
from xdsl_rlx.dialects.lir import (
    BlockGemmOp,
    ConstantOp,
    GemmOp,
    GetrfOp,
    GetrsOp,
    InputOp,
    KernelOp,
    LaunchOp,
    OutputOp,
    ParamOp,
    ProgramOp,
    ReturnOp,
    SlotOp,
    ViewOp,
)
from xdsl_rlx.dialects.lir.memory import AnyMemRef, element_bytes, is_contiguous, strides_of
from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.lowering.numba import mathlib
from xdsl_rlx.lowering.numba.gemm import Operand, leading_dimension, row_leading_dimension
from xdsl_rlx.lowering.numba.lapack import python_getrf, python_getrs
from xdsl_rlx.lowering.numba.prelude import LOWERED, PRIMITIVES
from xdsl_rlx.lowering.numba.rows import ROWS, buffer_type, function_suffix, outside_type, python_type

_CALL = re.compile(r"\b([a-z_]\w*)\(")
_WORD = re.compile(r"\b[a-z_]\w*\b")
_JIT = '@njit(error_model="numpy")'
_INLINE = '@njit(error_model="numpy", forceinline=True)'
_RESERVED = frozenset(
    {*keyword.kwlist, *PRIMITIVES, *mathlib.NAMES, *mathlib.TABLES, *dir(__builtins__)}
    | {
        "np",
        "math",
        "ctypes",
        "types",
        "ir",
        "cgutils",
        "njit",
        "lowered",
        "intrinsic",
        "inputs",
        "arena",
        "min",
        "max",
    }
    | {"abs", "range", "int", "float", "type", "Fraction", "signature"}
)


def emit_python(module: ModuleOp) -> str:
    """
    A Python module, with NumPy and Numba (and SciPy for matrix products) as its only imports, that runs the programs
    of a lir `module`.

    Each program becomes a function of its name that takes inputs and params by keyword and gives the tuple of outputs.
    f16 and bf16 buffers are arrays of uint16 bits; bf16 arguments and results as well. Raises `PassFailedException`
    for an op that has no row.
    """
    kernels: dict[str, str] = {}
    programs: list[str] = []
    for op in module.body.block.ops:
        if isinstance(op, KernelOp):
            kernels[op.sym_name.data] = _kernel(op)
        elif isinstance(op, ProgramOp):
            programs.append(_Program(op).text())
    body = [*kernels.values(), *programs]
    library = _library("\n".join(kernels.values()))
    header = _header("\n".join([*library, *body]))
    return "\n\n\n".join(part.strip("\n") for part in [header, *library, *body]) + "\n"


def identifier(name: str) -> str:
    """`name` made a Python identifier that hides nothing the module uses."""
    plain = re.sub(r"\W", "_", name) or "_"
    plain = f"_{plain}" if plain[0].isdigit() else plain
    return f"{plain}_" if plain in _RESERVED else plain


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
    body = _Body(name)
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
    body = _Body(kernel.sym_name.data)
    names = [
        body.name(arg, default)
        for arg, default in zip(args, [*(f"a{i}" for i in range(len(args) - 2)), "lo", "hi"], strict=True)
    ]
    types = ", ".join(f"{n}: {_type_text(a.type)}" for n, a in zip(names[:-2], args[:-2], strict=True))
    body.block(kernel.body.block)
    head = [_JIT, f"def {identifier(kernel.sym_name.data)}({', '.join(names)}):", f"    # {types}"]
    return "\n".join(head + body.lines)


def _number(value: Attribute) -> str:
    """An arith.constant as Python text of exactly its type; index constants are plain integers."""
    if isinstance(value, FloatAttr):
        number = cast("FloatAttr[Any]", value)
        x, type = number.value.data, number.type
        if isinstance(type, Float16Type | BFloat16Type):
            return f"np.uint16({int.from_bytes(type.pack((x,)), 'little')})"
        text = repr(x) if x - x == 0 else "np.nan" if x != x else "np.inf" if x > 0 else "-np.inf"
        return f"{python_type(type)}({text})"
    if isinstance(value, IntegerAttr):
        number = cast("IntegerAttr[Any]", value)
        if isinstance(number.type, IndexType):
            return str(number.value.data)
        return str(bool(number.value.data)) if number.type == i1 else f"{python_type(number.type)}({number.value.data})"
    raise PassFailedException(f"a kernel cannot hold the constant {value}")


class _Body:
    """The lines of one function: one statement per op, a blank line before each nest."""

    def __init__(self, function: str) -> None:
        self.lines: list[str] = []
        self.names: dict[SSAValue, str] = {}
        self._used = {function}
        self._count = 0
        self._depth = 1

    def unique(self, hint: str) -> str:
        stem = identifier(hint)
        name, n = stem, 1
        while name in self._used:
            n += 1
            name = f"{stem}_{n}"
        self._used.add(name)
        return name

    def name(self, value: SSAValue, default: str = "") -> str:
        """A new name for `value`, from its hint."""
        hint = value.name_hint or default
        if not hint:
            self._count += 1
            hint = f"t{self._count}"
        name = self.names[value] = self.unique(hint)
        return name

    def emit(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    def gap(self) -> None:
        """A blank line, unless a suite begins here."""
        if self.lines and self.lines[-1] and not self.lines[-1].endswith(":"):
            self.lines.append("")

    def suite(self, block: Block, targets: Sequence[str] = ()) -> None:
        """An indented block that ends by assigning what it yields to `targets`."""
        self._depth += 1
        before = len(self.lines)
        self.block(block)
        if targets and block.last_op is not None:
            self.assign(targets, block.last_op.operands)
        if len(self.lines) == before:
            self.emit("pass")
        self._depth -= 1

    def block(self, block: Block) -> None:
        for op in block.ops:
            cls = op.__class__
            if (row := ROWS.get(cls)) is not None:
                args = [self.names[x] for x in op.operands]
                form, result = row.python, op.results[0]
                if isinstance(form, str):
                    t = op.operands[0].type
                    text = form.format(*args, t=t, r=result.type, s=function_suffix(t))
                else:
                    text = form(op, args)
                self.emit(f"{self.name(result)} = {text}")
            elif (emitter := _EMITTERS.get(cls)) is not None:
                emitter(self, op)
            elif cls is not scf.YieldOp and cls is not scf.ConditionOp:
                raise PassFailedException(f"{op.name} has no Python form: add a row to lowering/numba/rows.py")

    def element(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> str:
        return f"{self.names[buffer]}[{', '.join(self.names[i] for i in indices) or '()'}]"

    def load(self, op: Operation) -> None:
        buffer, *indices = op.operands
        self.emit(f"{self.name(op.results[0])} = {self.element(buffer, indices)}")

    def store(self, op: Operation) -> None:
        value, buffer, *indices = op.operands
        self.emit(f"{self.element(buffer, indices)} = {self.names[value]}")

    def alloca(self, op: Operation) -> None:
        result = op.results[0]
        type = memref_of(result)
        self.emit(
            f"{self.name(result, 'scratch')} = np.empty({tuple(type.get_shape())}, {python_type(type.element_type)})"
        )

    def constant(self, op: Operation) -> None:
        assert isinstance(op, arith.ConstantOp)
        self.names[op.result] = _number(op.value)

    def get_global(self, op: Operation) -> None:
        assert isinstance(op, memref.GetGlobalOp)
        self.names[op.memref] = op.name_.root_reference.data

    def same_bits(self, op: Operation) -> None:
        """An integer seen as signed, signless or unsigned: kernels hold it as signed."""
        self.names[op.results[0]] = self.names[op.operands[0]]

    def ret(self, op: Operation) -> None:
        if op.operands:
            self.emit(f"return {self.names[op.operands[0]]}")
        elif not self.lines:
            self.emit("return")

    def assign(self, targets: Sequence[str], values: Sequence[SSAValue]) -> None:
        """Assign all at once, leaving out what stays the same."""
        pairs = [(t, self.names[v]) for t, v in zip(targets, values, strict=True) if t != self.names[v]]
        if pairs:
            self.emit(f"{', '.join(t for t, _ in pairs)} = {', '.join(v for _, v in pairs)}")

    def loop(self, op: Operation) -> None:
        assert isinstance(op, scf.ForOp)
        self.gap()
        lb, ub, step = (self.names[x] for x in op.operands[:3])
        index, *carried = op.body.block.args
        names = [self.name(arg, "acc") for arg in carried]
        self.assign(names, op.iter_args)
        bounds = f"{lb}, {ub}" if lb != "0" or step != "1" else ub
        counter = self.name(index, "ijklmnpq"[min(self._depth - 1, 7)])
        self.emit(f"for {counter} in range({bounds if step == '1' else f'{lb}, {ub}, {step}'}):")
        self.suite(op.body.block, names)
        self.names.update(zip(op.results, names, strict=True))

    def branch(self, op: Operation) -> None:
        assert isinstance(op, scf.IfOp)
        self.gap()
        names = [self.name(result) for result in op.results]
        self.emit(f"if {self.names[op.cond]}:")
        self.suite(op.true_region.block, names)
        if op.false_region.blocks and (names or len(op.false_region.block.ops) > 1):
            self.emit("else:")
            self.suite(op.false_region.block, names)

    def while_loop(self, op: Operation) -> None:
        assert isinstance(op, scf.WhileOp)
        self.gap()
        test, after = op.before_region.block, op.after_region.block
        names = [self.name(arg, "state") for arg in test.args]
        self.assign(names, op.operands)
        self.emit("while True:")
        self._depth += 1
        self.block(test)
        condition = test.last_op
        assert isinstance(condition, scf.ConditionOp)
        passed = [self.name(result) for result in op.results]
        self.assign(passed, condition.operands[1:])
        self.emit(f"if not {self.names[condition.operands[0]]}:")
        self.emit("    break")
        self.names.update(zip(after.args, passed, strict=True))
        self.block(after)
        assert after.last_op is not None
        self.assign(names, after.last_op.operands)
        self._depth -= 1

    def gemm(self, op: Operation) -> None:
        assert isinstance(op, GemmOp)
        r0, r1, c0, c1 = (self.names[x] for x in (op.row_lo, op.row_hi, op.col_lo, op.col_hi))
        inner = (
            ":"
            if op.inner_lo is None or op.inner_hi is None
            else f"{self.names[op.inner_lo]}:{self.names[op.inner_hi]}"
        )
        a, b = Operand.of(op.a.type), Operand.of(op.b.type)

        def part(value: SSAValue, leading: Sequence[SSAValue], rows: str, cols: str) -> str:
            return f"{self.names[value]}[{', '.join([*(self.names[i] for i in leading), rows, cols])}]"

        pieces = [
            part(op.a, op.a_indices, f"{r0}:{r1}", inner),
            str(a.transposed),
            str(leading_dimension(a)),
            part(op.b, op.b_indices, inner, f"{c0}:{c1}"),
            str(b.transposed),
            str(leading_dimension(b)),
            part(op.c, op.c_indices, f"{r0}:{r1}", f"{c0}:{c1}"),
            str(row_leading_dimension(op.c.type)),
            str(op.accumulate is not None),
        ]
        self.emit(f"gemm_{function_suffix(a.element)}({', '.join(pieces)})")

    def block_gemm(self, op: Operation) -> None:
        assert isinstance(op, BlockGemmOp)
        rows, cols, depth = (self.names[x] for x in (op.rows, op.cols, op.depth))

        def part(value: SSAValue, indices: Sequence[SSAValue], sizes: tuple[str, str], flip: bool) -> str:
            *leading, i, j = (self.names[x] for x in indices)
            m, n = reversed(sizes) if flip else sizes
            block = f"{self.names[value]}[{', '.join([*leading, f'{i}:{i} + {m}', f'{j}:{j} + {n}'])}]"
            return f"{block}.T" if flip else block

        flip_a, flip_b = op.transpose_a is not None, op.transpose_b is not None
        a, b, c = (Operand.of(x.type) for x in (op.a, op.b, op.c))
        pieces = [
            part(op.a, op.a_indices, (rows, depth), flip_a),
            str(flip_a),
            str(leading_dimension(a)),
            part(op.b, op.b_indices, (depth, cols), flip_b),
            str(flip_b),
            str(leading_dimension(b)),
            part(op.c, op.c_indices, (rows, cols), False),
            str(leading_dimension(c)),
            str(op.accumulate is not None),
        ]
        self.emit(f"gemm_{function_suffix(a.element)}({', '.join(pieces)})")

    def part(self, value: SSAValue, leading: Sequence[SSAValue], rank: int) -> str:
        """The last `rank` dimensions of what the `leading` indices choose."""
        return f"{self.names[value]}[{', '.join([*(self.names[i] for i in leading), *[':'] * rank])}]"

    def getrf(self, op: Operation) -> None:
        assert isinstance(op, GetrfOp)
        names = [self.part(op.a, op.a_indices, 2), self.part(op.pivots, op.pivots_indices, 1)]
        self.emit(python_getrf(op, names))

    def getrs(self, op: Operation) -> None:
        assert isinstance(op, GetrsOp)
        names = [self.part(op.lu, op.lu_indices, 2), self.part(op.pivots, op.pivots_indices, 1)]
        self.emit(python_getrs(op, [*names, self.part(op.b, op.b_indices, 2)]))


_EMITTERS: dict[type[Operation], Callable[[_Body, Operation], None]] = {
    arith.ConstantOp: _Body.constant,
    memref.LoadOp: _Body.load,
    memref.StoreOp: _Body.store,
    memref.AllocaOp: _Body.alloca,
    memref.GetGlobalOp: _Body.get_global,
    UnrealizedConversionCastOp: _Body.same_bits,
    scf.ForOp: _Body.loop,
    scf.IfOp: _Body.branch,
    scf.WhileOp: _Body.while_loop,
    GemmOp: _Body.gemm,
    BlockGemmOp: _Body.block_gemm,
    GetrfOp: _Body.getrf,
    GetrsOp: _Body.getrs,
    ReturnOp: _Body.ret,
    func.ReturnOp: _Body.ret,
}


class _Program:
    """The function of one program: buffers, then launches in order, with the chunks of the launch table."""

    def __init__(self, program: ProgramOp) -> None:
        self.program = program
        self.optional = {name.data for name in program.optional} if program.optional is not None else set[str]()
        self.body = _Body(identifier(program.sym_name.data))
        self.roots: dict[SSAValue, tuple[str, int]] = {}
        """Buffer or view -> the array it lies in, and the element it starts at."""
        self.outputs: dict[int, str] = {}
        self.types: list[str] = []

    def text(self) -> str:
        body = self.body
        block = self.program.body.block
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
        given = f"inputs[{key!r}]"
        own = outside_type(type.element_type)
        if key in self.optional:
            one = "np.full({}, 0x3F80, np.uint16)" if isinstance(type.element_type, BFloat16Type) else "np.ones({}, {})"
            given = f"inputs.get({key!r}, {one.format(shape, own)})"
        bits = f".view({dtype})" if own != dtype else ""
        self.body.emit(f"{name} = np.ascontiguousarray({given}, {own}){bits}.reshape({shape})")

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
