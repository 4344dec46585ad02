"""Which helper texts and imports a printed module needs, in the order in which they are defined.
The texts are in `machinery.py` and `launching.py` (Numba) and `prelude.py` (scalar ops)."""

from __future__ import annotations

import re

from xdsl_rlx.dialects.lir import LAPACK_OPS
from xdsl_rlx.lowering.backend.llvm.loop_hints import HINTS
from xdsl_rlx.lowering.backend.numba.launching import (
    FORTRAN,
    ONE_BLAS_THREAD,
    PARALLEL,
    RUN,
    RUN_IN_TURN,
    RUN_WITH_BLAS,
    TURNS,
)
from xdsl_rlx.lowering.backend.numba.machinery import (
    AT,
    BUFFER,
    CHECK,
    COMPILED,
    FUNCTION,
    INTRINSIC,
    IS_SET,
    KERNEL,
    LOOP_HINT,
    LOWERED,
    POLL,
    STACK,
    TYPED,
)
from xdsl_rlx.lowering.backend.numba.prelude import PRIMITIVES

_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_PROSE = re.compile(r'""".*?"""|#[^\n]*', re.DOTALL)
_DEFINED = re.compile(r"^(?:def|class) (\w+)|^(\w+)(?:, (\w+))* = ", re.MULTILINE)

_LIBRARY = {
    **{
        f"{letter}gemm": f'\n{letter}gemm = fortran("blas", "{letter}gemm", "ttiii{kind}aiai{kind}ai")\n'
        for letter, kind in (("s", "f"), ("d", "d"))
    },
    **{
        (name := f"{letter}{op.ROUTINE.name}"): (
            f'\n{name} = fortran("{op.ROUTINE.package}", "{name}", "{op.ROUTINE.kinds.replace("o", one)}")\n'
        )
        for letter, one in (("s", "f"), ("d", "d"))
        for op in LAPACK_OPS
    },
}
"""Functions of BLAS and LAPACK, with the kinds of their arguments that `fortran` explains."""


def _quoted(value: object) -> str:
    return repr(value).replace("'", '"')


_HINT_CALLS = [f"\n{hint.name} = loop_hint({', '.join(map(_quoted, hint.properties))})\n" for hint in HINTS]

_BLOCKS = (
    *(
        BUFFER,
        TYPED,
        LOWERED,
        INTRINSIC,
        COMPILED,
        FUNCTION,
        KERNEL,
        STACK,
        AT,
        LOOP_HINT,
        *_HINT_CALLS,
        CHECK,
        POLL,
        IS_SET,
    ),
    *(FORTRAN, *_LIBRARY.values(), PARALLEL, ONE_BLAS_THREAD, RUN, TURNS, RUN_IN_TURN, RUN_WITH_BLAS),
    *PRIMITIVES.values(),
)


def _definitions(text: str) -> list[str]:
    return [name for match in _DEFINED.finditer(text) for name in match.groups() if name]


def words_of(text: str) -> set[str]:
    """The words of the code in `text`, without those of docstrings and comments."""
    return set(_WORD.findall(_PROSE.sub("", text)))


_HOMES = {name: number for number, text in enumerate(_BLOCKS) for name in _definitions(text)}

_IMPORTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    *((f"import {name}", (name,)) for name in ("ctypes", "inspect", "math", "operator", "os", "re")),
    *((f"import {name}", (name,)) for name in ("sys", "threading", "weakref")),
    ("from contextlib import", ("contextmanager", "suppress")),
    ("from fractions import Fraction", ("Fraction",)),
    ("from functools import cache", ("cache",)),
    ("from pathlib import Path", ("Path",)),
    ("", ()),
    ("import llvmlite.binding as llvm", ("llvm",)),
    ("import numpy as np", ("np",)),
    ("import scipy", ("scipy",)),
    ("from llvmlite import ir", ("ir",)),
    ("from numba import", ("cfunc", "from_dtype", "get_num_threads", "njit", "prange", "types")),
    ("from numba.core import", ("cgutils", "config")),
    ("from numba.core.compiler import", ("CompilerBase", "Flags")),
    ("from numba.core.compiler_machinery import", ("FunctionPass", "PassManager", "register_pass")),
    ("from numba.core.ir import", ("Assign", "Const", "Expr", "FreeVar", "Global")),
    (
        "from numba.core.typed_passes import",
        ("AnnotateTypes", "NativeLowering", "NopythonTypeInference", "NoPythonBackend"),
    ),
    ("from numba.core.typing import", ("signature",)),
    ("from numba.core.typing.templates import", ("AbstractTemplate", "infer_global")),
    ("from numba.core.untyped_passes import", ("FixupArgs", "IRProcessing", "TranslateByteCode")),
    (
        "from numba.extending import",
        ("get_cython_function_address", "lower_builtin", "models", "register_model"),
    ),
)
"""The imports in order, each with the names it brings; those that end in `import` name what is used of them."""

HELPER_NAMES = frozenset({*_HOMES, *(name for _, names in _IMPORTS for name in names), "THREADS", "ELEMENTS"})
"""Names that the printed text must not give to anything else."""


def helpers_of(text: str) -> list[str]:
    """The helper texts that `text` uses, and those that they use, definitions first."""
    found = set[int]()
    texts = [text]
    while texts:
        new = {_HOMES[word] for word in words_of(texts.pop()) if word in _HOMES} - found
        found |= new
        texts += [_BLOCKS[number] for number in new]
    return [_BLOCKS[number] for number in sorted(found)]


def imports_of(text: str) -> list[str]:
    """The import lines of `text`."""
    words = words_of(text)
    lines = list[str]()
    for line, names in _IMPORTS:
        used = [name for name in names if name in words]
        if not names:
            lines.append("")
        elif used:
            lines.append(f"{line} {', '.join(used)}" if line.endswith(" import") else line)
    return lines if lines[0] else lines[1:]
