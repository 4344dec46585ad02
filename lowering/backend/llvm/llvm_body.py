"""The LLVM instructions of a function of a lir module: memory, loops, branches, calls of libraries.
What stands around them is in `llvm_module.py`."""

from __future__ import annotations

import hashlib
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    Float32Type,
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
from xdsl_rlx.dialects.lir.bounds import buffers_written_by, constant_index, trip_count
from xdsl_rlx.dialects.lir.collectives import NETWORK_OPS
from xdsl_rlx.dialects.lir.memory import AnyMemRef, byte_size, element_bytes, memref_of, row_major_strides, strides_of
from xdsl_rlx.dialects.lir.scalar import PackBf16Op, PackI8Op
from xdsl_rlx.dialects.shapes import DTYPE_NAMES
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.lowering.backend.driver.collectives import ENGINE
from xdsl_rlx.lowering.backend.driver.debug_prints import describe
from xdsl_rlx.lowering.backend.llvm.engine_calls import engine_call
from xdsl_rlx.lowering.backend.llvm.frame_places import llvm_frames
from xdsl_rlx.lowering.backend.llvm.gemm_calls import Operand, check_library, leading_dimension, row_leading_dimension
from xdsl_rlx.lowering.backend.llvm.lapack_calls import llvm_lapack
from xdsl_rlx.lowering.backend.llvm.llvm_apart import (
    FUNCTION,
    SMALL_BYTES,
    Given,
    is_apart,
    library_symbol,
    name_of_part,
)
from xdsl_rlx.lowering.backend.llvm.llvm_calls import as_call, call_lanes, guard_flags
from xdsl_rlx.lowering.backend.llvm.llvm_lanes import LaneLoop, Role, Vector, is_written_out
from xdsl_rlx.lowering.backend.llvm.llvm_lines import LlvmLines, folded_index
from xdsl_rlx.lowering.backend.llvm.loop_hints import CALLS, METADATA, metadata_of
from xdsl_rlx.lowering.backend.llvm.packed_texts import VECTORS
from xdsl_rlx.lowering.backend.llvm.scalar_texts import ROWS, llvm_text
from xdsl_rlx.lowering.backend.llvm.scalar_types import function_suffix, literal, llvm_type
from xdsl_rlx.lowering.backend.machine.blas_library import FUNCTIONS as BLAS_FUNCTIONS
from xdsl_rlx.lowering.kernel_library.calls import called_function
from xdsl_rlx.lowering.kernel_library.fourier_calls import fourier_calls
from xdsl_rlx.lowering.scalar_functions import FUNCTIONS

STACK_BYTES = 1 << 14
"""Of a kernel's scratch buffers: threads of a program may have stacks of 128 KB. Further large ones are on the heap."""

_EXTREMES = (arith.MaximumfOp, arith.MinimumfOp)
_INFINITIES = ("0xFFF0000000000000", "0x7FF0000000000000")


def _memory_type(type: Attribute) -> str:
    return "i8" if type == i1 else llvm_type(type)


@dataclass(frozen=True)
class _Buffer:
    """How a memref is addressed: `gep` is the type whose trailing dimensions the indices walk; None for odd strides."""

    element: str
    align: int
    gep: str | None
    strides: tuple[int, ...]
    is_bool: bool


def _buffer_of(type: AnyMemRef) -> _Buffer:
    shape, strides, element = type.get_shape(), strides_of(type), type.element_type
    gep = _memory_type(element)
    for n in reversed(shape[1:]):
        gep = f"[{n} x {gep}]"
    regular = strides == row_major_strides(shape)
    return _Buffer(_memory_type(element), element_bytes(element), gep if regular else None, strides, element == i1)


