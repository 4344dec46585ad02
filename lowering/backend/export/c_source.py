"""The C source and header of an exported program: its tables, buffers and data, around `runtime.c`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xdsl_rlx.lowering.backend.driver.dtypes import dtype_of
from xdsl_rlx.lowering.backend.driver.layout import CACHE_LINE, WORD, CallBlock, PlanTable, PoolTable, Table
from xdsl_rlx.lowering.backend.driver.manifest import (
    BASE_BLAS,
    BASE_CONSTANTS,
    FIRST_BUFFER,
    ITEM_SIZES,
    Program,
    TensorSpec,
)
from xdsl_rlx.lowering.backend.driver.phases import KernelAddress, Offset, PlacedTables, place_tables
from xdsl_rlx.lowering.backend.driver.process import SPIN_NS
from xdsl_rlx.lowering.backend.machine.blas_library import FUNCTIONS

_HUGE_PAGE = 2 << 20
"""Bytes of a large page of x86-64 and of aarch64 with pages of 4 KiB."""

_STORED = {"bf16": "BF16", "i1": "BOOL", "c64": "C64", "c128": "F64"}
"""The element types of safetensors that are not the capital letters of ours, as `rlx.save` writes them."""

_INCLUDES = """
    ctype.h dlfcn.h errno.h limits.h pthread.h sched.h signal.h stdarg.h stddef.h stdint.h stdio.h stdlib.h string.h
    sys/mman.h sys/types.h time.h unistd.h
"""

_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
"""
"""Words of C that are no names."""


@dataclass(frozen=True)
class Exported:
    """What is written of a program."""

    name: str
    """An identifier of C: the beginning of all public names."""
    program: Program
    threads: int
    """Threads that its launches are cut up for."""
    values: Mapping[str, np.ndarray]
    """Values of params that are part of the library."""
    functions: Sequence[int] = ()
    """Positions in `FUNCTIONS` of the functions of BLAS and LAPACK that its kernels call."""
    features: Sequence[str] = ()
    """Features of a processor, of those in `runtime.c`, without which its code does not run."""
    blas: str = ""
    """The library of BLAS and LAPACK in `libs`, or empty if there is none."""
    version: str = ""
    """What tells this library from others of its name."""

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """The arguments of a run: all but params."""
        params = {spec.name for spec in self.program.params}
        return tuple(spec for spec in self.program.arguments if spec.name not in params)


def identifier(text: str) -> str:
    """Text as an identifier of C."""
    word = re.sub(r"\W", "_", text, flags=re.ASCII)
    return f"_{word}" if word[:1].isdigit() or word in _KEYWORDS.split() or not word else word


def header(exported: Exported) -> str:
    """The C header of a program."""
    name, program = exported.name, exported.program
    lines = [_HEADER.format(name=name, guard=f"{name.upper()}_H", graph=_comment(program.name))]
    for kind, specs in (("input", exported.inputs), ("result", program.outputs)):
        lines.append(f"/* Places in the list of {kind}s. */")
        prefix = f"{name}_{kind}".upper()
        used = set[str]()
        for number, spec in enumerate(specs):
            word = identifier(spec.name).upper()
            word = word if word not in used else f"{word}_{number}"
            used.add(word)
            note = ", overwritten" if spec.name in program.updated else ""
            note += ", may be NULL: ones" if spec.name in program.optional else ""
            lines.append(f"#define {prefix}_{word} {number} /* {_comment(str(spec))}{note} */")
        lines += [f"#define {prefix}S {len(specs)}", ""]
    if program.params:
        notes = [f" *   {_comment(spec.name)}: {_comment(str(spec))}" for spec in program.params]
        lines += ["/* Params:", *notes, " */", ""]
    lines += ["#ifdef __cplusplus", "}", "#endif", "#endif", ""]
    return "\n".join(lines)


def _comment(text: str) -> str:
    return text.replace("*/", "* /").encode("ascii", "replace").decode().replace("\n", " ")


