"""Compile LLVM IR to object code and load it, through llvmlite. `cpu.py` and `numba/numba_llvm.py` use llvmlite too.
No caching here (see `cache.py`) and no running (see `process.py`)."""

import ctypes
import hashlib
import importlib
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any, Self, TypeVar

from xdsl_rlx.lowering.backend.machine import cpu, objects
from xdsl_rlx.lowering.backend.machine.workers import ForkGuard, Jobs
from xdsl_rlx.lowering.cache import versions_key
from xdsl_rlx.lowering.run_errors import CompileError, ConfigurationError

# llvmlite has no type stubs
llvm: Any = importlib.import_module("llvmlite.binding")

T = TypeVar("T")
_engines: list[Any] = []


LIBRARY = "rlx.callee."
"""What symbols of the library begin with, in object code."""


ONLY_LOOPS = "rlx.only_loops"
"""Named metadata of a module whose blocks hold nothing for the SLP vectoriser, which takes a tenth of the time, more of
what reads with strides."""


class Effort(IntEnum):
    """How hard LLVM tries: the level of its code generator, and which passes come before."""

    QUICK = 0
    """A tenth of the time to compile, no pass but the code generator: for tests that compare values."""
    DIRECT = 2
    """
    Variables without memory, and the full code generator, in half of the time: for loops of vectors, unrolled, and for
    the driver.
    """
    FULL = 3
    """`LEVEL` with the loop and SLP vectorisers: what users run."""


LEVEL = 1
"""The pipeline's. What levels 2 and 3 have more takes a tenth of its time and finds nothing in such loops."""


