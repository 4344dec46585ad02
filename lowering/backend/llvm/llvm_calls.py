"""Loops that call vector versions of mathlib functions. LLVM inlines the functions into all other loops, several times
each: long chains of them would take most of the time to compile, and run no faster.

The versions are functions of the library: for scalars `sin_f32`, for vectors `sin_f32_x64`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerAttr, f32, f64
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.kernel import GUARDED, LANES, NO_UNROLL, UNROLL
from xdsl_rlx.dialects.lir.memory import memref_of, strides_of
from xdsl_rlx.dialects.lir.scalar import SMALL, FmodOp
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.lowering.backend.llvm.llvm_apart import library_symbol
from xdsl_rlx.lowering.backend.llvm.loop_hints import CALL_BITS, INTERLEAVE, METADATA
from xdsl_rlx.lowering.backend.llvm.scalar_texts import ROWS
from xdsl_rlx.lowering.backend.llvm.scalar_types import bits_of, double
from xdsl_rlx.lowering.backend.machine.llvm import LIBRARY
from xdsl_rlx.lowering.backend.math import mathlib
from xdsl_rlx.lowering.scalar_functions import FUNCTIONS, SMALL_VARIANTS

LEAST_CALLS, LARGE = 4, 200
"""Calls of one function in a loop from which on they are calls of its vector version, and operations of a function from
which on a single one is. A call takes up to 1.4 times as long to run as an inlined function, if that is small, and a
fifth of the time to compile. Benchmarks: `waves`, `60 chained sines` and `digamma` of breadth.py."""

LEAST_ITERATIONS = 32
"""Iterations of a loop, where they are known, below which most lanes of a call would be masked."""

_CALL = re.compile(r"call (\w+) @rlx_(\w+)\((.*)\)")
_VERSION = re.compile(rf"\({re.escape(LIBRARY)}(\w+)_x(\d+)\)")
_NAME = re.compile(r"(\w+_f(32|64))(?:_x(\d+))?")
_FOR_ALL_ARGUMENTS = frozenset(FUNCTIONS[op] for op in SMALL_VARIANTS)
_DIVISIONS = (arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp, arith.CeilDivSIOp)


def call_lanes(loop: scf.ForOp, known: Mapping[SSAValue, int]) -> int | None:
    """
    Return the lanes of the calls of a loop, or None if its functions are inlined.

    A loop has calls if it has `LEAST_CALLS` of one function, or a `LARGE` one. LLVM must be able to vectorise it with
    masks: it accesses neighbours, carries nothing but flags, and has no loop or branch inside. `known` holds the bounds
    that are the same in every launch.
    """
    calls = Counter((type(op), bits_of(op.operands[0].type)) for op in loop.body.block.ops if type(op) in FUNCTIONS)
    if not calls:
        return None
    ((_, bits), count), *_ = calls.most_common(1)
    if count < LEAST_CALLS and all(_operations(FUNCTIONS[kind], bits) < LARGE for kind, bits in calls):
        return None
    low, high = (known.get(x, constant_index(x)) for x in (loop.lb, loop.ub))
    if low is not None and high is not None and high - low < LEAST_ITERATIONS:
        return None
    if not loop.attributes.keys().isdisjoint((UNROLL, NO_UNROLL, LANES)) or constant_index(loop.step) != 1:
        return None
    if any(isinstance(x.type, AnyFloat | IndexType) for x in loop.iter_args) or not _accesses_neighbours(loop):
        return None
    return CALL_BITS // bits


@cache
def _operations(name: str, bits: int) -> int:
    """Return the operations of a function."""
    name = f"{name}_f{bits}"
    return len(ops_within(mathlib.function(name))) if name in mathlib.NAMES else 0


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


def guard_flags(loop: scf.ForOp) -> int:
    """Return how many of the last carries of a loop are flags of `lir-guard-range`."""
    mark = loop.attributes.get(GUARDED)
    return 0 if mark is None else cast("IntegerAttr[Any]", mark).value.data


def as_call(text: str, lanes: int) -> str:
    """
    Return the call of a mathlib function as one of which LLVM makes calls of the version for vectors of lanes.

    A variant for small arguments becomes the function for all: its version tries that variant first.
    """
    found = _CALL.fullmatch(text)
    if found is None:
        return text
    type_, name, operands = found.groups()
    name = name.replace("_small_", "_")
    kinds = "v" * (operands.count(",") + 1)
    variant = f"_ZGV_LLVM_N{lanes}{kinds}_{LIBRARY}{name}({LIBRARY}{name}_x{lanes})"
    return f'call {type_} {library_symbol(name)}({operands}) "vector-function-abi-variant"="{variant}"'


def versions_in(text: str) -> list[str]:
    """Return the names of the functions that the calls of a module's text name: of scalars, and of vectors."""
    versions = dict.fromkeys(_VERSION.findall(text))
    return [*dict.fromkeys(name for name, _ in versions), *(f"{name}_x{lanes}" for name, lanes in versions)]


def called_functions(text: str, defined: bool) -> list[str]:
    """Return the functions that the calls of a module's text name, `defined` in it or declared."""
    names = versions_in(text)
    vectors = [name for name in names if "_x" in name]
    if not vectors:
        return []
    used = ", ".join(f"ptr {library_symbol(name)}" for name in vectors)
    # nothing uses a version before LLVM has made vectors
    kept = f'@llvm.compiler.used = appending global [{len(vectors)} x ptr] [{used}], section "llvm.metadata"\n'
    return [kept, *(version_text(name, "internal ") if defined else _declaration(name) for name in names)]


