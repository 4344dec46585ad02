"""The standalone Python module of `-t numba`: kernels as readable Numba functions, and the program that calls them.
Scalar ops are the rows of scalar_texts.py, helpers those of helpers.py; nothing is compiled here."""

from __future__ import annotations

import re
from functools import cache

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    ModuleOp,
    i1,
)
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.constants import splat_value
from xdsl_rlx.dialects.lir import (
    LIBRARY_OPS,
    CheckOp,
    ConstantOp,
    IfOp,
    InputOp,
    KernelOp,
    LaunchOp,
    LoopOp,
    OutputOp,
    ParamOp,
    PollOp,
    ProgramOp,
    SlotOp,
    StepOp,
    ViewOp,
    WhileOp,
)
from xdsl_rlx.dialects.lir.control_flow import program_ops
from xdsl_rlx.dialects.lir.memory import AnyMemRef, element_bytes, memref_of, strides_of
from xdsl_rlx.lowering.backend.llvm.scalar_types import buffer_type, outside_type, python_type
from xdsl_rlx.lowering.backend.machine.model import cost_model
from xdsl_rlx.lowering.backend.math import mathlib
from xdsl_rlx.lowering.backend.numba.helpers import helpers_of, imports_of, words_of
from xdsl_rlx.lowering.backend.numba.python_body import PythonBody, identifier, type_text
from xdsl_rlx.lowering.kernel_library.functions import is_function, library_kernel
from xdsl_rlx.transforms.driver import verify_dominance

_CALL = re.compile(r"\b([a-z_]\w*)\(")
_ALIGNMENT = 64
"""Of the arena: what `lir-plan-memory` counts on."""


def emit_python(module: ModuleOp, threads: int = 1) -> str:
    """
    A Python module, with NumPy, Numba and SciPy (for matrix products) as its only imports, that runs the programs of a
    planned lir `module`.

    Each program becomes a function of its name that takes inputs and params by keyword and gives the tuple of outputs;
    it writes to the arrays of those that are updated.
    With `threads` above 1, launches of several pieces run on that many threads at most. f16 and bf16 buffers are arrays
    of uint16 bits; bf16 results as well, and such arguments may be. Raises `PassFailedException` for an op that has no
    row, for a module that was not lowered, and for one whose memory was not planned.
    """
    if threads < 1:
        raise PassFailedException(f"threads must be at least 1, got {threads}")
    verify_dominance(module)
    kernels = [op for op in module.body.block.ops if isinstance(op, KernelOp)]
    blas = any(type(op) in LIBRARY_OPS for kernel in kernels for op in kernel.walk())
    checks = any(isinstance(op, CheckOp | PollOp) for kernel in kernels for op in kernel.walk())
    run = "run_with_blas" if blas else "run_in_turn" if threads > 1 or checks else "run"
    programs = [_Program(op, threads, run, checks).text() for op in module.body.block.ops if isinstance(op, ProgramOp)]
    if not kernels and not programs:
        raise PassFailedException("no lir.program: run convert-mir-to-lir and lir-plan-memory before -t numba")
    return _module(kernels, programs, threads)


def emit_kernels(module: ModuleOp) -> str:
    """The same module without the programs: what `rlx.compile` has Numba compile."""
    return _module([op for op in module.body.block.ops if isinstance(op, KernelOp)], [], 1)


def _module(kernels: list[KernelOp], programs: list[str], threads: int) -> str:
    texts = [_kernel(kernel, identifier(kernel.sym_name.data)) for kernel in kernels]
    called = dict.fromkeys(name for name in _CALL.findall("\n".join(texts)) if is_function(name))
    shared = {name: library_kernel(name, cost_model()) for name in called}
    kernels = [*shared.values(), *kernels]
    body = [*(_kernel(kernel, name) for name, kernel in shared.items()), *texts, *programs]
    library = _math_library("\n".join(body))
    helpers = helpers_of("\n".join([*library, *body]))
    settings = _settings(kernels, threads, "\n".join(helpers))
    everything = [*settings, *helpers, *library, *body]
    header = "\n".join([_header(threads, words_of("\n".join(helpers))), *imports_of("\n".join(everything))])
    return "\n\n\n".join(part.strip("\n") for part in [header, *everything]) + "\n"


