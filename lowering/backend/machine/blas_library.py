"""Addresses of BLAS and LAPACK functions for generated code: MKL when it is installed, else the OpenBLAS of SciPy.
Nothing is loaded before `provider()` is called."""

import ctypes
import importlib
import importlib.metadata
import importlib.util
import os
from collections.abc import Generator
from contextlib import contextmanager
from ctypes import CDLL
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from xdsl_rlx.dialects.lir.lapack import LAPACK_OPS
from xdsl_rlx.lowering.run_errors import ConfigurationError, RlxError

_PACKAGES = {"gemm": "blas", **{op.ROUTINE.name: op.ROUTINE.package for op in LAPACK_OPS}}

FUNCTIONS = tuple(f"{letter}{name}" for name in _PACKAGES for letter in "sd")
"""The functions of the table `bases[0]`, in order: Fortran calling convention, 32-bit integers, all by reference."""


def library_of(name: str) -> str:
    """Return whether SciPy exports a function with those of BLAS or of LAPACK."""
    return _PACKAGES[name[1:]]


@dataclass(frozen=True)
class Blas:
    """One loaded library."""

    name: str
    addresses: tuple[int, ...]
    """In the order of `FUNCTIONS`."""
    get_threads: int
    """Address of `int (*)(void)`, or 0 when the library never starts threads."""
    set_threads: int
    """Address of `void (*)(int)`, or 0."""
    path: Path | None = None
    """Its file, where that and what it needs beside it may be copied."""


@cache
def provider() -> Blas:
    """
    The library that `XDSL_RLX_BLAS` names ("mkl" or "openblas"); by default MKL when its wheel is installed.

    Raises `ConfigurationError` for another name, or for "mkl" when it is not installed.
    """
    wanted = os.environ.get("XDSL_RLX_BLAS", "")
    if wanted not in ("", "mkl", "openblas"):
        raise ConfigurationError(f"XDSL_RLX_BLAS must be mkl or openblas, got {wanted!r}")
    if wanted != "openblas" and (path := _mkl_path()) is not None:
        return _mkl(path)
    if wanted == "mkl":
        raise ConfigurationError("XDSL_RLX_BLAS is mkl, but the mkl package is not installed")
    return _bundled_openblas() or _cython_blas()


def _address(handle: CDLL, name: str) -> int:
    try:
        return ctypes.cast(handle[name], ctypes.c_void_p).value or 0
    except AttributeError:
        return 0


def _mkl_path() -> Path | None:
    try:
        files = importlib.metadata.files("mkl") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    names = ("libmkl_rt.so", "libmkl_rt.so.2", "libmkl_rt.so.3", "libmkl_rt.2.dylib", "mkl_rt.2.dll")
    return next((Path(str(file.locate())).resolve() for file in files if file.name in names), None)


def _mkl(path: Path) -> Blas:
    handle = CDLL(str(path))
    interface_lp64, threading_sequential = 0, 1
    handle.MKL_Set_Interface_Layer(interface_lp64)
    handle.MKL_Set_Threading_Layer(threading_sequential)
    return Blas("mkl", tuple(_address(handle, name + "_") for name in FUNCTIONS), 0, 0)


_SPIN, _SPIN_TICKS = "OPENBLAS_THREAD_TIMEOUT", "21"
"""What OpenBLAS reads when it is loaded: the power of two of clock ticks that its threads look for work before they
sleep, here about a millisecond. With its 26 they would hold up the launches behind the one that they took part in."""


@contextmanager
def _threads_sleep_early() -> Generator[None]:
    """For a library of OpenBLAS that is loaded in the block, unless the environment says something else."""
    if _SPIN in os.environ:
        yield
        return
    os.environ[_SPIN] = _SPIN_TICKS
    try:
        yield
    finally:
        del os.environ[_SPIN]


def _bundled_openblas() -> Blas | None:
    # the same file that scipy.linalg would load, without the 0.1 s that importing scipy.linalg takes
    spec = importlib.util.find_spec("scipy")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    places = (folder.parent / "scipy.libs", folder / ".dylibs")
    for path in sorted(path for place in places for path in place.glob("libscipy_openblas-*")):
        with _threads_sleep_early():
            handle = CDLL(str(path))
        addresses = tuple(_address(handle, f"scipy_{name}_") for name in FUNCTIONS)
        if all(addresses):
            get, set_ = (_address(handle, f"scipy_openblas_{verb}_num_threads") for verb in ("get", "set"))
            return Blas("openblas", addresses, get, set_, path)
    return None


def with_needed(library: Path) -> tuple[Path, ...]:
    """Return a library, and the files beside it that it or those need: who needs a file has its name as text."""
    found, texts = [library], [library.read_bytes()]
    for text in texts:
        for other in sorted(library.parent.iterdir()):
            if other not in found and other.name.encode() + b"\0" in text:
                found.append(other)
                texts.append(other.read_bytes())
    return tuple(found)


def _cython_blas() -> Blas:
    # a SciPy that was not installed as a wheel may use any BLAS: its thread count is then left alone
    try:
        modules: dict[str, Any] = {x: importlib.import_module(f"scipy.linalg.cython_{x}") for x in ("blas", "lapack")}
    except ImportError as error:
        raise RlxError("this program needs BLAS: install scipy or mkl") from error
    get_name, get_pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    addresses = list[int]()
    for name in FUNCTIONS:
        capsule = modules[library_of(name)].__pyx_capi__[name]
        addresses.append(get_pointer(capsule, get_name(capsule)))
    return Blas("scipy", tuple(addresses), 0, 0)
