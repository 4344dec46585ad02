"""What the emitters tell LLVM about single loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.bounds import constant_index, trip_count
from xdsl_rlx.dialects.lir.kernel import AT_ONCE, LANES, NO_UNROLL, OUTLINE, UNROLL
from xdsl_rlx.dialects.lir.kernel import MASKED as MASKED_REST
from xdsl_rlx.dialects.lir.memory import element_bytes, memref_of
from xdsl_rlx.lowering.loops.lir_mark_unrolled import precedes_vectors
from xdsl_rlx.lowering.scalar_functions import FUNCTIONS, SMALL_VARIANTS, ends_in_mask
from xdsl_rlx.lowering.tile_blocks.side_by_side import MERGED

SHORT_LOOP = 64
"""Iterations below which a loop is not worth interleaving."""

TRANSPOSED_LANES = 8
"""Iterations of an outlined loop that are a vector where it is around a loop that is written out: rows become columns.
Vectors of 16 take twice the instructions to shuffle. Benchmark: transforms of breadth.py, which take 0.93 of the time.
"""

WORD_BYTES = 4
"""Bytes of the elements of such vectors at least: of narrower ones they would fill a part of a register."""

CALL_BITS = 2048
"""Bits of a vector argument of a call of `llvm_calls.py`: four AVX-512 registers. Half of it runs 1.7 times as long, as
a call waits for the one before. Benchmark: `60 chained sines` of breadth.py."""

TINY_LOOP = 16
"""Iterations below which LLVM checks no pointers at run time, and would complain of a width on the console."""
LONG_LOOP = 1024
"""Iterations from which on a long chain is worth four copies of the loop's body, which take long to compile."""

LONG_CHAIN = 3
"""Calls of mathlib functions in a loop from which on fewer iterations are worth two copies only."""


Property: TypeAlias = "tuple[bool | int | str | Property, ...]"
"""The name of a property of LLVM's `llvm.loop` and its values: numbers, booleans, and properties again."""


@dataclass(frozen=True)
class LoopHint:
    """A name for the printed module, and what LLVM is told of a loop: the last property is all that LLVM text says."""

    name: str
    properties: tuple[Property, ...]

    def metadata(self) -> str:
        """The last property as LLVM text."""
        return _listed(self.properties[-1:])


def _listed(values: Property) -> str:
    texts = {int: "i32 {}", str: '!"{}"', bool: "i1 {}"}
    return ", ".join(
        f"!{{{_listed(x)}}}" if isinstance(x, tuple) else texts[type(x)].format(str(x).lower()) for x in values
    )


