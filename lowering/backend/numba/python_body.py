"""The Python statements of a function of a lir module: memory, loops, branches, calls of libraries.
What stands around them is in `python_module.py`."""

from __future__ import annotations

import builtins
import keyword
import unicodedata
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    UnrealizedConversionCastOp,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.lir import (
    LAPACK_OPS,
    BlockGemmOp,
    CallFunctionOp,
    CheckOp,
    DebugPrintOp,
    FftOp,
    GemmOp,
    LapackOp,
    PollOp,
    PrefetchOp,
    ReturnOp,
)
from xdsl_rlx.dialects.lir.collectives import NETWORK_OPS
from xdsl_rlx.dialects.lir.memory import AnyMemRef, is_any_length, is_contiguous, memref_of, strides_of
from xdsl_rlx.dialects.locations import named
from xdsl_rlx.lowering.backend.llvm.gemm_calls import Operand, check_library, leading_dimension, row_leading_dimension
from xdsl_rlx.lowering.backend.llvm.lapack_calls import python_lapack
from xdsl_rlx.lowering.backend.llvm.loop_hints import hint_of
from xdsl_rlx.lowering.backend.llvm.scalar_texts import ROWS
from xdsl_rlx.lowering.backend.llvm.scalar_types import function_suffix, python_type
from xdsl_rlx.lowering.backend.math import mathlib
from xdsl_rlx.lowering.backend.numba.frame_places import python_frames
from xdsl_rlx.lowering.backend.numba.helpers import HELPER_NAMES
from xdsl_rlx.lowering.kernel_library.calls import called_function
from xdsl_rlx.lowering.kernel_library.fourier_calls import fourier_calls
from xdsl_rlx.lowering.kernel_library.functions import functions

RESERVED = frozenset(
    {
        *(*keyword.kwlist, *dir(builtins), *HELPER_NAMES, *mathlib.NAMES, *mathlib.TABLES, *functions()),
        *("inputs", "memory", "arena"),
    }
)


def identifier(name: str) -> str:
    """`name` made a Python identifier that hides nothing the module uses."""
    # as Python reads identifiers; a letter such as a superscript is none, though `\w` has it
    plain = "".join(c if f"_{c}".isidentifier() else "_" for c in unicodedata.normalize("NFKC", name)) or "_"
    plain = plain if plain.isidentifier() else f"_{plain}"
    return f"{plain}_" if plain in RESERVED else plain


def type_text(type: Attribute) -> str:
    """A memref type as kernels of a printed module declare it: `f32[4, 3] strides [1, 4]`, `f32[hi]` of any length."""
    assert isinstance(type, MemRefType)
    buffer = cast("AnyMemRef", type)
    if is_any_length(buffer):
        return f"{buffer.element_type}[hi]"
    layout = "" if is_contiguous(buffer) else f" strides {list(strides_of(buffer))}"
    return f"{buffer.element_type}{list(buffer.get_shape())}{layout}"


def number_text(value: Attribute) -> str:
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


