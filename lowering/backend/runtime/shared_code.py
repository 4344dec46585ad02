"""The library's machine code in this process: of the installation, of the cache, else compiled, once per machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from xdsl_rlx.lowering import cache as disk_cache
from xdsl_rlx.lowering.backend.driver.process import making
from xdsl_rlx.lowering.backend.machine import llvm, objects
from xdsl_rlx.lowering.backend.machine.llvm import LIBRARY
from xdsl_rlx.lowering.backend.machine.model import cost_model, model_key

_addresses: dict[str, int] = {}


def addresses_of(symbols: Sequence[str]) -> list[int]:
    """The addresses of functions of the library, never unloaded. Those that are nowhere are compiled together."""
    with making:
        _add(_found(_missing(symbols)))
        if missing := _missing(symbols):
            # not imported where the code is in the cache
            from xdsl_rlx.lowering.backend.llvm.llvm_module import by_effort, library_llvm

            for effort, names in by_effort(symbol.removeprefix(LIBRARY) for symbol in missing).items():
                code = llvm.compile_llvm(library_llvm(names, cost_model()), effort=effort)
                for name in names:
                    disk_cache.store(function_key(name), code)
                _add([code])
        return [_addresses[symbol] for symbol in symbols]


def function_key(name: str) -> str:
    """The key of the machine code of a function, for this processor."""
    return hashlib.sha256(f"{LIBRARY}{name} {llvm.environment_key()} {model_key()}".encode()).hexdigest()


def _missing(symbols: Iterable[str]) -> list[str]:
    return [symbol for symbol in dict.fromkeys(symbols) if symbol not in _addresses]


def _found(symbols: Iterable[str]) -> list[bytes]:
    """The machine code of the functions that have some on disk, each once."""

    def checked(code: bytes) -> bytes:
        objects.defined_symbols(code)
        return code

    found = [disk_cache.load_as(function_key(symbol.removeprefix(LIBRARY)), checked) for symbol in symbols]
    return [*dict.fromkeys(code for code in found if code)]


def _add(codes: Iterable[bytes]) -> None:
    """Load machine code together, and note the functions that are not there already."""
    together: dict[str, bytes] = {}
    for code in codes:
        symbols = [name for name in objects.defined_symbols(code) if name.startswith(LIBRARY)]
        # entries that were compiled at different times may have a function twice
        if not together.keys().isdisjoint(symbols):
            _load(together)
            together = {}
        together |= dict.fromkeys(symbols, code)
    if together:
        _load(together)


def _load(codes: dict[str, bytes]) -> None:
    loaded = llvm.load_object(objects.join([*dict.fromkeys(codes.values())]), codes)
    loaded.keep_forever()
    for symbol in codes:
        _addresses.setdefault(symbol, loaded[symbol])
