"""The library's machine code in this process: from the cache, else compiled, once per machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from xdsl_rlx.lowering import cache as disk_cache
from xdsl_rlx.lowering.numba.driver.process import making
from xdsl_rlx.lowering.numba.machine import llvm, objects
from xdsl_rlx.lowering.numba.machine.llvm import LIBRARY
from xdsl_rlx.lowering.numba.machine.model import cost_model, model_key

_addresses: dict[str, int] = {}


def addresses_of(symbols: Sequence[str]) -> list[int]:
    """The addresses of functions of the library, never unloaded. Those not in the cache are compiled together."""
    with making:
        missing = [x for x in dict.fromkeys(symbols) if x not in _addresses and not _load_from_cache(x)]
        if missing:
            # not imported where the code is in the cache
            from xdsl_rlx.lowering.numba.emit.llvm_module import by_effort, library_llvm

            for effort, names in by_effort(symbol.removeprefix(LIBRARY) for symbol in missing).items():
                code = llvm.compile_llvm(library_llvm(names, cost_model()), effort=effort)
                for name in names:
                    disk_cache.store(_key(f"{LIBRARY}{name}"), code)
                _add(code)
        return [_addresses[symbol] for symbol in symbols]


def _key(symbol: str) -> str:
    return hashlib.sha256(f"{symbol} {llvm.environment_key()} {model_key()}".encode()).hexdigest()


def _load_from_cache(symbol: str) -> bool:
    return symbol in _addresses or disk_cache.load_as(_key(symbol), _add) is not None


def _add(code: bytes) -> list[str]:
    """Load machine code, and note the functions that are not there already."""
    symbols = [name for name in objects.defined_symbols(code) if name.startswith(LIBRARY)]
    loaded = llvm.load_object(code, symbols)
    loaded.keep_forever()
    for symbol in symbols:
        _addresses.setdefault(symbol, loaded[symbol])
    return symbols
