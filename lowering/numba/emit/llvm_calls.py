"""Loops that call vector versions of mathlib functions. LLVM inlines the functions into all other loops, several times
each: long chains of them would take most of the time to compile, and run no faster."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import AnyFloat, IndexType
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.kernel import LANES, NO_UNROLL, UNROLL
from xdsl_rlx.dialects.lir.memory import strides_of
from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.dialects.lir.scalar import FmodOp
from xdsl_rlx.lowering.functions import FUNCTIONS, SMALL_VARIANTS
from xdsl_rlx.lowering.numba.emit.loop_hints import INTERLEAVE, METADATA
from xdsl_rlx.lowering.numba.emit.scalar_texts import ROWS
from xdsl_rlx.lowering.numba.emit.scalar_types import bits_of

VECTOR_BITS = 2048
"""Bits of a vector argument: four AVX-512 registers. Half of it runs 1.7 times as long, as a call waits for the one
before; twice as much compiles 1.4 times as long. Benchmark: `60 chained sines` of breadth.py."""

LEAST_CALLS = 4
"""Calls of one function in a loop from which on they are calls of its vector version: a version takes about as long to
compile as an inlined call. Benchmarks: `waves` and `60 chained sines` of breadth.py."""

LEAST_ITERATIONS = 32
"""Iterations of a loop, where they are known, below which most lanes of a call would be masked."""

_CALL = re.compile(r"call (\w+) @rlx_(\w+)\((.*)\)")
_VERSION = re.compile(r"\(called_(\w+)_x(\d+)\)")
_FOR_ALL_ARGUMENTS = frozenset(FUNCTIONS[op] for op in SMALL_VARIANTS)
_DIVISIONS = (arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp, arith.CeilDivSIOp)


def call_lanes(loop: scf.ForOp, known: Mapping[SSAValue, int]) -> int | None:
    """
    Return the lanes of the calls of a loop, or None if its functions are inlined.

    A loop has calls if it has `LEAST_CALLS` of one function. LLVM must be able to vectorise it with masks: it accesses
    neighbours, carries nothing but flags, and has no loop or branch inside. `known` holds the bounds that are the same
    in every launch.
    """
    calls = Counter((type(op), bits_of(op.operands[0].type)) for op in loop.body.block.ops if type(op) in FUNCTIONS)
    ((_, bits), count), *_ = calls.most_common(1) or [((None, 0), 0)]
    if count < LEAST_CALLS:
        return None
    low, high = (known.get(x, constant_index(x)) for x in (loop.lb, loop.ub))
    if low is not None and high is not None and high - low < LEAST_ITERATIONS:
        return None
    if not loop.attributes.keys().isdisjoint((UNROLL, NO_UNROLL, LANES)) or constant_index(loop.step) != 1:
        return None
    if any(isinstance(x.type, AnyFloat | IndexType) for x in loop.iter_args) or not _accesses_neighbours(loop):
        return None
    return VECTOR_BITS // bits


def _accesses_neighbours(loop: scf.ForOp) -> bool:
    """Whether each access of a loop is at one place or moves by one element, and iterations are independent."""
    moving: set[SSAValue] = {loop.body.block.args[0]}
    loaded, stored = dict[SSAValue, set[tuple[SSAValue, ...]]](), dict[SSAValue, set[tuple[SSAValue, ...]]]()
    for op in loop.body.block.ops:
        if isinstance(op, memref.LoadOp | memref.StoreOp):
            moves = [index in moving for index in op.indices]
            if any(moves[:-1]) or (any(moves) and strides_of(memref_of(op.memref))[-1] != 1):
                return False
            if isinstance(op, memref.StoreOp) and (not any(moves) or op.value in moving):
                return False
            places = stored if isinstance(op, memref.StoreOp) else loaded
            places.setdefault(op.memref, set()).add(tuple(op.indices))
        elif any(x in moving for x in op.operands):
            # a sum of the position and a number that is the same in all iterations
            if not isinstance(op, arith.AddiOp) or (op.lhs in moving and op.rhs in moving):
                return False
            moving.add(op.result)
        elif not _is_speculatable(op):
            return False
    return all(len(places | loaded.get(buffer, places)) == 1 for buffer, places in stored.items())


def _is_speculatable(op: Operation) -> bool:
    """Whether an op is an instruction on vectors that lanes without an iteration may execute."""
    if isinstance(op, arith.ConstantOp | scf.YieldOp):
        return True
    if isinstance(op, FmodOp):
        return bits_of(op.operands[0].type) == 32
    return type(op) in ROWS and not isinstance(op, _DIVISIONS)


def as_call(text: str, lanes: int) -> str:
    """Return the call of a mathlib function as one of which LLVM makes calls of the version for vectors of lanes."""
    found = _CALL.fullmatch(text)
    if found is None:
        return text
    type_, name, operands = found.groups()
    kinds = "v" * (operands.count(",") + 1)
    variant = f"_ZGV_LLVM_N{lanes}{kinds}_called_{name}(called_{name}_x{lanes})"
    return f'call {type_} @called_{name}({operands}) "vector-function-abi-variant"="{variant}"'


def called_functions(text: str) -> list[str]:
    """Return the definitions of the functions that the calls of a module's text name: scalars, and vectors of lanes."""
    versions = list(dict.fromkeys((name, int(lanes)) for name, lanes in _VERSION.findall(text)))
    if not versions:
        return []
    scalars = [_scalar(name) for name in dict.fromkeys(name for name, _ in versions)]
    used = ", ".join(f"ptr @called_{name}_x{lanes}" for name, lanes in versions)
    # nothing uses a version before LLVM has made vectors
    kept = f'@llvm.compiler.used = appending global [{len(versions)} x ptr] [{used}], section "llvm.metadata"\n'
    return [kept, *scalars, *(_vector(name, lanes) for name, lanes in versions)]


