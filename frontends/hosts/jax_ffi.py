"""Compiled programs as targets of XLA's foreign function interface: a handler for each, without a C compiler."""

# Objects of jax, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import numpy as np

from xdsl_rlx.dialects.errors import NanError
from xdsl_rlx.forks import at_fork
from xdsl_rlx.lowering.backend.driver.dtypes import dtype_of
from xdsl_rlx.lowering.backend.driver.layout import FfiApi, FfiBuffer, FfiFrame
from xdsl_rlx.lowering.backend.driver.process import Words, address, driver, pool, words
from xdsl_rlx.lowering.backend.machine import llvm
from xdsl_rlx.lowering.backend.runtime.binding import report_check
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph, plan_of

Array = np.ndarray[Any, Any]

_making = threading.RLock()
at_fork.hold(_making)

_WORDS = ctypes.c_int64
_Report = ctypes.CFUNCTYPE(_WORDS, _WORDS, _WORDS, _WORDS)
_Check = ctypes.CFUNCTYPE(_WORDS, _WORDS)

INVALID_ARGUMENT, OUT_OF_RANGE, INTERNAL = 3, 11, 13
"""Codes of XLA's errors."""


@dataclass(frozen=True)
class Target:
    """A program that XLA calls by name; it is never unloaded, as XLA keeps what is registered."""

    name: str
    compiled: CompiledGraph
    table: Words
    keep: tuple[Any, ...]


_targets: dict[str, Target] = {}


def target(compiled: CompiledGraph, held: Mapping[str, Array], nans: bool) -> Target:
    """
    Return the target of a program, registered at the first call. `nans` has each call look for NaN in the results.

    The name has the program's cache key and a hash of the arrays that it captures: an executable from XLA's compilation
    cache finds the same program in another process.
    """
    name = _name(compiled, held, nans)
    with _making:
        if name not in _targets:
            _targets[name] = _registered(name, compiled, nans)
        return _targets[name]


def _name(compiled: CompiledGraph, held: Mapping[str, Array], nans: bool) -> str:
    parts = [compiled.key or ""]
    if held:
        digest = hashlib.sha256()
        for name in compiled.params:
            digest.update(np.ascontiguousarray(held[name]).reshape(-1).view(np.uint8).data)
        parts.append(digest.hexdigest()[:32])
    return "_".join(["xdsl_rlx", *parts, *(["nans"] if nans else [])])


def _registered(name: str, compiled: CompiledGraph, nans: bool) -> Target:
    plan = plan_of(compiled)
    if plan.parallel:
        pool().ensure_workers(plan.workers)
    check = _Check(_nan_check(compiled)) if nans else None
    pointers = [_pointer(one) if one else 0 for one in (_report(), check)]
    table = words([plan.address, *pointers])
    entry = _entry(address(table))
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(entry["rlx_entry"]), platform="cpu")
    return Target(name, compiled, table, (check, entry))


def _pointer(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _entry(table: int) -> llvm.LoadedObject:
    """The handler of one program: the driver's, behind the address of its table."""
    text = f"""define i64 @rlx_entry(i64 %frame) nounwind {{
  %handler = inttoptr i64 {driver().ffi} to ptr
  %error = tail call i64 %handler(i64 {table}, i64 %frame)
  ret i64 %error
}}"""
    return llvm.load_object(llvm.compile_llvm(text, effort=llvm.Effort.QUICK), ("rlx_entry",))


class _ErrorArguments(ctypes.Structure):
    """`XLA_FFI_Error_Create_Args`."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("message", ctypes.c_char_p),
        ("code", ctypes.c_int),
    ]


def _word(place: int) -> int:
    return _WORDS.from_address(place).value


def _error(frame: int, code: int, message: str) -> int:
    """An error of XLA's, which owns it."""
    create = ctypes.CFUNCTYPE(_WORDS, ctypes.POINTER(_ErrorArguments))(
        _word(_word(frame + FfiFrame.API) + FfiApi.CREATE_ERROR)
    )
    size = _ErrorArguments.code.offset + ctypes.sizeof(ctypes.c_int)
    return create(_ErrorArguments(size, None, message.encode(), code))


@cache
def _report() -> Any:
    def report(frame: int, message: int, value: int) -> int:
        return _raised(frame, lambda: report_check(message, value))

    return _Report(report)


def _raised(frame: int, call: Callable[[], object]) -> int:
    """0, or XLA's error for what a function raises."""
    try:
        call()
    except IndexError as error:
        return _error(frame, OUT_OF_RANGE, f"{type(error).__name__}: {error}")
    except ValueError as error:
        return _error(frame, INVALID_ARGUMENT, f"{type(error).__name__}: {error}")
    except BaseException as error:
        return _error(frame, INTERNAL, f"{type(error).__name__}: {error}")
    return 0


def _nan_check(compiled: CompiledGraph) -> Callable[[int], int]:
    """A function of a call's frame: an error that names the op that made the first NaN of a result, or 0."""
    from xdsl_rlx.nan_search import check, has_nan

    program = compiled.program

    def find(frame: int) -> None:
        results = _arrays(_word(frame + FfiFrame.RESULTS), program.outputs)
        given = _arrays(_word(frame + FfiFrame.ARGUMENTS), program.inputs)
        updated = [array for spec, array in zip(program.inputs, given, strict=True) if spec.name in program.updated]
        if not any(has_nan(one) for one in (*results, *updated)):
            return
        if not updated:
            check(compiled, compiled.copies(given, {}))
        raise NanError(f"a result of '{program.name}' has NaN")

    return lambda frame: _raised(frame, lambda: find(frame))


def _arrays(buffers: int, specs: Any) -> list[Array]:
    """XLA's buffers as arrays, without a copy."""
    found: list[Array] = []
    for n, spec in enumerate(specs):
        dtype = dtype_of(spec.dtype)
        array = np.empty(spec.shape, dtype)
        if array.nbytes:
            data = _word(_word(buffers + 8 * n) + FfiBuffer.DATA)
            memory = np.ctypeslib.as_array((ctypes.c_uint8 * array.nbytes).from_address(data))
            array = memory.view(dtype).reshape(spec.shape)
        found.append(array)
    return found