def _header(threads: int, helpers: set[str]) -> str:
    lines = ['"""Printed by xdsl-rlx: loop nests, and the program that runs them.', ""]
    if threads > 1:
        lines += [
            f"Launches of several pieces run on at most {threads} threads of Numba's pool; calls from several Python",
            "threads take turns. Unless the environment says otherwise, OpenMP's threads sleep between launches.",
            "",
        ]
    if "fortran" in helpers:
        lines += [
            "For the time of a call BLAS is set to one thread, for the whole process, and then to what it was before.",
            "That needs the OpenBLAS of SciPy's wheels; any other BLAS keeps its threads.",
            "",
        ]
    lines += [
        "Imported from a file, it is compiled at the first call and kept by Numba's cache, in __pycache__ or",
        "NUMBA_CACHE_DIR; executed otherwise, it is compiled in each process.",
        'With NUMBA_DISABLE_JIT=1 in the environment it is plain Python."""',
        "",
    ]
    return "\n".join(lines)


def _settings(kernels: list[KernelOp], threads: int, helpers: str) -> list[str]:
    """The element types of buffers and the number of threads, for the helpers."""
    used = {t.element_type for kernel in kernels for t in (*kernel.buffer_types, *_scratch_types(kernel))}
    pairs = sorted((str(t), buffer_type(t)) for t in used)
    lines = [f"ELEMENTS = {{{', '.join(f'{name!r}: {dtype}' for name, dtype in pairs)}}}"]
    if "THREADS" in words_of(helpers):
        lines.append(f"THREADS = {threads}")
    return ["\n".join(lines)]


def _scratch_types(kernel: KernelOp) -> list[AnyMemRef]:
    return [memref_of(op.results[0]) for op in kernel.walk() if isinstance(op, memref.AllocaOp)]


def _math_library(text: str) -> list[str]:
    """The tables and mathlib functions that `text` uses, and what those use, definitions first."""
    functions: dict[str, str] = {}
    queue = [name for name in dict.fromkeys(_CALL.findall(text)) if name in mathlib.NAMES]
    while queue:
        name = queue.pop(0)
        if name not in functions:
            functions[name] = _math_function(name)
            queue += [n for n in dict.fromkeys(_CALL.findall(functions[name])) if n in mathlib.NAMES]
    words = words_of("\n".join([text, *functions.values()]))
    tables = [
        f"{name} = np.array(\n    [\n" + "".join(f"        {v!r},\n" for v in values) + "    ]\n)"
        for name, values in mathlib.TABLES.items()
        if name in words
    ]
    return [*tables, *reversed(functions.values())]


@cache
def _math_function(name: str) -> str:
    function = mathlib.function(name)
    body = PythonBody(name)
    args = [body.name(arg) for arg in function.args]
    body.block(function.body.block)
    result = python_type(function.function_type.outputs.data[0]).replace("np.", "types.")
    return "\n".join([f"@function({result})", f"def {name}({', '.join(args)}):", *body.lines])


def _kernel(kernel: KernelOp, function: str) -> str:
    args = kernel.body.block.args
    body = PythonBody(kernel.sym_name.data)
    names = [
        body.name(arg, default)
        for arg, default in zip(args, [*(f"a{i}" for i in range(len(args) - 2)), "lo", "hi"], strict=True)
    ]
    body.block(kernel.body.block)
    types = ", ".join(repr(type_text(arg.type)) for arg in args[:-2])
    return "\n".join([f"@kernel({types})", f"def {function}({', '.join(names)}):", *body.lines])