class LlvmBody(LlvmLines):
    """The lines of one function; `written` holds buffers stored to."""

    def __init__(self, function: str = "", root: Operation | None = None) -> None:
        """Of what is in `root`, if it is known beforehand."""
        super().__init__()
        self.function = function
        self.allocas: list[str] = []
        self.heap: list[int] = []
        """Bytes of the scratch buffers that the caller provides, the parameters `%h0` and so on."""
        self._on_stack = 0
        self.names: dict[SSAValue, str] = {}
        self.written: set[SSAValue] = set()
        self.nonnegative: set[SSAValue] = set()
        self.known: Mapping[SSAValue, int] = {}
        """Arguments that are the same in every call."""
        self.arguments: dict[SSAValue, str] = {}
        """The names of those as parameters."""
        self.messages: dict[str, str] = {}
        """The texts of checks, with the names of the constants that hold them."""
        self.polls = False
        """Whether it asks if the run goes on."""
        self.texts: dict[str, str] = {}
        """Other texts, with the names of the constants that hold them."""
        self.parts: dict[str, str] = {}
        """Functions that this one calls, by name."""
        self.called: dict[str, int] = {}
        """Functions of the library that it calls, and how many buffers these take."""
        self.words: dict[str, list[int]] = {}
        """Tables of 64-bit words, by the names of the constants that hold them."""
        self._buffers: dict[SSAValue, _Buffer] = {}
        self._lanes: dict[scf.ForOp, LaneLoop | None] = {}
        self._call_lanes: int | None = None
        """Lanes of the calls of mathlib functions in the loop at hand, None where they are inlined."""
        self._changing = {x for op in ops_within(root) for x in buffers_written_by(op)} if root is not None else None
        """Buffers that something in the function is stored to: of others, what was loaded once is known."""

    def block(self, block: Block) -> None:
        """Emit every op of `block` but a yield, whose operands the enclosing op reads."""
        for op in block.ops:
            self.operation(op)

    def operation(self, op: Operation) -> None:
        """Emit one op, unless it ends a block."""
        names, cls = self.names, op.__class__
        if (cls is PackBf16Op or cls is PackI8Op) and (loaded := self.loaded_at_once(op)) is not None:
            names[op.results[0]] = loaded
        elif cls in ROWS:
            args, type_ = [names[x] for x in op.operands], op.operands[0].type
            if (index := folded_index(cls, args, type_)) is not None:
                names[op.results[0]] = index
                return
            if cls is arith.SelectOp and any(use.operation.__class__ in _EXTREMES for use in op.results[0].uses):
                args = [self.behind_a_fence(x, op.results[0].type) if x in _INFINITIES else x for x in args]
            text = llvm_text(op, args, llvm_type(type_), function_suffix(type_), self.line)
            if self._call_lanes is not None and cls in FUNCTIONS:
                text = as_call(text, self._call_lanes)
            names[op.results[0]] = self.line(text)
        elif (emitter := _EMITTERS.get(cls)) is not None:
            emitter(self, op)
        elif cls is not scf.YieldOp and cls is not scf.ConditionOp:
            raise PassFailedException(f"{op.name} has no LLVM form: add a row to lowering/backend/llvm/scalar_texts.py")

    def behind_a_fence(self, number: str, type_: Attribute) -> str:
        """
        A constant that LLVM does not see as one.

        `max(m, select(c, x, -inf))` would become `select(c, max(m, x), m)`, of which it makes no vectors.
        """
        name, text = f"%s{len(self.allocas)}", llvm_type(type_)
        call = f"call {text} @llvm.arithmetic.fence.{function_suffix(type_)}({text} {number})"
        found = next((line for line in self.allocas if line.endswith(call)), None)
        if found is not None:
            return found.split()[0]
        self.allocas.append(f"  {name} = {call}")
        return name

    # Memory

    def buffer(self, value: SSAValue) -> _Buffer:
        found = self._buffers.get(value)
        if found is None:
            found = self._buffers[value] = _buffer_of(memref_of(value))
        return found

    def offset(self, indices: Sequence[str], strides: Sequence[int]) -> str:
        """The element offset of `indices`: constants are folded, zeros left out."""
        known, total = 0, ""
        for index, stride in zip(indices, strides, strict=True):
            if index.isdigit():
                known += int(index) * stride
                continue
            if stride == 0:
                continue
            term = index if stride == 1 else self.line(f"mul nuw nsw i64 {index}, {stride}")
            total = term if not total else self.line(f"add nuw nsw i64 {total}, {term}")
        if not total:
            return str(known)
        return total if not known else self.line(f"add nuw nsw i64 {total}, {known}")

    def address(self, value: SSAValue, indices: Sequence[SSAValue]) -> str:
        """A pointer to the element of buffer `value` at `indices`."""
        base, buffer = self.names[value], self.buffer(value)
        names = [self.names[i] for i in indices]
        if not names:
            return base
        if buffer.gep is not None:
            walk = ", ".join(f"i64 {n}" for n in names)
            return self.line(f"getelementptr inbounds nuw {buffer.gep}, ptr {base}, {walk}")
        offset = self.offset(names, buffer.strides)
        return self.line(f"getelementptr inbounds nuw {buffer.element}, ptr {base}, i64 {offset}")

    def loaded(self, source: SSAValue, indices: Sequence[SSAValue], type_: str) -> str:
        """The name of what is loaded from a buffer: of one that does not change, of the same place once."""
        text = f"load {type_}, ptr {self.address(source, indices)}, align {self.buffer(source).align}"
        changes = self._changing is None or source in self._changing
        return self.new_line(text) if changes else self.line(text)

    def loaded_at_once(self, op: Operation) -> str | None:
        """Neighbours in memory as one load; None if they are none, or of a buffer that changes."""
        loads = [x.owner for x in op.operands if isinstance(x.owner, memref.LoadOp)]
        first = loads[0] if len(loads) == len(op.operands) else None
        if first is None or any(load.memref is not first.memref for load in loads):
            return None
        if self._changing is None or first.memref in self._changing:
            return None
        if not all(self._is_next(*pair) for pair in pairwise(loads)):
            return None
        align = self.buffer(first.memref).align
        return self.line(f"load i32, ptr {self.address(first.memref, first.indices)}, align {align}")

    def _is_next(self, load: memref.LoadOp, other: memref.LoadOp) -> bool:
        """Whether a load is of the place behind that of another one, of the same buffer."""
        pairs = list(zip(load.indices, other.indices, strict=True))
        apart = [axis for axis, (first, second) in enumerate(pairs) if first is not second]
        if len(apart) != 1 or self.buffer(load.memref).strides[apart[0]] != 1:
            return False
        first, second = (self._from(index) for index in pairs[apart[0]])
        return first[0] == second[0] and second[1] == first[1] + 1

    def _from(self, index: SSAValue) -> tuple[str, int]:
        """What an index is a constant more than, and that constant."""
        name, owner = self.names[index], index.owner
        if name.isdigit():
            return "", int(name)
        if isinstance(owner, arith.AddiOp) and (more := constant_index(owner.rhs)) is not None:
            return self.names[owner.lhs], more
        return name, 0

    def load(self, op: Operation) -> None:
        source, *indices = op.operands
        buffer = self.buffer(source)
        loaded = self.loaded(source, indices, buffer.element)
        self.names[op.results[0]] = self.line(f"icmp ne i8 {loaded}, 0") if buffer.is_bool else loaded

    def store(self, op: Operation) -> None:
        value, target, *indices = op.operands
        buffer, text = self.buffer(target), self.names[value]
        if buffer.is_bool:
            text = self.line(f"zext i1 {text} to i8")
        self.written.add(target)
        self.emit(f"store {buffer.element} {text}, ptr {self.address(target, indices)}, align {buffer.align}")

    def prefetch(self, op: Operation) -> None:
        buffer, *indices = op.operands
        access, level, data = (1, 3, 1) if "write" in op.properties else (0, 2, 1)
        address = self.address(buffer, indices)
        self.emit(f"call void @llvm.prefetch.p0(ptr {address}, i32 {access}, i32 {level}, i32 {data})")

    def alloca(self, op: Operation) -> None:
        result = op.results[0]
        type = memref_of(result)
        size = byte_size(type)
        if size > SMALL_BYTES and self._on_stack + size > STACK_BYTES:
            self.names[result] = f"%h{len(self.heap)}"
            self.heap.append(size)
            return
        self._on_stack += size
        name, count = f"%s{len(self.allocas)}", size // element_bytes(type.element_type)
        self.allocas.append(f"  {name} = alloca [{count} x {_memory_type(type.element_type)}], align 64")
        self.names[result] = name

    def constant(self, op: Operation) -> None:
        assert isinstance(op, arith.ConstantOp)
        self.names[op.result] = literal(op.value)

    def get_global(self, op: Operation) -> None:
        assert isinstance(op, memref.GetGlobalOp)
        self.names[op.memref] = f"@table_{op.name_.root_reference.data}"

    def same_bits(self, op: Operation) -> None:
        """An integer seen as signed, signless or unsigned."""
        self.names[op.results[0]] = self.names[op.operands[0]]

    def ret(self, op: Operation) -> None:
        if not op.operands:
            self.emit("ret void")
            return
        value = op.operands[0]
        self.emit(f"ret {llvm_type(value.type)} {self.names[value]}")

    # Control flow

    def check(self, op: Operation) -> None:
        """Go on, or report the first thing that is wrong and leave the kernel."""
        assert isinstance(op, CheckOp)
        value, limit = self.names[op.value], self.names[op.limit]
        name = self.message(op.message.data)
        low, high = self.line(f"icmp sge i64 {value}, 0"), self.line(f"icmp sle i64 {value}, {limit}")
        wrong, right = self.fresh("wrong"), self.fresh("right")
        self.emit(f"br i1 {self.line(f'and i1 {low}, {high}')}, label %{right}, label %{wrong}")
        self.start(wrong)
        self.emit(f"call void @report_check(ptr %status, ptr @{name}, i64 {value})")
        self.emit("ret void")
        self.start(right)

    def poll(self, op: Operation) -> None:
        assert isinstance(op, PollOp)
        self.polls = True
        count, limit = self.names[op.count], op.limit.value.data
        self.names[op.result] = self.line(f"call i1 @goes_on(ptr %status, i64 {count}, i64 {limit})")

    def message(self, text: str) -> str:
        """The constant that holds the text of a check."""
        return self.messages.setdefault(text, f"message_{self._digest(text)}")

    def _digest(self, text: str) -> str:
        return hashlib.sha256(f"{self.function}\n{text}".encode()).hexdigest()[:16]

    def phi(self, type: Attribute, incoming: Sequence[tuple[str, str]]) -> str:
        pairs = ", ".join(f"[ {value}, %{label} ]" for value, label in incoming)
        return f"phi {llvm_type(type)} {pairs}"

    def loop(self, op: Operation) -> None:
        """
        A rotated loop: guard, then body with the test at its end, so that LLVM need not rotate it. The guard is left
        out when the bounds are constants.
        """
        assert isinstance(op, scf.ForOp)
        if (lanes := self.lanes_of(op)) is not None:
            self.vectors(lanes)
            return
        if is_written_out(op, self.lanes_of):
            self.written_out(op)
            return
        if is_apart(op):
            self.apart(op)
        else:
            self.blocks_of(op)

    def apart(self, loop: scf.ForOp) -> None:
        """Call a function that is the loop: equal loops are one."""
        # known arguments stay parameters: loops that differ in them alone are equal
        outside = ChainMap({x: self.arguments[x] for x in self.known}, self.names)
        given, part = Given(outside, loop), LlvmBody(self.function, loop)
        part.names, part.parts, part.nonnegative = given, self.parts, self.nonnegative
        part.blocks_of(loop)
        for buffer in given.own:
            assert isinstance(buffer.owner, memref.AllocaOp)
            part.alloca(buffer.owner)
        self.written |= part.written
        start = f"({given.parameters(part.written)}) {FUNCTION} {{"
        text = "\n".join([start, "entry:", *part.allocas, *part.lines, "  ret void", "}\n"])
        name = name_of_part(text)
        self.parts[name] = f"define void @{name}{text}"
        self.emit(f"call void @{name}({given.arguments()})")

    def blocks_of(self, op: scf.ForOp) -> None:
        """The blocks of a loop that stays one."""
        lb, ub, step = (self.names[x] for x in op.operands[:3])
        inits = [self.names[x] for x in op.iter_args]
        low, high = (self.known.get(x, constant_index(x)) for x in (op.lb, op.ub))
        known = low is not None and high is not None
        if low is not None and high is not None and low >= high:
            self.names.update(zip(op.results, inits, strict=True))
            return
        before, body, done = self.label, self.fresh("loop"), self.fresh("done")
        if known:
            self.emit(f"br label %{body}")
        else:
            self.emit(f"br i1 {self.line(f'icmp slt i64 {lb}, {ub}')}, label %{body}, label %{done}")
        with self.branched():
            self.start(body)
            block = op.body.block
            counts_up = (low is not None and low >= 0) or op.lb in self.nonnegative
            if counts_up:
                self.nonnegative.add(block.args[0])
            phis = [self.new_line("") for _ in block.args]
            first = len(self.lines) - len(phis)
            self.names.update(zip(block.args, phis, strict=True))
            self._call_lanes = lanes = call_lanes(op, self.known)
            self.block(block)
            self._call_lanes = None
            assert block.last_op is not None
            yielded = [self.names[x] for x in block.last_op.operands]
            if lanes is not None and (flags := guard_flags(op)):
                # calls look at their arguments themselves
                yielded[-flags:] = inits[-flags:]
            latch = self.label
            following = self.line(f"add {'nuw ' if counts_up else ''}nsw i64 {phis[0]}, {step}")
            incoming = zip([lb, *inits], [following, *yielded], strict=True)
            for i, (arg, (start, again)) in enumerate(zip(block.args, incoming, strict=True)):
                text = self.phi(arg.type, [(start, before), (again, latch)])
                self.lines[first + i] = f"  {phis[i]} = {text}"
            again = self.line(f"icmp slt i64 {following}, {ub}")
            found = metadata_of(op, self.known) if lanes is None else CALLS[lanes]
            hint = "" if found is None else f", !llvm.loop !{METADATA.index(found)}"
            self.emit(f"br i1 {again}, label %{body}, label %{done}{hint}")
        self.start(done)
        for result, init, last in zip(op.results, inits, yielded, strict=True):
            edges = [(last, latch)] if known else [(init, before), (last, latch)]
            self.names[result] = self.new_line(self.phi(result.type, edges))

    def lanes_of(self, loop: scf.ForOp) -> LaneLoop | None:
        """What is known of a loop of lanes, which a loop around it that is written out comes to many times."""
        if loop not in self._lanes:
            self._lanes[loop] = LaneLoop.of(loop)
        return self._lanes[loop]

    def vectors(self, lanes: LaneLoop) -> None:
        """A loop over neighbours in memory: what differs from lane to lane is a vector, all else is computed once."""
        block = lanes.loop.body.block
        for first, length in lanes.vectors():
            self.names[block.args[0]] = str(first)
            vector = Vector(lanes, length, self.names, self.line)
            for role, op, value, buffer, operands, text in lanes.steps(length):
                if role is Role.LOAD:
                    self.names[value] = self.loaded(buffer, operands, text)
                elif role is Role.STORE:
                    number, align = vector.number(value), self.buffer(buffer).align
                    self.written.add(buffer)
                    self.emit(f"store {text} {number}, ptr {self.address(buffer, operands)}, align {align}")
                elif role is Role.ARITHMETIC:
                    self.names[value] = self.line(text.format(*map(vector.number, operands)))
                elif role is Role.SEVERAL:
                    numbers = [vector.number(x) for x in operands]
                    self.names[value] = self.line(VECTORS[type(op)](length, numbers, self.line))
                else:
                    self.operation(op)

    def written_out(self, op: scf.ForOp) -> None:
        """The iterations of a loop one after the other."""
        first, step, trips = constant_index(op.lb), constant_index(op.step), trip_count(op)
        assert first is not None and step is not None and trips is not None
        block, carried = op.body.block, [self.names[x] for x in op.iter_args]
        for place in range(first, first + trips * step, step):
            self.names.update(zip(block.args, [str(place), *carried], strict=True))
            self.block(block)
            assert block.last_op is not None
            carried = [self.names[x] for x in block.last_op.operands]
        self.names.update(zip(op.results, carried, strict=True))

    def branch(self, op: Operation) -> None:
        assert isinstance(op, scf.IfOp)
        then, other, done = self.fresh("then"), self.fresh("else"), self.fresh("endif")
        before, has_else = self.label, bool(op.false_region.blocks)
        self.emit(f"br i1 {self.names[op.cond]}, label %{then}, label %{other if has_else else done}")
        edges: list[tuple[list[str], str]] = []
        for label, region in ((then, op.true_region), (other, op.false_region)):
            if not region.blocks:
                edges.append(([], before))
                continue
            self.start(label)
            with self.branched():
                self.block(region.block)
            last = region.block.last_op
            values = [self.names[x] for x in last.operands] if isinstance(last, scf.YieldOp) else []
            edges.append((values, self.label))
            self.emit(f"br label %{done}")
        self.start(done)
        for i, result in enumerate(op.results):
            self.names[result] = self.new_line(self.phi(result.type, [(values[i], label) for values, label in edges]))

    def while_loop(self, op: Operation) -> None:
        assert isinstance(op, scf.WhileOp)
        head, body, done = self.fresh("while"), self.fresh("do"), self.fresh("done")
        before = self.label
        self.emit(f"br label %{head}")
        with self.branched():
            self.start(head)
            test, after = op.before_region.block, op.after_region.block
            phis = [self.new_line("") for _ in test.args]
            first = len(self.lines) - len(phis)
            self.names.update(zip(test.args, phis, strict=True))
            self.block(test)
            condition = test.last_op
            assert isinstance(condition, scf.ConditionOp)
            passed = [self.names[x] for x in condition.operands[1:]]
            self.emit(f"br i1 {self.names[condition.operands[0]]}, label %{body}, label %{done}")
            self.start(body)
            self.names.update(zip(after.args, passed, strict=True))
            self.block(after)
            assert after.last_op is not None
            again = [self.names[x] for x in after.last_op.operands]
            for i, (arg, init) in enumerate(zip(test.args, op.operands, strict=True)):
                text = self.phi(arg.type, [(self.names[init], before), (again[i], self.label)])
                self.lines[first + i] = f"  {phis[i]} = {text}"
            self.emit(f"br label %{head}")
        self.start(done)
        self.names.update(zip(op.results, passed, strict=True))

    # Libraries

    def gemm(self, op: Operation) -> None:
        """
        `C[r0:r1, c0:c1] (+)= A[r0:r1, k0:k1] B[k0:k1, c0:c1]` by a column-major BLAS, which sees the transposes:
        `C^T = B^T A^T`. Integers go by pointer, through one scratch area per call.
        """
        assert isinstance(op, GemmOp)
        check_library(op)
        r0, r1, c0, c1 = (self.names[x] for x in (op.row_lo, op.row_hi, op.col_lo, op.col_hi))
        a, b = Operand.of(op.a.type), Operand.of(op.b.type)
        c_row = row_leading_dimension(op.c.type)
        k0, k1 = (
            ("0", str(a.cols))
            if op.inner_lo is None or op.inner_hi is None
            else (self.names[op.inner_lo], self.names[op.inner_hi])
        )
        a_at = self.matrix(op.a, op.a_indices, (r0, k0))
        b_at = self.matrix(op.b, op.b_indices, (k0, c0))
        c_at = self.matrix(op.c, op.c_indices, (r0, c0))
        self.written.add(op.c)
        rows, cols = self.extent(r0, r1), self.extent(c0, c1)
        ints = [cols, rows, self.extent(k0, k1), str(leading_dimension(b)), str(leading_dimension(a)), str(c_row)]
        letters = [x.transposed for x in (b, a)]
        self.blas_gemm(a.element, letters, ints, (b_at, a_at, c_at), op.accumulate is not None)

    def block_gemm(self, op: Operation) -> None:
        """The same of blocks, by the addresses of their first elements."""
        assert isinstance(op, BlockGemmOp)
        sides = [(op.b, op.b_indices), (op.a, op.a_indices), (op.c, op.c_indices)]
        at = [self.matrix(value, list(indices[:-2]), [self.names[i] for i in indices[-2:]]) for value, indices in sides]
        self.written.add(op.c)
        lines = [str(leading_dimension(Operand.of(value.type))) for value, _ in sides]
        ints = [*(self.extent("0", self.names[x]) for x in (op.cols, op.rows, op.depth)), *lines]
        letters = [x is not None for x in (op.transpose_b, op.transpose_a)]
        element = Operand.of(op.a.type).element
        self.blas_gemm(element, letters, ints, (at[0], at[1], at[2]), op.accumulate is not None)

    def blas_gemm(
        self,
        element: Attribute,
        transposed: Sequence[bool],
        sizes: Sequence[str],
        at: tuple[str, str, str],
        accumulate: bool,
    ) -> None:
        """The call: flags of the two factors, the sizes m, n, k and leading dimensions, the three addresses."""
        suffix = "f32" if isinstance(element, Float32Type) else "f64"
        m, n, k, ldb, lda, ldc = self.integers(sizes)
        tb, ta = (f"@blas_{'t' if flag else 'n'}" for flag in transposed)
        one, beta = f"@blas_one_{suffix}", f"@blas_{'one' if accumulate else 'zero'}_{suffix}"
        pointers = [tb, ta, m, n, k, one, at[0], ldb, at[1], lda, beta, at[2], ldc]
        self.call_library("sgemm" if suffix == "f32" else "dgemm", pointers)

    def lapack(self, op: Operation) -> None:
        assert isinstance(op, LapackOp)
        self.written.update(buffers_written_by(op))
        llvm_lapack(op, self)

    def fourier(self, op: Operation) -> None:
        """Call the functions of the library one after the other."""
        assert isinstance(op, FftOp)
        self.written.update(buffers_written_by(op))
        plan = self.plan(op.plan)
        for call in fourier_calls(op):
            pointers = [self.line(f"getelementptr inbounds i64, ptr {plan}, i64 {call.word}")]
            for buffer in call.buffers:
                pointers.append(
                    self.matrix(buffer, [op.piece], ("0", "0")) if buffer in op.workspace else self.names[buffer]
                )
            pointers += [] if call.frames is None else llvm_frames(op, call.frames, self)
            self.call_callee(call.function, pointers, ("0", str(call.iterations)))

    def call(self, op: Operation) -> None:
        """Call a function of the library that is compiled once per machine."""
        assert isinstance(op, CallFunctionOp)
        self.written.update(op.writes)
        pointers = [self.plan(op.plan), *(self.address(*place) for place in op.places)]
        self.call_callee(called_function(op).name, pointers, (self.names[op.low], self.names[op.high]))

    def plan(self, words: list[int]) -> str:
        """The constant that holds the words that functions of the library read."""
        name = f"plan_{self._digest(repr(words))}"
        self.words[name] = words
        return f"@{name}"

    def call_callee(self, function: str, pointers: Sequence[str], numbers: tuple[str, str]) -> None:
        """Call a function with addresses and two numbers."""
        self.called[function] = len(pointers)
        arguments = [*(f"ptr {x}" for x in pointers), *(f"i64 {x}" for x in numbers)]
        self.emit(f"call void {library_symbol(function)}({', '.join(arguments)})")

    def call_library(self, function: str, pointers: Sequence[str]) -> None:
        """Call a function of the table of BLAS and LAPACK functions."""
        entry = self.line(f"getelementptr inbounds ptr, ptr %blas, i64 {BLAS_FUNCTIONS.index(function)}")
        callee = self.new_line(f"load ptr, ptr {entry}, align 8")
        self.emit(f"call void {callee}({', '.join(f'ptr {p}' for p in pointers)})")

    def debug_print(self, op: Operation) -> None:
        """Call the function behind those of the libraries with a description, and the addresses of buffers."""
        assert isinstance(op, DebugPrintOp)
        self.written.update(buffers_written_by(op))
        types = [(DTYPE_NAMES[type_.element_type], type_.get_shape()) for type_ in op.shown]
        text = describe(op.text.data, op.batch.value.data, op.when is not None, types)
        name = self.texts.setdefault(text, f"text_{self._digest(text)}")
        buffers = [self.names[x] for x in op.operands[1:]]
        table = f"%s{len(self.allocas)}"
        self.allocas.append(f"  {table} = alloca [{max(len(buffers), 1)} x ptr], align 8")
        for number, buffer in enumerate(buffers):
            place = self.line(f"getelementptr inbounds ptr, ptr {table}, i64 {number}")
            self.emit(f"store ptr {buffer}, ptr {place}, align 8")
        entry = self.line(f"getelementptr inbounds ptr, ptr %blas, i64 {len(BLAS_FUNCTIONS)}")
        callee = self.new_line(f"load ptr, ptr {entry}, align 8")
        self.emit(f"call void {callee}(ptr @{name}, ptr {table})")

    def network(self, op: Operation) -> None:
        """Call the engine that connects the processes; it gives 0, or what the message of a failed check says."""
        self.written.update(buffers_written_by(op))
        entry, arguments = engine_call(op, self.names)
        engine, function = (
            self.new_line(f"load ptr, ptr {self.line(f'getelementptr inbounds ptr, ptr %blas, i64 {n}')}, align 8")
            for n in (ENGINE, entry)
        )
        failed = self.new_line(f"call i64 {function}(ptr {engine}, {arguments}, ptr %status)")
        message = self.message(f"{op.name} over all processes failed: expected 0 from the engine")
        wrong, right = self.fresh("wrong"), self.fresh("right")
        self.emit(f"br i1 {self.new_line(f'icmp eq i64 {failed}, 0')}, label %{right}, label %{wrong}")
        self.start(wrong)
        self.emit(f"call void @report_check(ptr %status, ptr @{message}, i64 {failed})")
        self.emit("ret void")
        self.start(right)

    def extent(self, low: str, high: str) -> str:
        if low.isdigit() and high.isdigit():
            return str(int(high) - int(low))
        return self.line(f"trunc i64 {self.line(f'sub nsw i64 {high}, {low}')} to i32")

    def size(self, value: SSAValue) -> str:
        return self.extent("0", self.names[value])

    def integers(self, values: Sequence[str]) -> list[str]:
        """Addresses of 32-bit integers of these values, in one scratch area."""
        scratch = f"%s{len(self.allocas)}"
        self.allocas.append(f"  {scratch} = alloca [{len(values)} x i32], align 64")
        places: list[str] = []
        for number, value in enumerate(values):
            place = self.line(f"getelementptr inbounds [{len(values)} x i32], ptr {scratch}, i64 0, i64 {number}")
            self.emit(f"store i32 {value}, ptr {place}, align 4")
            places.append(place)
        return places

    def matrix(self, value: SSAValue, leading: Sequence[SSAValue], at: Sequence[str]) -> str:
        """The address of element `at` of the matrix (or vector) that the `leading` indices choose."""
        buffer = self.buffer(value)
        offset = self.offset([*(self.names[i] for i in leading), *at], buffer.strides)
        if offset == "0":
            return self.names[value]
        return self.line(f"getelementptr inbounds {buffer.element}, ptr {self.names[value]}, i64 {offset}")


_EMITTERS: dict[type[Operation], Callable[[LlvmBody, Operation], None]] = {
    arith.ConstantOp: LlvmBody.constant,
    memref.LoadOp: LlvmBody.load,
    memref.StoreOp: LlvmBody.store,
    memref.AllocaOp: LlvmBody.alloca,
    memref.GetGlobalOp: LlvmBody.get_global,
    UnrealizedConversionCastOp: LlvmBody.same_bits,
    scf.ForOp: LlvmBody.loop,
    scf.IfOp: LlvmBody.branch,
    scf.WhileOp: LlvmBody.while_loop,
    GemmOp: LlvmBody.gemm,
    BlockGemmOp: LlvmBody.block_gemm,
    **dict.fromkeys(LAPACK_OPS, LlvmBody.lapack),
    FftOp: LlvmBody.fourier,
    CallFunctionOp: LlvmBody.call,
    CheckOp: LlvmBody.check,
    PollOp: LlvmBody.poll,
    DebugPrintOp: LlvmBody.debug_print,
    **dict.fromkeys(NETWORK_OPS, LlvmBody.network),
    PrefetchOp: LlvmBody.prefetch,
    ReturnOp: LlvmBody.ret,
    func.ReturnOp: LlvmBody.ret,
}
