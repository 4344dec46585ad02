"""The part of a printed module that runs kernels, and calls libraries: a printed module has the cells that it uses.

`helpers.py` reads this text; only tests import it. How Numba compiles kernels is in `machinery.py`.
"""

# numba has no type stubs
# pyright: basic, reportAttributeAccessIssue=false, reportPrivateImportUsage=false

import ctypes
import os
import sys
import threading
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import scipy
from llvmlite import ir
from numba import cfunc, get_num_threads, njit, prange, types
from numba.core import cgutils, config
from numba.core.typing import signature
from numba.extending import get_cython_function_address

from xdsl_rlx.lowering.backend.numba.machinery import Lean, lowered, typed

THREADS = 2
"""The number of threads of launches of several chunks: a printed module has its own."""


# %%
def fortran(module, name, kinds):
    """
    A function of BLAS or LAPACK, all of whose arguments go by reference: t, u, v and s, this letter or else N; l, this
    letter or else U; i, an integer; f and d, a factor in f32 or f64; a, an address; a capital, this letter, which is
    not given here. Its matrices are column-major, so that it sees the transposes of those here: c.T = b.T @ a.T.
    """
    place = get_cython_function_address(f"scipy.linalg.cython_{module}", name)
    llvm.add_symbol(f"rlx_{name}", place)
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kinds))(place)
    flags = dict.fromkeys("tuvsl", types.boolean)
    others = {kind: "U" if kind == "l" else "N" for kind in flags}
    ours = {**flags, "i": types.int64, "f": types.float32, "d": types.float64, "a": types.int64}
    theirs = {**dict.fromkeys(flags, ir.IntType(8)), "i": ir.IntType(32), "f": ir.FloatType(), "d": ir.DoubleType()}
    boxes = {"i": ctypes.c_int, "f": ctypes.c_float, "d": ctypes.c_double}

    def meaning(*arguments):
        rest, cells, places = iter(arguments), [], []
        for kind in kinds:
            if kind == "a":
                places.append(int(next(rest)))
                continue
            letter = kind if kind.isupper() or (kind in flags and next(rest)) else others.get(kind, "")
            letter = letter.upper()
            cells.append(ctypes.c_char(letter.encode()) if letter else boxes[kind](next(rest)))
            places.append(ctypes.addressof(cells[-1]))
        call(*places)

    def lower(context, builder, sig, args):
        pointer, rest = ir.IntType(8).as_pointer(), iter(args)
        places = []
        for kind in kinds:
            if kind == "a":
                places.append(builder.inttoptr(next(rest), pointer))
                continue
            stored = theirs["t" if kind.isupper() else kind]
            cell = cgutils.alloca_once(builder, stored)
            value = ir.Constant(stored, ord(kind)) if kind.isupper() else next(rest)
            if kind in flags:
                letters = (kind.upper(), others[kind])
                value = builder.select(value, *(ir.Constant(stored, ord(letter)) for letter in letters))
            builder.store(builder.trunc(value, stored) if kind == "i" else value, cell)
            places.append(builder.bitcast(cell, pointer))
        kind = ir.FunctionType(ir.VoidType(), [pointer] * len(places))
        builder.call(cgutils.get_or_insert_function(builder.module, kind, f"rlx_{name}"), places)
        return context.get_dummy_value()

    return typed(meaning, lambda *_: signature(types.none, *(ours[kind] for kind in kinds if kind.islower())), lower)


# %%
def _invoke(code, addresses, low, high):
    raise RuntimeError("only compiled code calls machine code")


def _lower_invoke(context, builder, sig, args):
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(64)] * 3)
    builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])
    return context.get_dummy_value()


typed(_invoke, lambda *args: signature(types.none, *args), _lower_invoke)


@lowered(lambda b, type, at, n: b.atomic_rmw("add", b.inttoptr(at, type.as_pointer()), n, "acq_rel"))
def _take(counter, count):
    raise RuntimeError("only compiled code shares a counter in memory")


@njit(parallel=True, error_model="numpy")
def _share(code, addresses, counter, extent, chunk):
    for _ in prange(THREADS):
        low = _take(counter, chunk)
        while low < extent:
            _invoke(code, addresses, low, min(low + chunk, extent))
            low = _take(counter, chunk)