@cache
def host() -> tuple[str, str]:
    """Name and feature string of this machine's CPU, as Numba would choose them."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:
        features = ""
    return llvm.get_host_cpu_name(), features


def target() -> tuple[str, str]:
    """
    Name and feature string of the CPU that code is compiled for: that of `XDSL_RLX_CPU`, by default this machine's.

    Raises `ConfigurationError` for one that LLVM does not know or that this machine cannot run.
    """
    return cpu.choose(host())


@dataclass(frozen=True)
class CodeTarget:
    """What object code for a library is compiled for."""

    triple: str
    cpu: tuple[str, str]
    """Name and feature string."""

    @property
    def processor(self) -> str:
        """The first part of the triple, such as x86_64."""
        return self.triple.split("-")[0]


def native_target() -> CodeTarget:
    """That of programs of this process. Raises `ConfigurationError` as `target` does."""
    return CodeTarget(llvm.get_process_triple(), target())


def named_target(name: str) -> CodeTarget:
    """That of a processor as `cpu.named` knows it. Raises `ConfigurationError` for another."""
    found = cpu.named(name, host())
    own = llvm.get_process_triple()
    wanted = cpu.ARM if name == cpu.ARM else "x86_64" if name != cpu.NATIVE else own.split("-")[0]
    return CodeTarget(own if own.startswith(wanted) else f"{wanted}-unknown-linux-gnu", found)


def environment_key() -> str:
    """
    Digest of all that object code depends on besides its source: CPU, library versions, and this package's own text.

    Raises `ConfigurationError` as `target` does.
    """
    return hashlib.sha256(repr((target(), versions_key())).encode()).hexdigest()


def processor() -> str:
    """The first part of the target triple, such as x86_64."""
    return llvm.get_process_triple().split("-")[0]


def compile_llvm(*texts: str, effort: Effort = Effort.FULL) -> bytes:
    """
    Object code of modules for the `target`: verified, optimised as `effort` says.

    Several modules, of which one may call what another defines, are compiled on all cores; the bytes do not depend on
    how many there are. Going through Numba's code library instead costs a third more, since it optimises twice to prune
    reference counts. Raises `CompileError` when a text is rejected or needs a function that this process does not have.
    """
    with Compilation(effort) as compilation:
        for text in texts:
            compilation.add(text)
        return compilation.code()


class Compilation:
    """As `compile_llvm`, of modules that come one by one: other cores compile while the next one is made."""

    def __init__(self, effort: Effort = Effort.FULL, told: Callable[[int, int], None] | None = None) -> None:
        """`told` how many modules are done, of how many there are so far."""
        # threads would find LLVM without targets
        host()
        self._jobs = Jobs[str, bytes](lambda text: emit_object(text, effort), told=told)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._jobs.__exit__(*error)

    def add(self, text: str) -> None:
        """One more module."""
        self._jobs.add(text)

    def code(self) -> bytes:
        """The object code of all modules. Raises `CompileError` as `compile_llvm` does."""
        code = objects.join(self._jobs.results())
        _check_needs(code)
        return code


def emit_object(text: str, effort: Effort = Effort.FULL) -> bytes:
    """As `compile_llvm`, of one module, which may need others. Raises `CompileError` when the text is rejected."""
    return _emitted(text, effort, _emit)


def emit_assembly(text: str, effort: Effort = Effort.FULL) -> str:
    """The assembly listing of what `emit_object` gives. Raises `CompileError` when the text is rejected."""
    return _emitted(text, effort, _emit_assembly)


def _emitted(text: str, effort: Effort, emit: Callable[[Any, Any], T]) -> T:
    """What `emit` makes of a module and a target machine, after verification and optimisation."""
    processor = target()
    _check_dots(text, processor)
    with _machines.one(processor, effort) as machine:
        return _emitted_by(machine, text, effort, emit)


def _check_dots(text: str, processor: tuple[str, str]) -> None:
    if (lacking := cpu.lacking_dots(text, processor)) is not None:
        raise ConfigurationError(
            f"the program is lowered for a processor with {lacking}, which {processor[0]} lacks: lower it again"
        )


def _emitted_by(machine: Any, text: str, effort: Effort, emit: Callable[[Any, Any], T], triple: str | None = None) -> T:
    try:
        # closed here: the garbage collector could finalize its context first
        with llvm.parse_assembly(text, llvm.create_context()) as module:
            module.triple = triple or llvm.get_process_triple()
            module.data_layout = str(machine.target_data)
            module.verify()
            optimize(module, machine, effort, lines=f"!{ONLY_LOOPS} =" not in text)
            return emit(module, machine)
    except RuntimeError as error:
        raise CompileError(f"llvm rejected the generated code: {error}") from error


def optimize(module: Any, machine: Any, effort: Effort = Effort.FULL, lines: bool = True) -> None:
    """
    Run LLVM's pipeline on a module, in place, while other threads may compile; at `Effort.QUICK` there is none.

    Without `lines`, vectors are made of loops only.
    """
    if effort is Effort.QUICK:
        return
    builder = llvm.create_pass_builder(machine, _tuning(effort, lines))
    if effort is Effort.DIRECT:
        passes = llvm.create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        # without these, the loop over terms takes 6 % longer
        passes.add_instruction_combine_pass()
        passes.add_loop_strength_reduce_pass()
    else:
        passes = builder.getModulePassManager()
    _run_passes(passes, module, builder)


def rotate_loops(text: str) -> str:
    """
    A module whose loops are tested at their ends, as those of `emit_llvm` are.

    Where they are tested in front, the block that jumps back may hold nothing else. The pipeline folds such blocks
    into others, and what is said of a loop is forgotten, or said of the loop around it.
    """
    machine = _target_machine(target())
    with llvm.parse_assembly(text, llvm.create_context()) as module:
        passes = llvm.create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        # not all variables of large functions are values after the first time
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        passes.add_loop_rotate_pass()
        _run_passes(passes, module, llvm.create_pass_builder(machine, _tuning(Effort.FULL)))
        return str(module)


def _tuning(effort: Effort, lines: bool = True) -> Any:
    options = llvm.create_pipeline_tuning_options(speed_level=LEVEL)
    options.loop_vectorization = effort is Effort.FULL
    options.slp_vectorization = effort is Effort.FULL and lines
    # lir-mark-unrolled decides: without this LLVM writes out loops of its own choice, and what these hold again
    options.loop_unrolling = False
    return options


def _numba_lock() -> AbstractContextManager[object] | None:
    """What Numba holds while it compiles."""
    lock = sys.modules.get("numba.core.compiler_lock")
    return lock and lock.global_compiler_lock


# Numba's before llvmlite's, as Numba takes them
_guard = ForkGuard(_numba_lock, lambda: llvm.ffi.lib._lock)


@cache
def _library() -> ctypes.CDLL:
    """
    The library behind llvmlite, without the one lock that llvmlite takes around every call.

    LLVM's own rule is that threads must not share a context, nor a target machine: those of `emit_object` are its own.
    """
    library = ctypes.CDLL(llvm.ffi.lib._name)
    pointer = ctypes.c_void_p
    library.LLVMPY_RunNewModulePassManager.restype = None
    library.LLVMPY_RunNewModulePassManager.argtypes = [pointer, pointer, pointer]
    library.LLVMPY_TargetMachineEmitToMemory.restype = pointer
    library.LLVMPY_TargetMachineEmitToMemory.argtypes = [pointer, pointer, ctypes.c_int, pointer]
    library.LLVMPY_GetBufferStart.restype = pointer
    library.LLVMPY_GetBufferStart.argtypes = [pointer]
    library.LLVMPY_GetBufferSize.restype = ctypes.c_size_t
    library.LLVMPY_GetBufferSize.argtypes = [pointer]
    library.LLVMPY_DisposeMemoryBuffer.restype = None
    library.LLVMPY_DisposeMemoryBuffer.argtypes = [pointer]
    return library


class _StrengthReduction:
    """
    LLVM's loop strength reduction, which takes a third of the code generator's time, and finds nothing for x86.

    Kernels index each buffer by the loop's number, which an address holds. Benchmark: all families of breadth.py, whose
    times stay the same. The option is one of the process: while kernels are emitted, what Numba emits lacks it too.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0

    @contextmanager
    def left_out(self) -> Generator[None]:
        """A region in which no function has it; inside of one of `_guard`, so that no fork cuts it in two."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        with self._lock:
            before, self._inside = self._inside, self._inside + more
            if bool(before) != bool(self._inside):
                llvm.set_option("", f"-disable-lsr={'true' if self._inside else 'false'}")


_strength_reduction = _StrengthReduction()


def _run_passes(passes: Any, module: Any, builder: Any) -> None:
    """As `passes.run(module, builder)`, while other threads compile."""
    with _guard.inside():
        _library().LLVMPY_RunNewModulePassManager(*map(_pointer, (passes, module, builder)))


def _emit(module: Any, machine: Any) -> bytes:
    """As `machine.emit_object(module)`, while other threads compile."""
    library, to_object = _library(), 1
    with _guard.inside(), _strength_reduction.left_out(), llvm.ffi.OutputString() as error:
        buffer = library.LLVMPY_TargetMachineEmitToMemory(
            _pointer(machine), _pointer(module), to_object, ctypes.cast(error._as_parameter_, ctypes.c_void_p)
        )
        if not buffer:
            raise RuntimeError(str(error))
        try:
            return ctypes.string_at(library.LLVMPY_GetBufferStart(buffer), library.LLVMPY_GetBufferSize(buffer))
        finally:
            library.LLVMPY_DisposeMemoryBuffer(buffer)


def _emit_assembly(module: Any, machine: Any) -> str:
    with _guard.inside(), _strength_reduction.left_out():
        return machine.emit_assembly(module)


def _pointer(reference: Any) -> ctypes.c_void_p:
    return ctypes.cast(reference._as_parameter_, ctypes.c_void_p)


def shared_object(text: str, wanted: CodeTarget, effort: Effort = Effort.FULL) -> bytes:
    """
    Object code of one module, for a shared library that may lie anywhere.

    Raises `CompileError` when the text is rejected, and `ConfigurationError` if it needs another processor.
    """
    host()
    _check_dots(text, wanted.cpu)
    if wanted.processor != processor():
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    name, features = wanted.cpu
    machine = llvm.Target.from_triple(wanted.triple).create_target_machine(
        cpu=name, features=features, opt=effort, reloc="pic", codemodel="small"
    )
    return _emitted_by(machine, text, effort, _emit, wanted.triple)


@dataclass(frozen=True)
class LoadedObject:
    """Addresses of the functions of one loaded object; the machine code lives as long as this."""

    addresses: dict[str, int]
    engine: Any

    def __getitem__(self, name: str) -> int:
        return self.addresses[name]

    def keep_forever(self) -> None:
        """Never unload: for code that threads or the interpreter may still enter when modules are torn down."""
        _engines.append(self.engine)


def load_object(code: bytes, names: Iterable[str]) -> LoadedObject:
    """Link object code into this process; raises `CompileError` when it is none, or lacks a name."""
    defined = set(objects.defined_symbols(code))
    names = tuple(names)
    if missing := [name for name in names if name not in defined]:
        raise CompileError(f"the object code does not define {', '.join(missing)}")
    _check_needs(code)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly("", _context_of_engines()), _loading_machine())
    for one in objects.split(code):
        engine.add_object_file(llvm.ObjectFileRef.from_data(one))
    engine.finalize_object()
    return LoadedObject({name: engine.get_function_address(name) for name in names}, engine)


def _loading_machine() -> Any:
    """
    The target machine of an engine, which owns it.

    An engine runs the code generator over its own module, which is empty: with all passes and the features of a
    processor that takes 1 ms longer than without.
    """
    return _machine_of("", "", 0)


@cache
def _context_of_engines() -> Any:
    # never disposed of: when the garbage collector finds an engine in a cycle, it finalizes what the engine holds in
    # any order, and an engine whose context is gone ends the process
    return llvm.create_context()


def _check_needs(code: bytes) -> None:
    needed = dict.fromkeys(objects.undefined_symbols(code)).keys() - set(objects.defined_symbols(code))
    _find_library(sorted(name for name in needed if name.startswith(LIBRARY)))
    if missing := sorted(name for name in needed if not _in_process(name)):
        # the linker would end the process, so this must be found before
        raise CompileError(f"the generated code calls {', '.join(missing)}, which this process does not have")


_providers: list[Callable[[Sequence[str]], Sequence[int]]] = []


def provide_library(addresses_of: Callable[[Sequence[str]], Sequence[int]]) -> None:
    """Have a function give the addresses of functions of the library when code that calls them is first loaded."""
    _providers[:] = [addresses_of]


def _find_library(names: Sequence[str]) -> None:
    """Have functions of the library where the linker finds them."""
    names = [name for name in names if llvm.address_of_symbol(name) is None]
    for provider in _providers if names else ():
        for name, address in zip(names, provider(names), strict=True):
            llvm.add_symbol(name, address)


def _in_process(name: str) -> bool:
    return llvm.address_of_symbol(name) is not None or hasattr(ctypes.CDLL(None), name)


class _Machines:
    """Target machines that no thread uses: the first function that one emits takes 1 ms longer, for its tables."""

    def __init__(self) -> None:
        self._free: dict[tuple[tuple[str, str], Effort], list[Any]] = {}

    @contextmanager
    def one(self, processor: tuple[str, str], effort: Effort) -> Generator[Any]:
        """A machine that is no other thread's until the end."""
        free = self._free.setdefault((processor, effort), [])
        try:
            # one step for other threads
            machine = free.pop()
        except IndexError:
            machine = _target_machine(processor, effort)
        yield machine
        # one that failed is left to the collector
        free.append(machine)


_machines = _Machines()


def _target_machine(processor: tuple[str, str], effort: Effort = Effort.FULL) -> Any:
    return _machine_of(*processor, effort)


def _machine_of(cpu: str, features: str, opt: int) -> Any:
    family = llvm.Target.from_default_triple()
    # static relocation and the large code model are what MCJIT, and so Numba, runs safely at any address
    reloc = "static" if family.name.startswith("x86") else "default"
    return family.create_target_machine(
        cpu=cpu, features=features, opt=opt, reloc=reloc, codemodel="jitdefault", jit=True
    )
