"""What becomes of a program's kernels on the way to the processor, to be read: LLVM IR and assembly."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.lir import KernelOp, ProgramOp
from xdsl_rlx.lowering.backend.driver.layout import MOST_PASSED
from xdsl_rlx.lowering.backend.llvm.llvm_module import emit_llvm


def llvm_listing(module: ModuleOp) -> str:
    """
    The LLVM IR that `rlx.compile` makes of a lir module's kernels, before optimisation.

    Raises `PassFailedException` for an op that has no row, and for a module that was not lowered.
    """
    return f"{_header(module, 'rlx-llvm', ';')}\n{emit_llvm(module)}\n"


def asm_listing(module: ModuleOp) -> str:
    """
    The assembly of the same kernels, optimised for the processor that `rlx.compile` compiles for.

    Raises as `llvm_listing` does.
    """
    header = _header(module, "asm", "#")
    from xdsl_rlx.lowering.backend.machine.llvm import emit_assembly, target

    listing = emit_assembly(emit_llvm(module))
    return f"{header}\n# for {target()[0]}\n{listing}"


def _header(module: ModuleOp, target: str, comment: str) -> str:
    """What the text is of: the programs, and for each kernel its buffers in the order of its arguments."""
    kernels = [op for op in module.walk() if isinstance(op, KernelOp)]
    programs = [f"@{op.sym_name.data}" for op in module.walk() if isinstance(op, ProgramOp)]
    if not programs:
        raise PassFailedException(f"no lir.program: run convert-mir-to-lir and lir-plan-memory before -t {target}")
    lines = [
        f"{comment} Printed by xdsl-rlx: the kernels of {', '.join(programs)}.",
        f"{comment} Each is void k(ptr bases, ptr a0, .., i64 lo, i64 hi); of more than {MOST_PASSED} buffers,",
        f"{comment} ptr args is in place of them: base number and offset per buffer.",
    ]
    for kernel in kernels:
        buffers = ", ".join(str(type_) for type_ in kernel.buffer_types)
        lines.append(f"{comment} {kernel.sym_name.data}: {buffers}")
    return "\n".join(lines)