class _Program:
    """
    Two functions per program: the launches in order, over addresses with the chunks of the launch table, and the one of
    the program's name, which makes arrays of what it is given.
    """

    def __init__(self, program: ProgramOp, threads: int, run: str, checks: bool) -> None:
        self.program = program
        self.threads = threads
        self.run = run
        self.checks = checks
        self.name = identifier(program.sym_name.data)
        self.optional = {name.data for name in program.optional} if program.optional is not None else set[str]()
        self.outside = PythonBody(self.name)
        self.inside = PythonBody(f"{self.name}_launches")
        self.low = self.outside.unique("lo")
        self.roots: dict[SSAValue, tuple[str, int, str]] = {}
        """Buffer or view -> the name of the address it lies at, the bytes from there, and what loops add to them."""
        self.memory: list[str] = []
        """What the launches are given, in order."""
        self.buffers = sum(isinstance(op, InputOp | ParamOp | ConstantOp | OutputOp) for op in program.body.block.ops)
        self.buffers += any(isinstance(op, SlotOp) for op in program_ops(program))
        self.outputs: dict[int, str] = {}
        self.types: list[str] = []

    def text(self) -> str:
        block = self.program.body.block
        arena = self.program.arena_bytes
        slots = [op for op in program_ops(self.program) if isinstance(op, SlotOp)]
        if slots and (arena is None or any(op.at is None for op in slots)):
            raise PassFailedException(f"the slots of @{self.name} have no offset: run lir-plan-memory before -t numba")
        names = [op.buffer_name.data for op in block.ops if isinstance(op, InputOp | ParamOp)]
        self.outside.emit(f"_known({', '.join(['inputs', *map(repr, names)])})")
        if arena is not None and slots:
            self.outside.emit(f"arena = np.empty({arena.value.data + _ALIGNMENT}, np.uint8)")
            self.outside.emit(f"arena = arena[-arena.ctypes.data % {_ALIGNMENT} :]")
            self.memory.append("arena")
        self.block(block)
        self.outside.emit(f"{self.run}({', '.join([f'{self.name}_launches', *self.memory])})")
        results = "".join(f"{self.outputs[n]}, " for n in range(len(self.outputs)))
        return "\n".join(
            [
                f"def {self.name}_launches(memory):",
                *(f"    {name} = memory[{number}]" for number, name in enumerate(self.memory)),
                *([f"    report_to(memory, {len(self.memory)})"] if self.checks else []),
                *(self.inside.lines or ["    pass"]),
                "",
                "",
                f"def {self.name}(**inputs):",
                f'    """{", ".join(self.types)}"""',
                *self.outside.lines,
                f"    return ({results.rstrip()})",
            ]
        )

    def block(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, LaunchOp):
                self.launch(op)
            elif isinstance(op, LoopOp):
                self.loop(op)
            elif isinstance(op, IfOp):
                self.branch(op)
            elif isinstance(op, WhileOp):
                self.repeat(op)
            else:
                self.buffer(op)

    def suite(self, head: str, block: Block) -> bool:
        """A statement that holds the launches of a block; it is left out, and this False, where there are none."""
        body, before = self.inside, len(self.inside.lines)
        body.emit(head)
        with body.indented():
            self.block(block)
        if len(body.lines) == before + 1:
            body.lines.pop()
            return False
        return True

    def loop(self, op: LoopOp) -> None:
        count = op.count
        bounds = f"{count - 1}, -1, -1" if op.reverse is not None else str(count)
        # a name that no buffer has, which are all named outside
        self.suite(f"for {self.outside.name(op.index, 'i')} in range({bounds}):", op.body.block)

    def branch(self, op: IfOp) -> None:
        test = f"is_set({self.address(op.predicate)})"
        both = self.suite(f"if {test}:", op.then.block)
        self.suite("else:" if both else f"if not {test}:", op.otherwise.block)

    def repeat(self, op: WhileOp) -> None:
        body = self.inside
        body.emit("while True:")
        with body.indented():
            self.block(op.test.block)
            body.emit(f"if not is_set({self.address(op.predicate)}):")
            body.emit("    break")
            self.block(op.body.block)

    def buffer(self, op: Operation) -> None:
        value = op.results[0]
        type = memref_of(value)
        if isinstance(op, ViewOp):
            root, start, moved = self.roots[op.source]
            self.roots[value] = (root, start + op.offset.value.data * element_bytes(type.element_type), moved)
            return
        if isinstance(op, StepOp):
            self.step(op)
            return
        if isinstance(op, SlotOp):
            assert op.at is not None
            self.roots[value] = ("arena", op.at.value.data, "")
            return
        body, shape, dtype = self.outside, tuple(type.get_shape()), buffer_type(type.element_type)
        name = body.name(value, _default_name(op))
        self.roots[value] = (name, 0, "")
        self.memory.append(name)
        if isinstance(op, InputOp | ParamOp):
            self.argument(name, op, type)
        elif isinstance(op, ConstantOp):
            own = outside_type(type.element_type)
            bits = f".view({dtype})" if own.startswith("np.uint") else ""
            body.emit(f"{name} = {_constant_array(op.value, own if bits else dtype, shape)}{bits}")
        elif isinstance(op, OutputOp):
            body.emit(f"{name} = np.empty({shape}, {dtype})")
            own = outside_type(type.element_type)
            self.outputs[op.number.value.data] = name if own == dtype else f"{name}.view({own})"

    def step(self, op: StepOp) -> None:
        type = memref_of(op.source)
        stride = strides_of(type)[0] * element_bytes(type.element_type)
        root, start, moved = self.roots[op.source]
        index = self.outside.names[op.index]
        if op.period is None:
            start += op.moved * stride
        else:
            index = f"({index} + {op.moved}) % {op.period}" if op.moved else f"{index} % {op.period}"
        self.roots[op.result] = (root, start, f"{moved} + {index} * {stride}")

    def argument(self, name: str, op: InputOp | ParamOp, type: AnyMemRef) -> None:
        key = op.buffer_name.data
        shape, dtype = tuple(type.get_shape()), buffer_type(type.element_type)
        self.types.append(f"{key}: {type.element_type}{list(shape)}")
        own = outside_type(type.element_type)
        given = f"inputs, {key!r}, {shape}, {own}"
        if key in self.optional:
            one = "np.full({}, 0x3F80, np.uint16)" if isinstance(type.element_type, BFloat16Type) else "np.ones({}, {})"
            given += f", {one.format(shape, own)}"
        bits = f".view({dtype})" if own != dtype else ""
        helper = "_updated" if op.is_written else "_argument"
        self.outside.emit(f"{name} = {helper}({given}){bits}")

    def address(self, value: SSAValue) -> str:
        name, start, moved = self.roots[value]
        return f"{name} + {start}{moved}" if start else f"{name}{moved}"

    def launch(self, op: LaunchOp) -> None:
        body = self.inside
        places = [self.address(x) for x in (*op.reads, *op.writes)]
        kernel = identifier(op.kernel.root_reference.data)
        extent, chunk = op.extent.value.data, op.chunk.value.data
        if extent <= chunk:
            body.emit(f"{kernel}({', '.join([*places, '0', str(extent)])})")
        elif self.threads > 1 and op.in_order is None:
            body.emit(f"parallel({kernel}, ({', '.join(places)},), {extent}, {chunk})")
        else:
            bounds = f"{self.low}, lesser({self.low} + {chunk}, {extent})"
            body.emit(f"for {self.low} in range(0, {extent}, {chunk}):")
            body.emit(f"    {kernel}({', '.join([*places, bounds])})")
        if self.checks:
            # the two words behind the addresses, of which there are as many as there are buffers
            body.emit(f"if memory[{self.buffers}] != 0:")
            body.emit("    return")


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