class PythonBody:
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

    @contextmanager
    def indented(self) -> Generator[None, None, None]:
        """What is emitted meanwhile stands one level further in."""
        self._depth += 1
        yield
        self._depth -= 1

    def gap(self) -> None:
        """A blank line, unless a suite begins here."""
        if self.lines and self.lines[-1] and not self.lines[-1].endswith(":"):
            self.lines.append("")

    def suite(self, block: Block, targets: Sequence[str] = (), last: str = "") -> None:
        """An indented block that ends by assigning what it yields to `targets`, and with the statement `last`."""
        self._depth += 1
        before = len(self.lines)
        self.block(block)
        if targets and block.last_op is not None:
            self.assign(targets, block.last_op.operands)
        if last:
            self.emit(last)
        elif len(self.lines) == before:
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
                raise PassFailedException(
                    f"{op.name} has no Python form: add a row to lowering/backend/llvm/scalar_texts.py"
                )

    def element(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> str:
        return f"{self.names[buffer]}[{', '.join(self.names[i] for i in indices) or '()'}]"

    def load(self, op: Operation) -> None:
        buffer, *indices = op.operands
        self.emit(f"{self.name(op.results[0])} = {self.element(buffer, indices)}")

    def store(self, op: Operation) -> None:
        value, buffer, *indices = op.operands
        self.emit(f"{self.element(buffer, indices)} = {self.names[value]}")

    def nothing(self, op: Operation) -> None:
        """A hint that Python has no words for."""

    def alloca(self, op: Operation) -> None:
        result = op.results[0]
        type = memref_of(result)
        self.emit(f"{self.name(result, 'scratch')} = stack({type_text(type)!r})")

    def constant(self, op: Operation) -> None:
        assert isinstance(op, arith.ConstantOp)
        self.names[op.result] = number_text(op.value)

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

    def check(self, op: Operation) -> None:
        assert isinstance(op, CheckOp)
        value, limit = self.names[op.value], self.names[op.limit]
        self.emit(f"if ({value} < 0) | ({value} > {limit}):")
        self.emit(f"    refuse({op.message.data!r}, {value})")
        self.emit("    return")

    def poll(self, op: Operation) -> None:
        assert isinstance(op, PollOp)
        name = self.name(op.result, "go_on")
        self.emit(f"{name} = goes_on({self.names[op.count]}, {op.limit.value.data})")
        self.names[op.result] = name

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
        self.suite(op.body.block, names, "" if (hint := hint_of(op)) is None else f"{hint.name}()")
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
        check_library(op)
        r0, r1, c0, c1 = (self.names[x] for x in (op.row_lo, op.row_hi, op.col_lo, op.col_hi))
        a, b = Operand.of(op.a.type), Operand.of(op.b.type)
        k0, k1 = (
            ("0", str(a.cols))
            if op.inner_lo is None or op.inner_hi is None
            else (self.names[op.inner_lo], self.names[op.inner_hi])
        )
        sizes = (self.extent(c0, c1), self.extent(r0, r1), self.extent(k0, k1))
        places = (
            self.at(op.a, op.a_indices, (r0, k0)),
            self.at(op.b, op.b_indices, (k0, c0)),
            self.at(op.c, op.c_indices, (r0, c0)),
        )
        ldc = row_leading_dimension(op.c.type)
        self.product((a, b), (a.transposed, b.transposed), sizes, places, ldc, op.accumulate is not None)

    def block_gemm(self, op: Operation) -> None:
        assert isinstance(op, BlockGemmOp)
        a, b, c = (Operand.of(x.type) for x in (op.a, op.b, op.c))
        sizes = (self.names[op.cols], self.names[op.rows], self.names[op.depth])
        sides = ((op.a, op.a_indices), (op.b, op.b_indices), (op.c, op.c_indices))
        places = tuple(self.at(value, indices, ()) for value, indices in sides)
        flips = (op.transpose_a is not None, op.transpose_b is not None)
        self.product((a, b), flips, sizes, places, leading_dimension(c), op.accumulate is not None)

    def product(
        self,
        operands: tuple[Operand, Operand],
        transposed: tuple[bool, bool],
        sizes: tuple[str, str, str],
        places: tuple[str, ...],
        ldc: int,
        accumulate: bool,
    ) -> None:
        """The call of a column-major BLAS, which sees the transposes: `C^T = B^T A^T`."""
        a, b = operands
        letter = "s" if function_suffix(a.element) == "f32" else "d"
        factors = [f"{python_type(a.element)}({x})" for x in (1.0, float(accumulate))]
        pieces = [
            *map(str, reversed(transposed)),
            *sizes,
            factors[0],
            *(places[1], str(leading_dimension(b)), places[0], str(leading_dimension(a))),
            factors[1],
            *(places[2], str(ldc)),
        ]
        self.emit(f"{letter}gemm({', '.join(pieces)})")

    def at(self, value: SSAValue, leading: Sequence[SSAValue], last: Sequence[str]) -> str:
        """The address of the element at `last` of what the `leading` indices choose."""
        indices = [*(self.names[i] for i in leading), *last]
        return f"at({self.names[value]}, ({', '.join(indices)}{',' if len(indices) == 1 else ''}))"

    def extent(self, low: str, high: str) -> str:
        if low.isdigit() and high.isdigit():
            return str(int(high) - int(low))
        return high if low == "0" else f"{high} - {low}"

    def debug_print(self, op: Operation) -> None:
        """PassFailedException: Numba has no print of arrays, and its threads run without the interpreter lock."""
        raise PassFailedException(
            f"{named(op)} has no form in a printed module: remove debug.print, or compile with the backend 'llvm'"
        )

    def collective(self, op: Operation) -> None:
        """PassFailedException: a printed module is connected to no other process."""
        raise PassFailedException(f"{named(op)} has no form in a printed module: compile with the backend 'llvm'")

    def lapack(self, op: Operation) -> None:
        assert isinstance(op, LapackOp)
        self.emit(python_lapack(op, self.at, self.names))

    def fourier(self, op: Operation) -> None:
        """Calls of the functions of the library, which `python_module.py` prints too."""
        assert isinstance(op, FftOp)
        plan = self.plan(op.plan)
        for call in fourier_calls(op):
            places = [f"at({plan}, ({call.word},))"]
            for buffer in call.buffers:
                leading = [op.piece] if buffer in op.workspace else []
                places.append(self.at(buffer, leading, ("0", "0")))
            places += [] if call.frames is None else python_frames(op, call.frames, self)
            self.emit(f"{call.function}({', '.join([*places, '0', str(call.iterations)])})")

    def call(self, op: Operation) -> None:
        """Call a function of the library, which `python_module.py` prints too."""
        assert isinstance(op, CallFunctionOp)
        plan = self.plan(op.plan)
        places = [f"at({plan}, (0,))", *(self.at(buffer, indices, ()) for buffer, indices in op.places)]
        self.emit(f"{called_function(op).name}({', '.join([*places, self.names[op.low], self.names[op.high]])})")

    def plan(self, words: Sequence[int]) -> str:
        """An array of the words that functions of the library read."""
        plan = self.unique("plan")
        self.emit(f"{plan} = stack('i64[{len(words)}]')")
        for number, word in enumerate(words):
            self.emit(f"{plan}[{number}] = {word}")
        return plan


_EMITTERS: dict[type[Operation], Callable[[PythonBody, Operation], None]] = {
    arith.ConstantOp: PythonBody.constant,
    memref.LoadOp: PythonBody.load,
    memref.StoreOp: PythonBody.store,
    memref.AllocaOp: PythonBody.alloca,
    memref.GetGlobalOp: PythonBody.get_global,
    UnrealizedConversionCastOp: PythonBody.same_bits,
    scf.ForOp: PythonBody.loop,
    scf.IfOp: PythonBody.branch,
    scf.WhileOp: PythonBody.while_loop,
    GemmOp: PythonBody.gemm,
    DebugPrintOp: PythonBody.debug_print,
    **dict.fromkeys(NETWORK_OPS, PythonBody.collective),
    PrefetchOp: PythonBody.nothing,
    BlockGemmOp: PythonBody.block_gemm,
    **dict.fromkeys(LAPACK_OPS, PythonBody.lapack),
    FftOp: PythonBody.fourier,
    CallFunctionOp: PythonBody.call,
    CheckOp: PythonBody.check,
    PollOp: PythonBody.poll,
    ReturnOp: PythonBody.ret,
    func.ReturnOp: PythonBody.ret,
}
