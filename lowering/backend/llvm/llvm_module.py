"""LLVM IR text of the kernels of a lir module; scalar ops are the rows of scalar_texts.py, the rest in `llvm_body.py`.
Optimising and running that text is llvm.py's business."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.ir import Block

from xdsl_rlx.dialects.lir import KernelOp, LaunchOp
from xdsl_rlx.dialects.lir.kernel import LANES, UNROLL
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.lowering.backend.driver.layout import CACHE_LINE, TOO_LONG, CallBlock, passed
from xdsl_rlx.lowering.backend.llvm.llvm_apart import FUNCTION, buffer_parameter, declaration, library_symbol
from xdsl_rlx.lowering.backend.llvm.llvm_body import LlvmBody
from xdsl_rlx.lowering.backend.llvm.llvm_calls import called_functions, is_version, version_text, versions_in
from xdsl_rlx.lowering.backend.llvm.llvm_tiles import register_block_text
from xdsl_rlx.lowering.backend.llvm.loop_hints import METADATA
from xdsl_rlx.lowering.backend.llvm.scalar_types import double, llvm_type
from xdsl_rlx.lowering.backend.machine.llvm import ONLY_LOOPS, Effort
from xdsl_rlx.lowering.backend.machine.model import cost_model
from xdsl_rlx.lowering.backend.math import mathlib
from xdsl_rlx.lowering.kernel_library.calls import function_of
from xdsl_rlx.lowering.kernel_library.functions import is_unrolled, library_kernel
from xdsl_rlx.lowering.kernel_library.tile_registers import RegisterBlockFunction
from xdsl_rlx.lowering.kernel_pass import launches_of
from xdsl_rlx.lowering.target import CostModel

_MATH_CALL = re.compile(r"@rlx_(\w+)\(")
_LIBRARY_CALL = re.compile(rf"call void {re.escape(library_symbol(''))}(\w+)\(")
_TABLE_USE = re.compile(r"@table_(\w+)")
_BLAS_SCALARS = {
    **{f"blas_{letter.lower()}": f"i8 {ord(letter)}" for letter in "LNRSTUV"},
    **{f"blas_zero_{s}": f"{t} 0.0" for s, t in (("f32", "float"), ("f64", "double"))},
    **{f"blas_one_{s}": f"{t} 1.0" for s, t in (("f32", "float"), ("f64", "double"))},
}
_PLAIN_NAME = re.compile(r"[A-Za-z_.$][\w.$]*")


_PART_CHARACTERS = 8_000
"""What a module holds at least when there are several: 12 to 40 ms of LLVM, beside 4 for the module."""


_LOOPS = "\n".join(f"!{number} = distinct !{{!{number}, {text}}}" for number, text in enumerate(METADATA))
"""One node per hint, under its number: loops that have the same share it."""


def emit_llvm(source: ModuleOp | Iterable[KernelOp]) -> str:
    """
    LLVM IR of the kernels in `source`, with the functions of mathlib and of the library that they call.

    Each kernel is exported as `void @name(ptr bases, ptr args, i64 lo, i64 hi)` where `args` holds a pair (base number,
    byte offset) per buffer and base 0 is the table of BLAS functions. The two words in front of `bases` are for the
    first check that fails: the address of its message, and the value. Raises `PassFailedException` for an op that has
    no row.
    """
    return _module(itertools.starmap(_kernel, _kernels(source)), defined=True)


def emit_llvm_parts(source: ModuleOp | Iterable[KernelOp]) -> Iterator[str]:
    """
    The same kernels as `emit_llvm`, in modules that can be compiled at the same time: each as soon as it is full.

    Functions of the library are declared: `library_llvm` gives their texts, by the names of `library_calls`.

    What is in them depends on the texts alone, so that the code does not depend on the machine's cores. A part is
    defined in the first module that calls it.
    """
    module, elsewhere = list[_KernelText](), set[str]()
    for kernel, extent in _kernels(source):
        module.append(_kernel(kernel, extent))
        if sum(text.length(elsewhere) for text in module) >= _PART_CHARACTERS:
            yield _module(module, elsewhere)
            elsewhere.update(*(text.parts for text in module))
            module.clear()
    if module:
        yield _module(module, elsewhere)


def _kernels(source: ModuleOp | Iterable[KernelOp]) -> Iterator[tuple[KernelOp, int | None]]:
    """The kernels of a module, with the iterations that every launch of a kernel runs in one chunk, if they agree."""
    launches: dict[str, list[LaunchOp]] | None = None
    for op in source.walk() if isinstance(source, ModuleOp) else source:
        if isinstance(op, KernelOp):
            if launches is None:
                module = op.parent_op()
                launches = launches_of(module) if isinstance(module, ModuleOp) else {}
            yield op, _extent(launches.get(op.sym_name.data, ()))


def _extent(launches: Sequence[LaunchOp]) -> int | None:
    extents = {launch.extent.value.data for launch in launches}
    return extents.pop() if len(extents) == 1 and all(launch.chunk_count <= 1 for launch in launches) else None


@dataclass(frozen=True)
class _KernelText:
    """The functions of a kernel, and those that it may share with others, by name."""

    own: str
    parts: Mapping[str, str]
    called: Mapping[str, int]
    """The functions of the library that it calls, and how many buffers these take."""
    has_lines: bool = True
    """Whether a block may hold the same of several elements."""

    def length(self, elsewhere: Container[str]) -> int:
        """Characters of all functions but those that are defined elsewhere."""
        return len(self.own) + sum(len(text) for name, text in self.parts.items() if name not in elsewhere)


def _module(kernels: Iterable[_KernelText], elsewhere: Container[str] = (), defined: bool = False) -> str:
    """
    A module of kernels and of the parts that they share, but for those that are defined elsewhere.

    Functions of the library are `defined` in it, or declared.
    """
    kernels = [*kernels]
    library = {name: count for kernel in kernels for name, count in kernel.called.items()}
    if defined:
        kernels = [*(_library_function(name, cost_model(), internal=True) for name in library), *kernels]
    parts = {name: text for kernel in kernels for name, text in kernel.parts.items()}
    functions = [declaration(text) if name in elsewhere else text for name, text in parts.items()]
    if not defined:
        functions += [_library_declaration(name, count) for name, count in library.items()]
    text = "\n".join([*functions, *(kernel.own for kernel in kernels)])
    report = [_REPORT] if "@report_check(" in text else []
    poll = [_POLL] if "@goes_on(" in text else []
    heap = [_HEAP] if "@aligned_alloc(" in text else []
    text = "\n".join([text, *called_functions(text, defined)])
    loops = [] if any(kernel.has_lines for kernel in kernels) else [f"!{ONLY_LOOPS} = !{{}}"]
    return "\n".join([text, *_library(text), *report, *poll, *heap, _LOOPS, *loops])


def by_effort(names: Iterable[str]) -> dict[Effort, list[str]]:
    """Functions of the library by how hard LLVM has to try."""
    found: dict[Effort, list[str]] = {}
    for name in names:
        found.setdefault(Effort.DIRECT if is_unrolled(name) else Effort.FULL, []).append(name)
    return found


def library_llvm(names: Iterable[str], model: CostModel) -> str:
    """The module of functions of the library, for a processor: `void f(buffers .., i64 lo, i64 hi)`."""
    return _module([_library_function(name, model) for name in names])


def library_calls(text: str) -> list[str]:
    """The functions of the library that the text of a module calls."""
    return [*dict.fromkeys([*_LIBRARY_CALL.findall(text), *versions_in(text)])]


@cache
def _library_function(name: str, model: CostModel, internal: bool = False) -> _KernelText:
    if is_version(name):
        return _KernelText(version_text(name), {}, {})
    head = f"define {'internal ' if internal else ''}void {library_symbol(name)}"
    if isinstance(function := function_of(name), RegisterBlockFunction):
        return _KernelText(register_block_text(function, head), {}, {})
    kernel = library_kernel(name, model)
    *buffers, low, high = kernel.body.block.args
    body = LlvmBody(name, kernel)
    body.names = {arg: f"%a{i}" for i, arg in enumerate(buffers)}
    body.arguments = {low: "%lo", high: "%hi"}
    body.names |= body.arguments
    body.nonnegative.add(low)
    body.block(kernel.body.block)
    parameters = [buffer_parameter(arg, f"%a{i}", arg in body.written) for i, arg in enumerate(buffers)]
    signature = ", ".join([*parameters, "i64 %lo, i64 %hi"])
    lines = [
        f"{head}({signature}) {FUNCTION} {{",
        *("entry:", *body.allocas, *body.lines, "}\n"),
    ]
    # another object may have equal ones
    parts = {part: text.replace("define void", "define internal void", 1) for part, text in body.parts.items()}
    return _KernelText("\n".join(lines), parts, {})


def _library_declaration(name: str, buffers: int) -> str:
    return f"declare void {library_symbol(name)}({', '.join([*['ptr'] * buffers, 'i64, i64'])}) nounwind\n"


_HEAP = """declare noalias ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
"""


_REPORT = f"""define internal void @report_check(ptr %status, ptr %message, i64 %value)
  cold noinline optnone nounwind {{
  %word = ptrtoint ptr %message to i64
  %pair = cmpxchg ptr %status, i64 0, i64 %word seq_cst seq_cst
  %first = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %first, label %report, label %done
report:
  %place = getelementptr i8, ptr %status, i64 {CallBlock.STATUS_VALUE - CallBlock.STATUS}
  store i64 %value, ptr %place, align 8
  br label %done
done:
  ret void
}}
"""


_POLL = f"""define internal i1 @goes_on(ptr %status, i64 %count, i64 %limit) alwaysinline nounwind {{
entry:
  %word = load atomic i64, ptr %status monotonic, align 8
  %free = icmp eq i64 %word, 0
  %over = icmp sgt i64 %count, %limit
  br i1 %over, label %long, label %done
long:
  %place = getelementptr i8, ptr %status, i64 {CallBlock.BRIEF - CallBlock.STATUS}
  %word2 = load i64, ptr %place, align 8
  %brief = icmp ne i64 %word2, 0
  br i1 %brief, label %end, label %done
end:
  %pair = cmpxchg ptr %status, i64 0, i64 {TOO_LONG} seq_cst seq_cst
  br label %done
done:
  %found = phi i1 [ %free, %entry ], [ %free, %long ], [ false, %end ]
  ret i1 %found
}}
"""


def _message(text: str, name: str) -> str:
    data = text.encode()
    escaped = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
    return f'@{name} = private unnamed_addr constant [{len(data) + 1} x i8] c"{escaped}\\00"\n'


def _words(name: str, words: Sequence[int]) -> str:
    listed = ", ".join(f"i64 {word}" for word in words)
    return f"@{name} = private unnamed_addr constant [{len(words)} x i64] [{listed}], align 64\n"


def _library(text: str) -> list[str]:
    """The mathlib functions, tables and BLAS scalars that `text` uses, and what those use."""
    names = list(dict.fromkeys(_MATH_CALL.findall(text)))
    functions: list[str] = []
    for name in names:
        functions.append(_math_function(name))
        names.extend(n for n in dict.fromkeys(_MATH_CALL.findall(functions[-1])) if n not in names)
    everything = "\n".join([text, *functions])
    tables = [_table(name) for name in dict.fromkeys(_TABLE_USE.findall(everything))]
    scalars = [f"@{name} = private constant {value}\n" for name, value in _BLAS_SCALARS.items() if f"@{name}," in text]
    return tables + scalars + functions


@cache
def _table(name: str) -> str:
    values = mathlib.TABLES[name]
    words = ", ".join(f"double {double(v)}" for v in values)
    return f"@table_{name} = private unnamed_addr constant [{len(values)} x double] [{words}], align 64\n"


@cache
def _math_function(name: str) -> str:
    function = mathlib.function(name)
    body = LlvmBody()
    for i, arg in enumerate(function.args):
        body.names[arg] = f"%x{i}"
    body.block(function.body.block)
    args = ", ".join(f"{llvm_type(arg.type)} %x{i}" for i, arg in enumerate(function.args))
    result = llvm_type(function.function_type.outputs.data[0])
    text = "\n".join(body.lines)
    return f"define internal {result} @rlx_{name}({args}) alwaysinline nounwind memory(none) {{\n{text}\n}}\n"


def _symbol(name: str) -> str:
    return f"@{name}" if _PLAIN_NAME.fullmatch(name) else f'@"{name}"'


@dataclass(frozen=True)
class _Heap:
    """Lines around the call of a body that has scratch buffers which are too large for the stack."""

    before: Sequence[str] = ()
    behind: Sequence[str] = ()


def _heap(body: LlvmBody) -> _Heap:
    if not body.heap:
        return _Heap()
    *starts, size = itertools.accumulate((-(-n // CACHE_LINE) * CACHE_LINE for n in body.heap), initial=0)
    message = body.message(f"{body.function}: expected {size} bytes of memory for scratch")
    before = [
        f"  %status = getelementptr i8, ptr %bases, i64 {CallBlock.STATUS - CallBlock.BASES}",
        f"  %heap = call ptr @aligned_alloc(i64 {CACHE_LINE}, i64 {size})",
        "  %none = icmp eq ptr %heap, null",
        "  br i1 %none, label %failed, label %got",
        "failed:",
        f"  call void @report_check(ptr %status, ptr @{message}, i64 0)",
        "  ret void",
        "got:",
        *(f"  %h{n} = getelementptr i8, ptr %heap, i64 {start}" for n, start in enumerate(starts)),
    ]
    return _Heap(before, ["  call void @free(ptr %heap)"])


def _adds(kernel: KernelOp) -> bool:
    """Whether a loop carries a floating-point number: LLVM would choose the order of a sum by the extent."""
    loops = (op for op in ops_within(kernel) if type(op) is scf.ForOp)
    return any(isinstance(x.type, AnyFloat) for loop in loops for x in loop.iter_args)


def _has_lines(kernel: KernelOp) -> bool:
    """Whether a block may hold the same of several elements: one of a loop that is written out, or several stores."""
    stores = Counter[Block | None]()
    for op in ops_within(kernel):
        if isinstance(op, memref.StoreOp):
            stores[op.parent_block()] += 1
        elif UNROLL in op.attributes or LANES in op.attributes:
            return True
    return any(count > 1 for count in stores.values())


def _has_elements(kernel: KernelOp) -> bool:
    """Whether a kernel itself reads or writes elements, beside what it calls functions for."""
    return any(isinstance(op, memref.LoadOp | memref.StoreOp) for op in ops_within(kernel))


def _kernel(kernel: KernelOp, extent: int | None = None) -> _KernelText:
    """
    The exported function, whose pointers to buffers are known not to alias; where these are many, or memory is to be
    allocated, functions around it.

    In front of it are the messages of the kernel's checks. With an `extent`, the iterations are constants: LLVM makes
    no loops for the remainder of unknown lengths, which takes half of its time and half of the code.
    """
    args = kernel.body.block.args
    buffers = args[:-2]
    body = LlvmBody(kernel.sym_name.data, kernel)
    for i, arg in enumerate(buffers):
        body.names[arg] = f"%a{i}"
    body.arguments = {args[-2]: "%lo", args[-1]: "%hi"}
    body.known = {} if extent is None or _adds(kernel) else {args[-2]: 0, args[-1]: extent}
    body.names |= body.arguments | {arg: str(number) for arg, number in body.known.items()}
    body.nonnegative.add(args[-2])
    body.block(kernel.body.block)
    parameters = [buffer_parameter(arg, f"%a{i}", arg in body.written) for i, arg in enumerate(buffers)]
    parameters += [f"ptr noalias align {CACHE_LINE} %h{n}" for n in range(len(body.heap))]
    bases = "ptr %bases" if body.messages or body.polls else "ptr noalias readonly %bases"
    outer = _around(body, bases, len(buffers))
    # addresses of what is given to the library: the passes would take longer than all else of a transform's first call
    own_effort = " optnone" if body.called and not _has_elements(kernel) else ""
    head = f"internal void {_inner(body.function)}" if outer else f"void {_symbol(body.function)}"
    # noinline: once inlined, the no-alias facts would live on in metadata that the vectoriser loses more easily.
    lines = [
        f"define {head}({', '.join([bases, *parameters])}, i64 %lo, i64 %hi) {FUNCTION}{own_effort} {{",
        "entry:",
        *_found_by(body),
        *body.allocas,
        *body.lines,
        "}\n",
    ]
    constants = [*(_message(*named) for named in (*body.messages.items(), *body.texts.items()))]
    constants += [_words(*named) for named in body.words.items()]
    return _KernelText("\n".join([*constants, *outer, *lines]), body.parts, body.called, _has_lines(kernel))


def _inner(name: str) -> str:
    return _symbol(f"{name}.body")


def _found_by(body: LlvmBody) -> Iterator[str]:
    """What a kernel reads in the words of a call."""
    if any("%blas" in line for line in body.lines):
        yield "  %blas = load ptr, ptr %bases, align 8"
    if body.messages or body.polls:
        yield f"  %status = getelementptr i8, ptr %bases, i64 {CallBlock.STATUS - CallBlock.BASES}"


def _around(body: LlvmBody, bases: str, buffers: int) -> list[str]:
    """The exported function of a kernel whose buffers are too many to be passed, or that has memory allocated."""
    finds = not passed(buffers)
    if not finds and not body.heap:
        return []
    names = ["ptr %args"] if finds else [f"ptr %a{i}" for i in range(buffers)]
    # nothing is to be gained in it, and a hundred passes over a function take half a millisecond
    attributes = "mustprogress noinline nounwind optnone"
    lines = [f"define void {_symbol(body.function)}({', '.join([bases, *names])}, i64 %lo, i64 %hi) {attributes} {{"]
    if finds:
        lines += itertools.chain.from_iterable(map(_found_in_row, range(buffers)))
    heap = _heap(body)
    given = [*(f"ptr %a{i}" for i in range(buffers)), *(f"ptr %h{n}" for n in range(len(body.heap)))]
    call = f"  call void {_inner(body.function)}({', '.join(['ptr %bases', *given])}, i64 %lo, i64 %hi)"
    return [*lines, *heap.before, call, *heap.behind, "  ret void", "}"]


def _found_in_row(i: int) -> list[str]:
    return [
        f"  %n{i} = getelementptr inbounds i64, ptr %args, i64 {2 * i}",
        f"  %b{i} = load i64, ptr %n{i}, align 8",
        f"  %m{i} = getelementptr inbounds i64, ptr %args, i64 {2 * i + 1}",
        f"  %o{i} = load i64, ptr %m{i}, align 8",
        f"  %p{i} = getelementptr inbounds ptr, ptr %bases, i64 %b{i}",
        f"  %q{i} = load ptr, ptr %p{i}, align 8",
        f"  %a{i} = getelementptr i8, ptr %q{i}, i64 %o{i}",
    ]