_HEADER = """\
/* The program '{graph}', compiled by xdsl-rlx. Link with the library {name}; it needs the C library alone.
 *
 * Functions that return int return 0, or another number if they fail; those that return a pointer return NULL. All may
 * be called from several threads. Runs of one instance take turns, those of several instances run at the same time.
 */
#ifndef {guard}
#define {guard}

#include <stddef.h>

#ifdef __cplusplus
extern "C" {{
#endif

typedef struct {name} {name};

/* A new instance: its own params, memory and threads. `threads` is the most that a run uses, the one that calls it
 * included; 0 stands for one per core. */
{name} *{name}_create(int threads);

/* Copy a param of `bytes` bytes, in the order of C, into the instance or out of it. */
int {name}_set_param({name} *self, const char *param, const void *data, size_t bytes);
int {name}_get_param({name} *self, const char *param, void *data, size_t bytes);

/* Set all params from a file of safetensors. If it fails, none is changed. */
int {name}_load_params({name} *self, const char *path);

/* Run the program. `inputs` and `results` are lists of addresses of arrays in the order of C, aligned to their
 * elements. Inputs that are overwritten, and results, overlap no other array. */
int {name}_run({name} *self, const void *const *inputs, void *const *results);

/* Bytes of an input or result, by its place in the list; 0 for a place that there is not. */
size_t {name}_input_bytes(int place);
size_t {name}_result_bytes(int place);

/* A text that differs for another export of the same name; that of the description is the same. */
const char *{name}_version(void);

/* What the last function that failed in this thread says. */
const char *{name}_last_error(void);

/* End the instance and its threads; no other function of it may be running. NULL is left alone. */
void {name}_destroy({name} *self);
"""


