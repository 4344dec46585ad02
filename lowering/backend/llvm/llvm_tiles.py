"""The LLVM text of the kernel library's function for tile registers, `kernel_library/tile_registers.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl_rlx.lowering.kernel_library.tile_registers import (
    CONFIGURATION_BYTES,
    LAYOUT_WORDS,
    PACK_BYTES,
    SIDE,
    RegisterBlockFunction,
)

_DOTS = {"bf16": "tdpbf16ps", "i8": "tdpbsud"}
"""The instruction of each element type: of i8, the LHS is signed and the RHS is not."""

_LEFT, _RIGHT = 4, 6
"""The first registers of the operands; those of the result are before them."""


def register_block_text(function: RegisterBlockFunction, head: str) -> str:
    """
    Return the definition of a function, `head` up to its parameters.

    Registers have numbers in the text, not names that LLVM chooses registers for: it loads a configuration that the
    plan has. Terms that fill no whole register have another one, which clears all registers, so the sums are stored
    and loaded around it.
    """
    high, wide = range(function.high), range(function.wide)
    results = [(2 * r + c, r, c) for r in high for c in wide]
    parameters = ", ".join(f"ptr noalias %{name}" for name in ("plan", *function.READS, *function.WRITES))
    lines = [
        f"{head}({parameters}, i64 %lo, i64 %hi) nounwind {{",
        "entry:",
        *_addresses(high, results),
        "  call void @llvm.x86.ldtilecfg(ptr %plan)",
        "  %begins = icmp eq i64 %lo, 0",
        "  br i1 %begins, label %zeros, label %sums",
        "zeros:",
        *(f"  call void @llvm.x86.tilezero(i8 {n})" for n, _, _ in results),
        "  br label %head",
        "sums:",
        *_results("tileloadd64", results),
        "  br label %head",
        *_whole_registers(function, high, wide),
        "last:",
        *_results("tilestored64", results),
        f"  %configuration = getelementptr i8, ptr %plan, i64 {CONFIGURATION_BYTES}",
        "  call void @llvm.x86.ldtilecfg(ptr %configuration)",
        *_results("tileloadd64", results),
        *_products(function, high, wide, "c", "d"),
        "  br label %done",
        "done:",
        *_results("tilestored64", results),
        "  call void @llvm.x86.tilerelease()",
        "  ret void",
        "}\n",
    ]
    return "\n".join(lines)


def _addresses(high: range, results: Sequence[tuple[int, int, int]]) -> Iterator[str]:
    """Load the strides of the plan, and find the addresses of the result's registers and the number of terms."""
    for name, place in LAYOUT_WORDS.items():
        if name not in ("rows", "columns", "rest"):
            yield from _word(f"{name}_bytes", place)
    yield f"  %left_tile = mul i64 %left_row_bytes, {SIDE}"
    yield f"  %right_tile = mul i64 %right_line_bytes, {SIDE}"
    yield f"  %into_tile = mul i64 %into_row_bytes, {SIDE}"
    for r in high:
        yield f"  %row{r} = getelementptr i8, ptr %into, i64 {'%into_tile' if r else '0'}"
    for _, r, c in results:
        yield f"  %into{r}{c} = getelementptr i8, ptr %row{r}, i64 {SIDE * PACK_BYTES * c}"
    yield "  %terms = sub i64 %hi, %lo"
    yield f"  %whole = udiv i64 %terms, {SIDE}"
    yield f"  %rest = urem i64 %terms, {SIDE}"


def _whole_registers(function: RegisterBlockFunction, high: range, wide: range) -> Iterator[str]:
    """The loop over terms that fill registers, and the branch to those that do not."""
    yield "head:"
    yield "  %some = icmp ne i64 %whole, 0"
    yield "  br i1 %some, label %step, label %end"
    yield "step:"
    yield "  %n = phi i64 [ 0, %head ], [ %n_next, %step ]"
    yield "  %a0 = phi ptr [ %left, %head ], [ %a_next, %step ]"
    yield "  %b0 = phi ptr [ %right, %head ], [ %b_next, %step ]"
    yield from _products(function, high, wide, "a", "b")
    yield "  %a_next = getelementptr i8, ptr %a0, i64 %left_step_bytes"
    yield "  %b_next = getelementptr i8, ptr %b0, i64 %right_tile"
    yield "  %n_next = add nuw i64 %n, 1"
    yield "  %goes_on = icmp ult i64 %n_next, %whole"
    yield "  br i1 %goes_on, label %step, label %end"
    yield "end:"
    yield "  %c0 = phi ptr [ %left, %head ], [ %a_next, %step ]"
    yield "  %d0 = phi ptr [ %right, %head ], [ %b_next, %step ]"
    yield "  %more = icmp ne i64 %rest, 0"
    yield "  br i1 %more, label %last, label %done"


def _word(name: str, place: int) -> Iterator[str]:
    """Load a word of the plan."""
    yield f"  %{name}_at = getelementptr i64, ptr %plan, i64 {place}"
    yield f"  %{name} = load i64, ptr %{name}_at, align 8"


def _results(instruction: str, results: Sequence[tuple[int, int, int]]) -> Iterator[str]:
    """Load or store the registers of the result."""
    for number, r, c in results:
        yield f"  call void @llvm.x86.{instruction}(i8 {number}, ptr %into{r}{c}, i64 %into_row_bytes)"


def _products(function: RegisterBlockFunction, high: range, wide: range, left: str, right: str) -> Iterator[str]:
    """Load registers of both operands, and add all products: each register as late as it is needed."""
    if len(high) > 1:
        yield f"  %{left}1 = getelementptr i8, ptr %{left}0, i64 %left_tile"
    if len(wide) > 1:
        yield f"  %{right}1 = getelementptr i8, ptr %{right}0, i64 %right_step_bytes"
    loaded = set[int]()
    for r in high:
        for c in wide:
            for number, pointer, row in (
                (_LEFT + r, f"%{left}{r}", "%left_row_bytes"),
                (_RIGHT + c, f"%{right}{c}", "%right_line_bytes"),
            ):
                if number not in loaded:
                    loaded.add(number)
                    yield f"  call void @llvm.x86.tileloadd64(i8 {number}, ptr {pointer}, i64 {row})"
            instruction = _DOTS[function.element]
            yield f"  call void @llvm.x86.{instruction}(i8 {2 * r + c}, i8 {_LEFT + r}, i8 {_RIGHT + c})"
