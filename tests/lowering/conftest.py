"""Three ways to run a lir module: its LLVM text, its Python text compiled by Numba, and that text as plain Python."""

import ctypes
import itertools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest
from numba.extending import get_cython_function_address
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import get_all_dialects, memref, scf
from xdsl.dialects.builtin import BFloat16Type, Float16Type, IntegerType, MemRefType, ModuleOp, Signedness, f32
from xdsl.ir import Attribute, Block, Region
from xdsl.parser import Parser
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.lir.scalar_builder import INDEX, Scalar, ScalarBuilder, is_float
from xdsl_rlx.lowering.backend.driver.layout import passed
from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm
from xdsl_rlx.lowering.backend.llvm.scalar_types import buffer_type
from xdsl_rlx.lowering.backend.machine.blas_library import FUNCTIONS, library_of
from xdsl_rlx.lowering.backend.machine.llvm import Effort, optimize, target
from xdsl_rlx.lowering.backend.numba.python_module import emit_python

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

ScalarFunction = Callable[..., Scalar]


def parse(text: str) -> ModuleOp:
    context = Context()
    for name, factory in get_all_dialects().items():
        context.register_dialect(name, factory)
    context.register_dialect("lir", lambda: lir.Lir)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def optimise(text: str, effort: Effort = Effort.FULL) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    cpu, features = target()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, opt=effort)
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    optimize(module, machine, effort)
    return module, machine


def assembly(module: ModuleOp) -> str:
    optimised, machine = optimise(emit_llvm(module))
    return machine.emit_assembly(optimised)


class LlvmRun:
    """The program of a module, run launch by launch from its LLVM text."""

    def __init__(self, module: ModuleOp, effort: Effort = Effort.FULL) -> None:
        optimised, machine = optimise(emit_llvm(module), effort)
        self.engine = llvm.create_mcjit_compiler(optimised, machine)
        self.engine.finalize_object()
        self.program = next(op for op in module.body.block.ops if isinstance(op, lir.ProgramOp))

    def __call__(self, **inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        launch, outputs = self.bind(**inputs)
        launch()
        return outputs

    def bind(self, **inputs: np.ndarray) -> tuple[Callable[[], None], tuple[np.ndarray, ...]]:
        """Make the buffers; the function runs all launches on them, again and again if wanted."""
        blas = [get_cython_function_address(f"scipy.linalg.cython_{library_of(name)}", name) for name in FUNCTIONS]
        table = (ctypes.c_void_p * len(blas))(*blas)
        arrays: list[np.ndarray] = []
        places: dict[Any, tuple[int, int]] = {}
        outputs: dict[int, np.ndarray] = {}
        launches: list[lir.LaunchOp] = []
        for op in self.program.body.block.ops:
            if isinstance(op, lir.LaunchOp):
                launches.append(op)
                continue
            if isinstance(op, lir.ViewOp):
                base, offset = places[op.source]
                places[op.result] = (base, offset + op.offset.value.data * _size(op.result.type))
                continue
            array = self.buffer(op, inputs)
            arrays.append(array)
            places[op.results[0]] = (len(arrays), 0)
            if isinstance(op, lir.OutputOp):
                outputs[op.number.value.data] = array
        bases = [ctypes.addressof(table), *(a.ctypes.data for a in arrays)]
        alive = (table, arrays)

        calls = [call for op in launches for call in self.calls(op, places, bases)]

        def launch() -> None:
            assert alive
            for kernel, *args in calls:
                kernel(*args)

        return launch, tuple(outputs[n] for n in range(len(outputs)))

    def buffer(self, op: Any, inputs: dict[str, np.ndarray]) -> np.ndarray:
        type_ = op.results[0].type
        dtype, shape = _dtype(type_.element_type), tuple(type_.get_shape())
        if isinstance(op, lir.InputOp | lir.ParamOp):
            given = inputs.get(op.buffer_name.data)
            return np.ones(shape, dtype) if given is None else np.ascontiguousarray(given)
        if isinstance(op, lir.ConstantOp):
            return np.array(op.value.get_values(), dtype).reshape(shape)
        return np.empty(shape, dtype)

    def calls(self, op: lir.LaunchOp, places: dict[Any, tuple[int, int]], bases: list[int]) -> list[tuple[Any, ...]]:
        """The kernel and its arguments for each chunk."""
        found = [places[value] for value in (*op.reads, *op.writes)]
        base_table = (ctypes.c_void_p * len(bases))(*bases)
        args: list[Any] = [bases[base] + offset for base, offset in found]
        if not passed(len(found)):
            args = [(ctypes.c_int64 * (2 * len(found)))(*itertools.chain.from_iterable(found))]
        buffers = [ctypes.c_void_p] * len(args)
        signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *buffers, ctypes.c_int64, ctypes.c_int64)
        kernel = signature(self.engine.get_function_address(op.kernel.root_reference.data))
        extent, chunk = op.extent.value.data, op.chunk.value.data
        return [(kernel, base_table, *args, low, min(low + chunk, extent)) for low in range(0, extent, chunk)]