_ATTRIBUTES = "noinline nounwind willreturn memory(none)"


def _signature(name: str) -> tuple[str, int]:
    """Return the LLVM type of a mathlib function on floats, and its number of arguments."""
    return "double" if name.endswith("f64") else "float", 2 if name.startswith(("pow", "fmod")) else 1


def _scalar(name: str) -> str:
    type_, arity = _signature(name)
    parameters = ", ".join(f"{type_} %x{n}" for n in range(arity))
    return f"""define internal {type_} @called_{name}({parameters}) speculatable {_ATTRIBUTES} {{
  %y = call {type_} @rlx_{name}({parameters})
  ret {type_} %y
}}
"""


def _vector(name: str, lanes: int) -> str:
    """
    Return the version of a function for vectors: a loop over memory, of which LLVM makes vectors of the processor's.

    Its operations are those of the scalar function, and so are its bits.
    """
    type_, arity = _signature(name)
    vector, numbers, align = f"<{lanes} x {type_}>", range(arity), 8 if type_ == "double" else 4
    parameters = ", ".join(f"{vector} %x{n}" for n in numbers)
    # as `loop_hints.hint_of` has it
    hint = INTERLEAVE[1 if name.rpartition("_")[0] in _FOR_ALL_ARGUMENTS else 4].metadata()
    lines = [
        f"define internal {vector} @called_{name}_x{lanes}({parameters}) {_ATTRIBUTES} {{",
        "entry:",
        f"  %r = alloca {vector}, align 64",
        *(f"  %a{n} = alloca {vector}, align 64" for n in numbers),
        *(f"  store {vector} %x{n}, ptr %a{n}, align 64" for n in numbers),
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]",
    ]
    for n in numbers:
        lines += [
            f"  %p{n} = getelementptr inbounds {type_}, ptr %a{n}, i64 %i",
            f"  %v{n} = load {type_}, ptr %p{n}, align {align}",
        ]
    lines += [
        f"  %y = call {type_} @rlx_{name}({', '.join(f'{type_} %v{n}' for n in numbers)})",
        f"  %q = getelementptr inbounds {type_}, ptr %r, i64 %i",
        f"  store {type_} %y, ptr %q, align {align}",
        "  %next = add nuw nsw i64 %i, 1",
        f"  %again = icmp slt i64 %next, {lanes}",
        f"  br i1 %again, label %loop, label %done, !llvm.loop !{METADATA.index(hint)}",
        "done:",
        f"  %z = load {vector}, ptr %r, align 64",
        f"  ret {vector} %z",
        "}\n",
    ]
    return "\n".join(lines)