INTERLEAVE = {n: LoopHint(f"interleave_{n}", (("llvm.loop.interleave.count", n),)) for n in (1, 2, 4)}
KEEP_ROLLED = LoopHint("keep_rolled", (("llvm.loop.unroll.disable",),))
AS_VECTORS = LoopHint(
    "as_vectors",
    (
        # the LLVM behind Numba would write the loop out before it looks for vectors
        ("llvm.loop.unroll.disable",),
        ("llvm.loop.vectorize.followup_all", ("llvm.loop.unroll.full",), ("llvm.loop.isvectorized", 1)),
    ),
)
MASKED = LoopHint("masked", (("llvm.loop.vectorize.predicate.enable", True),))
WRITTEN_OUT = LoopHint("written_out", (("llvm.loop.unroll.full",),))
SIDE_BY_SIDE = {n: LoopHint(f"side_by_side_{n}", (("llvm.loop.unroll.count", n),)) for n in range(2, AT_ONCE + 1)}
TRANSPOSED = LoopHint(
    "transposed", (("llvm.loop.interleave.count", 1), ("llvm.loop.vectorize.width", TRANSPOSED_LANES))
)
MERGING = LoopHint("merging", (*KEEP_ROLLED.properties, *TRANSPOSED.properties[-1:]))
CALLS = {
    lanes: _listed(
        (
            ("llvm.loop.vectorize.width", lanes),
            ("llvm.loop.vectorize.predicate.enable", True),
            ("llvm.loop.interleave.count", 1),
        )
    )
    for lanes in (CALL_BITS // bits for bits in (64, 32))
}
"""What LLVM text says of loops of calls of `llvm_calls.py`, by lanes: one vector at a time, the last one masked."""
HINTS = (
    *INTERLEAVE.values(),
    KEEP_ROLLED,
    AS_VECTORS,
    MASKED,
    TRANSPOSED,
    MERGING,
    WRITTEN_OUT,
    *SIDE_BY_SIDE.values(),
)
"""What the printed module may tell the LLVM behind Numba."""

METADATA = (*dict.fromkeys(hint.metadata() for hint in HINTS if hint is not KEEP_ROLLED), *CALLS.values())
"""What is said in LLVM text: nothing is written out but what lowering/loops/lir_mark_unrolled.py has marked."""


def hint_of(loop: scf.ForOp, known: Mapping[SSAValue, int] = MappingProxyType({})) -> LoopHint | None:
    """
    How a loop is written out, how many of its vectors are in flight at once, or whether it stays a loop, where that is
    not left to LLVM. `known` holds values that are no constants in the IR, but the same in every call.

    What `lir-mark-unrolled` has marked is written out. The functions of mathlib are long chains of dependent
    operations. LLVM counts the registers, and lets one vector at a time wait for its chain; four at once, spilling,
    are up to 1.7 times as fast, and eight hardly faster. One is right for sin, cos and tan over the whole range:
    they wait for their tables, are rarely run (see lir_guard_range.py), and are much to compile.
    """
    if (mark := loop.attributes.get(UNROLL)) is not None:
        count, trips = cast("IntegerAttr[Any]", mark).value.data, trip_count(loop)
        if trips is not None and count < trips:
            return SIDE_BY_SIDE[count]
        return WRITTEN_OUT if precedes_vectors(loop) else AS_VECTORS
    if NO_UNROLL in loop.attributes:
        trips = trip_count(loop)
        return MERGING if _merges(loop) and (trips is None or trips >= TINY_LOOP) else KEEP_ROLLED
    if LANES in loop.attributes:
        return AS_VECTORS
    ops = loop.body.block.ops
    if OUTLINE in loop.attributes and _is_scalar(loop) and any(UNROLL in op.attributes for op in ops):
        return TRANSPOSED
    calls = sum(type(op) in FUNCTIONS for op in ops)
    low, high = (known.get(x, constant_index(x)) for x in (loop.lb, loop.ub))
    count = LONG_LOOP if low is None or high is None else high - low
    if loop.ub in known and count >= SHORT_LOOP:
        # kernels of any length are written for long ones
        count = max(count, LONG_LOOP)
    if any(type(op) in SMALL_VARIANTS for op in ops):
        return INTERLEAVE[1]
    if MASKED_REST in loop.attributes or (calls and ends_in_mask(count)):
        return MASKED
    if not calls or count < SHORT_LOOP:
        return None
    return INTERLEAVE[2 if calls >= LONG_CHAIN and count < LONG_LOOP else 4]


def _is_scalar(loop: scf.ForOp) -> bool:
    """Whether nothing in a loop is vectors already, of which LLVM could make none."""
    return not any(LANES in op.attributes for op in loop.walk())


def _merges(loop: scf.ForOp) -> bool:
    """Whether a loop brings a few lines of words side by side, or takes them apart: it stores as many as it loads."""
    ops = loop.body.block.ops
    read, written = (
        [memref_of(op.memref) for op in ops if isinstance(op, kind)] for kind in (memref.LoadOp, memref.StoreOp)
    )
    if len(read) < MERGED or len(read) != len(written) or any(op.regions for op in ops):
        return False
    return all(element_bytes(x.element_type) >= WORD_BYTES for x in (*read, *written))


def metadata_of(loop: scf.ForOp, known: Mapping[SSAValue, int]) -> str | None:
    """What LLVM text says about a loop: of `METADATA`, if anything."""
    hint = hint_of(loop, known)
    return None if hint is None or hint is KEEP_ROLLED else hint.metadata()