def _size(type_: Attribute) -> int:
    assert isinstance(type_, MemRefType)
    return element_bytes(cast("Any", type_).element_type)


def _dtype(element: Attribute) -> Any:
    if isinstance(element, IntegerType) and element.signedness.data == Signedness.UNSIGNED:
        return getattr(np, f"uint{element.bitwidth}")
    return np.float16 if isinstance(element, Float16Type) else getattr(np, buffer_type(element)[3:])


def run_text(module: ModuleOp, *, jit: bool) -> Callable[..., tuple[np.ndarray, ...]]:
    """The function of the module's program, from its Python text."""
    namespace: dict[str, Any] = {}
    numba.config.DISABLE_JIT = not jit
    try:
        exec(compile(emit_python(module), "<printed>", "exec"), namespace)
    finally:
        numba.config.DISABLE_JIT = False
    program = next(op for op in module.body.block.ops if isinstance(op, lir.ProgramOp))
    return namespace[program.sym_name.data]


def elementwise(
    functions: Sequence[ScalarFunction] | ScalarFunction,
    inputs: Sequence[Attribute],
    outputs: Sequence[Attribute] | Attribute,
    n: int,
) -> ModuleOp:
    """A program `step` that maps each `function(builder, a, b, ...)` over inputs `x0`, `x1`, ... of n elements."""
    functions = [functions] if callable(functions) else functions
    outputs = [outputs] if isinstance(outputs, Attribute) else outputs
    types = [MemRefType(t, [n]) for t in (*inputs, *outputs)]
    kernel = lir.KernelOp("k", types)
    args = kernel.body.block.args
    b = ScalarBuilder(Builder(InsertPoint.at_end(kernel.body.block)))
    step = b.const(1, INDEX)
    loop = b.insert(scf.ForOp(args[-2], args[-1], step.value, [], Region(Block(arg_types=[INDEX]))))
    inner = ScalarBuilder(Builder(InsertPoint.at_end(loop.body.block)))
    index = loop.body.block.args[0]
    values = [inner.of(inner.insert(memref.LoadOp.get(buffer, [index])).res) for buffer in args[: len(inputs)]]
    narrow = (Float16Type, BFloat16Type)
    values = [inner.cast(v, f32) if isinstance(v.type, narrow) else v for v in values]
    for function, output, buffer in zip(functions, outputs, args[len(inputs) : -2], strict=True):
        result = function(inner, *values)
        result = inner.cast(result, output) if is_float(output) else result
        inner.insert(memref.StoreOp.get(result.value, buffer, [index]))
    inner.insert(scf.YieldOp())
    b.insert(lir.ReturnOp())
    program = lir.ProgramOp("step")
    body = Builder(InsertPoint.at_end(program.body.block))
    reads = [body.insert(lir.InputOp(f"x{i}", t)).result for i, t in enumerate(types[: len(inputs)])]
    writes = [body.insert(lir.OutputOp(i, t)).result for i, t in enumerate(types[len(inputs) :])]
    body.insert(lir.LaunchOp("k", n, max(1, n // 2 + 1), reads, writes))
    module = ModuleOp([program, kernel])
    module.verify()
    return module


def bits(array: np.ndarray) -> np.ndarray:
    """The bits of `array`, all NaNs made one."""
    array = np.asarray(array)
    if array.dtype.kind == "c":
        array = array.reshape(-1).view(array.real.dtype)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return array.reshape(-1).view(f"u{array.dtype.itemsize}")


def assert_all_agree(
    module: ModuleOp, *, jit: bool = True, plain: bool = True, **inputs: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Run the module from its LLVM text, by Numba and as plain Python: all agree to the bit."""
    compiled = LlvmRun(module)(**inputs)
    for compile_text in (True,) * jit + (False,) * plain:
        texts = run_text(module, jit=compile_text)(**inputs)
        for number, (ours, theirs) in enumerate(zip(compiled, texts, strict=True)):
            assert ours.shape == theirs.shape
            message = f"output {number}, {'Numba' if compile_text else 'plain Python'}"
            np.testing.assert_array_equal(bits(ours), bits(theirs), err_msg=message)
    return compiled


@pytest.fixture
def run() -> SimpleNamespace:
    return SimpleNamespace(
        parse=parse,
        assembly=assembly,
        llvm=LlvmRun,
        text=run_text,
        elementwise=elementwise,
        agree=assert_all_agree,
        bits=bits,
    )