def is_version(name: str) -> bool:
    """Return whether a function of the library is a version of a mathlib function."""
    found = _NAME.fullmatch(name)
    return found is not None and name[: found.end(1) - 4] in FUNCTIONS.values()


def version_text(name: str, linkage: str = "") -> str:
    """Return the definition of a version."""
    found = _NAME.fullmatch(name)
    assert found is not None
    return _scalar(found[1], linkage) if found[3] is None else _vector(found[1], int(found[3]), linkage)


def common_versions() -> list[str]:
    """Return the names of all versions that loops call."""
    names = [f"{function}_f{bits}" for function in FUNCTIONS.values() for bits in (32, 64)]
    names = [name for name in names if name in mathlib.NAMES]
    return [*names, *(f"{name}_x{CALL_BITS // int(name[-2:])}" for name in names)]


def _declaration(name: str) -> str:
    head, _, _ = version_text(name).partition(" {\n")
    return re.sub(r" %x\d+", "", head).replace("define", "declare", 1) + "\n"


_ATTRIBUTES = "noinline nounwind willreturn memory(none)"


def _signature(name: str) -> tuple[str, int]:
    """Return the LLVM type of a mathlib function on floats, and its number of arguments."""
    return "double" if name.endswith("f64") else "float", 2 if name.startswith(("pow", "fmod")) else 1


def _scalar(name: str, linkage: str) -> str:
    type_, arity = _signature(name)
    parameters = ", ".join(f"{type_} %x{n}" for n in range(arity))
    return f"""define {linkage}{type_} {library_symbol(name)}({parameters}) speculatable {_ATTRIBUTES} {{
  %y = call {type_} @rlx_{name}({parameters})
  ret {type_} %y
}}
"""


def _vector(name: str, lanes: int, linkage: str) -> str:
    """
    Return the version of a function for vectors: a loop over memory, of which LLVM makes vectors of the processor's.

    Its operations are those of the scalar function, and so are its bits. One that has a variant for small arguments
    runs that first, and the function for all arguments when one was large.
    """
    type_, arity = _signature(name)
    vector, numbers = f"<{lanes} x {type_}>", range(arity)
    parameters = ", ".join(f"{vector} %x{n}" for n in numbers)
    small = f"{name[:-4]}_small{name[-4:]}" if name[:-4] in _FOR_ALL_ARGUMENTS else None
    lines = [
        f"define {linkage}{vector} {library_symbol(f'{name}_x{lanes}')}({parameters}) {_ATTRIBUTES} {{",
        "entry:",
        f"  %r = alloca {vector}, align 64",
        *(f"  %a{n} = alloca {vector}, align 64" for n in numbers),
        *(f"  store {vector} %x{n}, ptr %a{n}, align 64" for n in numbers),
        "  br label %loop",
        *_loop(small or name, "loop", "entry", lanes, small is not None),
    ]
    if small is not None:
        lines += [
            "  %large = icmp ne i32 %loop.seen, 0",
            "  br i1 %large, label %full, label %done",
            *_loop(name, "full", "loop.end", lanes, False),
            "  br label %done",
            "done:",
        ]
    return "\n".join([*lines, f"  %z = load {vector}, ptr %r, align 64", f"  ret {vector} %z", "}\n"])


def _loop(name: str, label: str, before: str, lanes: int, flagged: bool) -> list[str]:
    """Return a loop over the lanes in memory; `flagged`, it sees whether an argument is too large for the function."""
    type_, arity = _signature(name)
    align, numbers = 8 if type_ == "double" else 4, range(arity)
    # as `loop_hints.hint_of` has it
    hint = INTERLEAVE[1 if name[:-4] in _FOR_ALL_ARGUMENTS else 4].metadata()
    lines = [f"{label}:", f"  %{label}.i = phi i64 [ 0, %{before} ], [ %{label}.next, %{label} ]"]
    if flagged:
        lines.append(f"  %{label}.flag = phi i32 [ 0, %{before} ], [ %{label}.seen, %{label} ]")
    for n in numbers:
        lines += [
            f"  %{label}.p{n} = getelementptr inbounds {type_}, ptr %a{n}, i64 %{label}.i",
            f"  %{label}.v{n} = load {type_}, ptr %{label}.p{n}, align {align}",
        ]
    if flagged:
        size, bound = f"%{label}.size", double(SMALL[f64 if type_ == "double" else f32])
        lines += [
            f"  {size} = call {type_} @llvm.fabs.{name[-3:]}({type_} %{label}.v0)",
            f"  %{label}.large = fcmp ogt {type_} {size}, {bound}",
            f"  %{label}.bit = zext i1 %{label}.large to i32",
            f"  %{label}.seen = or i32 %{label}.flag, %{label}.bit",
        ]
    return [
        *lines,
        f"  %{label}.y = call {type_} @rlx_{name}({', '.join(f'{type_} %{label}.v{n}' for n in numbers)})",
        f"  %{label}.q = getelementptr inbounds {type_}, ptr %r, i64 %{label}.i",
        f"  store {type_} %{label}.y, ptr %{label}.q, align {align}",
        f"  %{label}.next = add nuw nsw i64 %{label}.i, 1",
        f"  %{label}.again = icmp slt i64 %{label}.next, {lanes}",
        f"  br i1 %{label}.again, label %{label}, label %{label}.end, !llvm.loop !{METADATA.index(hint)}",
        f"{label}.end:",
    ]
