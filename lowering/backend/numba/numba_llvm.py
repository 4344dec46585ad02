"""Lower the kernels of a printed module to LLVM IR with Numba's front end, through its internals (`numba.core`).
The Python text itself is made in `python_module.py`, its machine code in `llvm.py`."""

from __future__ import annotations

import importlib
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from xdsl_rlx.dialects.lir import KernelOp
from xdsl_rlx.lowering.backend.driver.layout import CallBlock, passed
from xdsl_rlx.lowering.backend.machine.blas_library import FUNCTIONS
from xdsl_rlx.lowering.backend.machine.llvm import rotate_loops
from xdsl_rlx.lowering.backend.numba.python_body import identifier
from xdsl_rlx.lowering.backend.numba.python_module import emit_kernels
from xdsl_rlx.lowering.run_errors import CompileError

_LIBRARY_CALL = re.compile(r"^declare void @rlx_(\w+)\((.*?)\).*$", re.MULTILINE)
_TABLE = "rlx_blas_table"


def numba_llvm(module: ModuleOp) -> str:
    """
    LLVM IR of the kernels of a lir module, as Numba types and lowers their printed Python text.

    The kernels are exported as those of `emit_llvm` are, under the same names. Raises `PassFailedException` for an op
    that has no row and `CompileError`, in one line, for what Numba refuses.
    """
    kernels = [op.sym_name.data for op in module.walk() if isinstance(op, KernelOp)]
    text = emit_kernels(module)
    errors: Any = importlib.import_module("numba.core.errors")
    try:
        namespace: dict[str, Any] = {"__name__": "printed by xdsl-rlx"}
        exec(compile(text, "<printed by xdsl-rlx>", "exec"), namespace)
        lowered = _lowered([(name, namespace[identifier(name)]) for name in kernels], namespace.get("status_address"))
    except errors.NumbaError as error:
        # the first line names Numba's pass only
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise CompileError(f"numba refuses the printed kernels: {' '.join(lines[:2])}") from None
    return _LIBRARY_CALL.sub(_from_table, lowered)


def _from_table(declaration: re.Match[str]) -> str:
    """A function of BLAS as a call of the one in the table that runs bring along, so that the code needs no symbol."""
    name, types = declaration[1], declaration[2].split(", ")
    parameters = ", ".join(f"ptr %x{number}" for number in range(len(types)))
    return f"""define internal void @rlx_{name}({parameters}) {{
  %table = load ptr, ptr @{_TABLE}, align 8
  %entry = getelementptr inbounds ptr, ptr %table, i64 {FUNCTIONS.index(name)}
  %function = load ptr, ptr %entry, align 8
  tail call void %function({parameters})
  ret void
}}"""


@contextmanager
def _unoptimised() -> Generator[None]:
    """
    Numba leaves text as its front end makes it. Otherwise it would write short loops out before our pipeline looks for
    vectors, and take twice as long. For who holds its compiler lock: the setting is one for all threads.
    """
    config: Any = importlib.import_module("numba.core.config")
    level = config.OPT
    config.OPT = type(level)(0)
    try:
        yield
    finally:
        config.OPT = level


def _lowered(kernels: list[tuple[str, Any]], status_address: Any) -> str:
    # none of these have type stubs
    registry: Any = importlib.import_module("numba.core.registry")
    lock: Any = importlib.import_module("numba.core.compiler_lock").global_compiler_lock
    ir: Any = importlib.import_module("llvmlite.ir")
    with lock, _unoptimised():
        typing, context = registry.cpu_target.typing_context, registry.cpu_target.target_context
        typing.refresh()
        context.refresh()
        library = context.codegen().create_library("kernels")
        exports = library.create_ir_module("exports")
        table = ir.GlobalVariable(exports, ir.IntType(64), _TABLE)
        table.linkage, table.initializer = "internal", ir.IntType(64)(0)
        status = None if status_address is None else status_address(exports)
        with context.push_code_library(library):
            for name, kernel in kernels:
                _export(typing, context, (exports, table, status), name, kernel)
        library.add_ir_module(exports)
        return rotate_loops(library.get_llvm_str())


def _export(typing: Any, context: Any, exports: tuple[Any, Any, Any], name: str, kernel: Any) -> None:
    """`void name(ptr bases, buffers .., i64 lo, i64 hi)`, or `ptr args` for buffers to be found; calls the kernel."""
    ir: Any = importlib.import_module("llvmlite.ir")
    types: Any = importlib.import_module("numba.core.types")
    module, table, status = exports
    word = ir.IntType(64)
    words, count = word.as_pointer(), passed(kernel.buffers)
    given = [word] * count if count else [words]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [words, *given, word, word]), name)
    builder = ir.IRBuilder(function.append_basic_block())
    bases, *found, low, high = function.args
    # the same value from every thread: a plan has one table
    builder.store(builder.load(bases), table)
    if status is not None:
        # the words in front of the bases, where a failed check is reported
        builder.store(builder.sub(builder.ptrtoint(bases, word), word(CallBlock.BASES - CallBlock.STATUS)), status)
    kind = typing.resolve_value_type(kernel)
    sig = kind.get_call_type(typing, [types.int64] * (kernel.buffers + 2), {})
    addresses: list[Any] = found if count else []
    for number in range(0 if count else kernel.buffers):
        base, offset = (builder.load(builder.gep(found[0], [word(2 * number + i)])) for i in range(2))
        addresses.append(builder.add(builder.load(builder.gep(bases, [base])), offset))
    context.get_function(kind, sig)(builder, [*addresses, low, high])
    # once inlined, the no-alias facts of the arguments would live on in metadata that the vectoriser loses
    (call,) = (instruction for instruction in builder.block.instructions if instruction.opname == "call")
    call.attributes.add("noinline")
    builder.ret_void()