def parallel(kernel, addresses, extent, chunk):
    """
    Run a kernel over [0, extent) in pieces of `chunk`, by a prange over the threads, each of which takes the next piece
    as long as there is one: pieces may take different times.
    """
    for low in range(0, extent, chunk):
        kernel(*addresses, low, min(low + chunk, extent))


def _lower_parallel(context, builder, sig, args):
    word, count = ir.IntType(64), len(sig.args[1])
    memory = cgutils.alloca_once(builder, word, count + 1)
    for number, value in enumerate([*cgutils.unpack_tuple(builder, args[1], count), word(0)]):
        builder.store(value, builder.gep(memory, [word(number)]))
    name = builder.module.get_unique_name("piece")
    code = ir.Function(builder.module, ir.FunctionType(ir.VoidType(), [word] * 3), name)
    code.linkage = "internal"
    piece = ir.IRBuilder(code.append_basic_block())
    first = piece.inttoptr(code.args[0], word.as_pointer())
    values = [piece.load(piece.gep(first, [word(number)])) for number in range(count)]
    kind = sig.args[0].get_call_type(context.typing_context, [types.int64] * (count + 2), {})
    context.get_function(sig.args[0], kind)(piece, [*values, *code.args[1:]])
    piece.ret_void()
    places = [builder.ptrtoint(x, word) for x in (code, memory, builder.gep(memory, [word(count)]))]
    shared = context.typing_context.resolve_value_type(_share)
    kind = shared.get_call_type(context.typing_context, [types.int64] * 5, {})
    function = context.get_function(shared, kind)
    function(builder, [*places, *args[2:]])
    for library in getattr(function, "libs", ()):
        context.active_code_library.add_linking_library(library)
    return context.get_dummy_value()


typed(parallel, lambda *args: signature(types.none, *args), _lower_parallel)


# %%
def _blas_threads():
    """Functions that tell and set the number of threads of SciPy's OpenBLAS; None for a SciPy with another BLAS."""
    folder = Path(scipy.__file__).parent
    for path in (*folder.parent.glob("scipy.libs/libscipy_openblas-*"), *folder.glob(".dylibs/libscipy_openblas-*")):
        library = ctypes.CDLL(str(path))
        return library.scipy_openblas_get_num_threads, library.scipy_openblas_set_num_threads
    return None


BLAS_THREADS = _blas_threads()


@contextmanager
def one_blas_thread():
    """BLAS on one thread until the end of the block, for the whole process: threads of its own would compete."""
    if BLAS_THREADS is None:
        yield
        return
    get, set = BLAS_THREADS
    before = get()
    set(1)
    try:
        yield
    finally:
        set(before)


# %%
PLAIN = bool(config.DISABLE_JIT)


@cache
def machine_code(launches):
    """A C function of an array of addresses: compiled when it is first asked for, by Numba's cache if there is one."""
    if THREADS > 1:
        # spinning, OpenMP's threads take whole cores from each other, and from BLAS, wherever cores are short
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        # starts the threads, which code that comes from the cache leaves to others
        get_num_threads()
    kind = types.void(types.CPointer(types.int64))
    options = {"error_model": "numpy", "pipeline_class": Lean}
    # Numba finds what it has kept by the file and the name of a module; text that was executed otherwise has neither
    module = sys.modules.get(launches.__module__)
    if getattr(module, "__file__", None) and vars(module) is launches.__globals__:
        with suppress(RuntimeError):
            # raised when no folder can be written
            return cfunc(kind, cache=True, **options)(launches)
    return cfunc(kind, **options)(launches)


def run(launches, *arrays):
    """Call `launches` with the addresses of the arrays, and the words in which kernels report."""
    addresses = [array.ctypes.data for array in arrays]
    if PLAIN:
        with np.errstate(all="ignore"):
            launches([*addresses, 0, 0, 0])
        return
    memory = (ctypes.c_int64 * (len(addresses) + 3))(*addresses)
    machine_code(launches).ctypes(memory)
    if message := memory[len(addresses)]:
        raise IndexError(ctypes.string_at(message).decode(), memory[len(addresses) + 1])


# %%
_turns = threading.Lock()


# %%
def run_in_turn(launches, *arrays):
    """As `run`, one call at a time: not every thread pool that Numba may have takes work from two threads."""
    with _turns:
        run(launches, *arrays)


# %%
def run_with_blas(launches, *arrays):
    """As `run`, one call at a time, while BLAS has one thread."""
    with _turns, one_blas_thread():
        run(launches, *arrays)