class _Data:
    """The bytes that are part of the library: constants first, then values."""

    def __init__(self, constants: bytes) -> None:
        self.parts = [constants]
        self.size = len(constants)

    def add(self, array: np.ndarray) -> int:
        """Where an array lies."""
        start = -(-self.size // CACHE_LINE) * CACHE_LINE
        self.parts += [bytes(start - self.size), np.ascontiguousarray(array).tobytes()]
        self.size = start + array.nbytes
        return start


def source(exported: Exported, data_path: Path, runtime: Iterable[str]) -> tuple[str, bytes]:
    """The C source of a program, ending in that of the runtime, and the content of the file of data, `data_path`."""
    program, data = exported.program, _Data(exported.program.constants)
    placed = place_tables(program.schedule)
    kernels = program.kernels
    buffers = [*_argument_rows(exported, data), *_rows("results", program.outputs, lambda _: "RLX_RESULT, 0, -1")]
    alignment = max(program.alignment, CACHE_LINE)
    parts = [
        "#define _GNU_SOURCE",
        *(f"#include <{name}>" for name in _INCLUDES.split()),
        "#ifdef __x86_64__",
        "#include <cpuid.h>",
        "#endif",
        "#ifdef __linux__",
        "#include <sys/syscall.h>",
        "#endif",
        f'#include "{exported.name}.h"',
        *_layout(),
        *_constants(exported, placed),
        _BUFFER,
        *_library(exported),
        *_kernels(kernels),
        *_tables(placed, {name: number for number, name in enumerate(kernels)}),
        *buffers,
        _DATA.format(path=str(data_path).replace("\\", "\\\\").replace('"', '\\"'), alignment=alignment),
        *runtime,
    ]
    return "\n".join(parts), b"".join(data.parts)


_BUFFER = """
typedef struct {
    const char *name, *type, *stored_as;
    const int64_t *shape; /* as it is stored */
    int axes;
    int64_t bytes;
    int alignment, kind, updated;
    int64_t value; /* where its value is in the data, or -1 */
} rlx_buffer;
enum { RLX_INPUT, RLX_OPTIONAL, RLX_PARAM, RLX_RESULT };
int64_t rlx_run(int64_t plan, int64_t block);
int64_t rlx_work(int64_t pool);
"""

_DATA = """
__asm__(
    ".section .rodata\\n"
    ".balign {alignment}\\n"
    "rlx_data_begin:\\n"
    ".incbin \\"{path}\\"\\n"
    ".byte 0\\n"
    ".previous\\n");
extern const unsigned char rlx_data[] __asm__("rlx_data_begin");
"""


def _layout() -> list[str]:
    tables: dict[str, type[Table]] = {"POOL": PoolTable, "PLAN": PlanTable, "BLOCK": CallBlock}
    lines = list[str]()
    for prefix, table in tables.items():
        fields = {name: value for cls in table.__mro__ for name, value in vars(cls).items() if name.isupper()}
        lines += [f"#define RLX_{prefix}_{name} {offset}" for name, offset in fields.items()]
        lines.append(f"#define RLX_{prefix}_SIZE {table.size}")
    return lines


def _constants(exported: Exported, placed: PlacedTables) -> list[str]:
    program = exported.program
    bases = FIRST_BUFFER + len(program.arguments) + len(program.outputs)
    numbers = {
        "PHASE_COUNT": placed.count,
        "PARALLEL": int(placed.parallel and exported.threads > 1),
        "THREADS": exported.threads,
        "ARENA_BYTES": max(program.arena_bytes, 1),
        "ALIGNMENT": max(program.alignment, CACHE_LINE),
        "HUGE_PAGE": _HUGE_PAGE,
        "SPIN_NS": SPIN_NS,
        "BASE_BLAS": BASE_BLAS,
        "BASE_CONSTANTS": BASE_CONSTANTS,
        "BLOCK_BYTES": CallBlock.BASES + WORD * bases,
        "FUNCTIONS": len(FUNCTIONS),
        "USED_FUNCTIONS": len(exported.functions),
        "INPUTS": len(exported.inputs),
        "ARGUMENTS": len(program.arguments),
        "RESULTS": len(program.outputs),
    }
    return [
        *(f"#define RLX_{name} {value}" for name, value in numbers.items()),
        "#define RLX_FEATURES " + "".join(f'"{name}", ' for name in exported.features),
        f"#define RLX_VERSION {_string(exported.version)}",
        f"#define RLX_INSTANCE {exported.name}",
        f"#define RLX(function) {exported.name}_##function",
    ]


def _library(exported: Exported) -> list[str]:
    if not exported.functions:
        return []
    rows = ", ".join(f'{{"{FUNCTIONS[index]}", {index}}}' for index in exported.functions)
    return [
        f"#define RLX_BLAS_LIBRARY {_string(exported.blas)}",
        f"static const struct {{ const char *name; int index; }} rlx_functions[] = {{{rows}}};",
    ]


def _kernels(kernels: Sequence[str]) -> list[str]:
    declared = [f"void rlx_kernel_{n}(void) __asm__({_string(name)});" for n, name in enumerate(kernels)]
    names = ", ".join(f"rlx_kernel_{n}" for n in range(len(kernels)))
    return [*declared, f"static void (*const rlx_kernels[])(void) = {{{names or 'NULL'}}};"]


def _tables(placed: PlacedTables, kernels: Mapping[str, int]) -> list[str]:
    words, offsets, launches = list[str](), list[int](), list[str]()
    for number, word in enumerate(placed.words):
        if isinstance(word, Offset):
            offsets.append(number)
        elif isinstance(word, KernelAddress):
            launches.append(f"{{{number}, {kernels[word.name]}}}")
        words.append(str(word.bytes if isinstance(word, Offset) else word if isinstance(word, int) else 0))
    return [
        f"static const int64_t rlx_tables[] = {{{_wrapped(words) or '0'}}};",
        f"#define RLX_OFFSETS {len(offsets)}",
        f"static const uint32_t rlx_offsets[] = {{{_wrapped(map(str, offsets)) or '0'}}};",
        f"#define RLX_LAUNCHES {len(launches)}",
        f"static const struct {{ uint32_t word, kernel; }} rlx_launches[] = {{{_wrapped(launches) or '{0, 0}'}}};",
    ]


def _wrapped(words: Iterable[str]) -> str:
    """Words with commas, in lines of sixteen."""
    items = list(words)
    return ",\n".join(", ".join(items[start : start + 16]) for start in range(0, len(items), 16))


def _argument_rows(exported: Exported, data: _Data) -> list[str]:
    program = exported.program
    params = {spec.name for spec in program.params}

    def about(spec: TensorSpec) -> str:
        value = -1
        if spec.name in program.optional:
            kind, value = "RLX_OPTIONAL", data.add(np.ones(spec.shape, dtype_of(spec.dtype)))
        elif spec.name in params:
            kind, value = "RLX_PARAM", data.add(exported.values[spec.name]) if spec.name in exported.values else -1
        else:
            kind = "RLX_INPUT"
        return f"{kind}, {int(spec.name in program.updated)}, {value}"

    return _rows("arguments", program.arguments, about)


def _rows(what: str, specs: Sequence[TensorSpec], about: Callable[[TensorSpec], str]) -> list[str]:
    """The buffers of a kind, with what is said `about` each at the end."""
    shapes, rows = list[str](), list[str]()
    for number, spec in enumerate(specs):
        shape = [*spec.shape, 2] if spec.dtype == "c128" else list(spec.shape)
        shapes.append(f"static const int64_t rlx_{what}_{number}[] = {{{', '.join(map(str, shape)) or '0'}}};")
        stored = _STORED.get(spec.dtype, spec.dtype.upper())
        alignment = ITEM_SIZES[spec.dtype] // (2 if spec.dtype in ("c64", "c128") else 1)
        texts = ", ".join(map(_string, (spec.name, str(spec), stored)))
        rows.append(f"{{{texts}, rlx_{what}_{number}, {len(shape)}, {spec.nbytes}, {alignment}, {about(spec)}}}")
    listed = ",\n    ".join(rows) or "{0}"
    return [*shapes, f"static const rlx_buffer rlx_{what}[] = {{\n    {listed}}};"]


def _string(text: str) -> str:
    """Text as a literal of C."""
    inner = "".join(
        chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode("utf-8", "replace")
    )
    return f'"{inner}"'
