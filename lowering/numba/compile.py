"""LLVM text to object code to addresses, through the LLVM that Numba brings; the only file that touches llvmlite.
No caching here (see `cache.py`) and no running (see `driver.py`)."""

import ctypes
import importlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from xdsl_rlx.lowering.errors import CompileError
from xdsl_rlx.lowering.numba import cpu

# llvmlite has no type stubs
llvm: Any = importlib.import_module("llvmlite.binding")

_SYMBOL = struct.Struct("<IBBHQQ")
_engines: list[Any] = []


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


def processor() -> str:
    """The first part of the target triple, such as x86_64."""
    return llvm.get_process_triple().split("-")[0]


def compile_llvm(text: str) -> bytes:
    """
    Object code of a module for the `target`: verified, O3 with the loop and SLP vectorisers.

    Going through Numba's code library instead costs a third more, since it optimises twice to prune reference counts.
    Raises `CompileError` when the text is rejected or needs a function that this process does not have.
    """
    return emit_object(text)[0]


def emit_object(text: str, assembly: bool = False) -> tuple[bytes, str]:
    """As `compile_llvm`, with the assembly text beside the code when asked for."""
    machine = _target_machine(target())
    try:
        # closed here: the garbage collector could finalize its context first
        with llvm.parse_assembly(text, llvm.create_context()) as module:
            module.triple = llvm.get_process_triple()
            module.data_layout = str(machine.target_data)
            module.verify()
            _optimize(module, machine)
            listing = machine.emit_assembly(module) if assembly else ""
            code = machine.emit_object(module)
    except RuntimeError as error:
        raise CompileError(f"llvm rejected the generated code: {error}") from error
    missing = [name for name in undefined_symbols(code) if not _in_process(name)]
    if missing:
        # the linker would end the process, so this must be found before
        raise CompileError(f"the generated code calls {', '.join(missing)}, which this process does not have")
    return code, listing


def _optimize(module: Any, machine: Any) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


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
    """Link object code into this process; raises `CompileError` when it lacks a name."""
    defined = set(_symbols(code, defined=True))
    names = tuple(names)
    if missing := [name for name in names if name not in defined]:
        raise CompileError(f"the object code does not define {', '.join(missing)}")
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly("", _context_of_engines()), _target_machine(host()))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return LoadedObject({name: engine.get_function_address(name) for name in names}, engine)


@cache
def _context_of_engines() -> Any:
    # never disposed of: when the garbage collector finds an engine in a cycle, it finalizes what the engine holds in
    # any order, and an engine whose context is gone ends the process
    return llvm.create_context()


def undefined_symbols(code: bytes) -> Sequence[str]:
    """Names that an object needs from elsewhere."""
    return _symbols(code, defined=False)


def _in_process(name: str) -> bool:
    return llvm.address_of_symbol(name) is not None or hasattr(ctypes.CDLL(None), name)


def _target_machine(processor: tuple[str, str]) -> Any:
    name, features = processor
    family = llvm.Target.from_default_triple()
    # static relocation and the large code model are what MCJIT, and so Numba, runs safely at any address
    reloc = "static" if family.name.startswith("x86") else "default"
    return family.create_target_machine(
        cpu=name, features=features, opt=3, reloc=reloc, codemodel="jitdefault", jit=True
    )


def _symbols(code: bytes, defined: bool) -> list[str]:
    sections: dict[bytes, bytes] = {
        section.name(): section.data() for section in llvm.ObjectFileRef.from_data(code).sections()
    }
    names = sections.get(b".strtab", b"")
    found = list[str]()
    for name, _, _, section, _, _ in _SYMBOL.iter_unpack(sections.get(b".symtab", b"")):
        if name and bool(section) is defined:
            found.append(names[name : names.index(b"\0", name)].decode())
    return found
