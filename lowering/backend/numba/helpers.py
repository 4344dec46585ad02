"""Which helpers and imports a printed module needs, in the order in which they are defined.

Their text is read from the source of `machinery.py` and `launching.py` (Numba) and `prelude.py` (scalar ops)."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib.resources import files

from xdsl_rlx.dialects.lir import LAPACK_OPS
from xdsl_rlx.lowering.backend.driver.layout import TOO_LONG
from xdsl_rlx.lowering.backend.llvm.loop_hints import HINTS

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

_FOLDER = files("xdsl_rlx.lowering.backend.numba")
_MACHINERY, _LAUNCHING, _PRELUDE = (
    _FOLDER.joinpath(f"{name}.py").read_text(encoding="utf-8") for name in ("machinery", "launching", "prelude")
)
_WIDTHS = {
    "to_s64": (8, 32, 64),
    "to_u64": (8, 32, 64),
    "as_i64": (32, 64),
    "as_f64": (32, 64),
    **dict.fromkeys(("shift_right_i64", "population_count_i64", "leading_zeros_i64"), (8, 16, 32, 64)),
}
"""The widths in bits that a function of `prelude.py` is printed for; its text is that for 64."""


def _cells(text: str) -> list[str]:
    """The parts of a source file after each line `# %%`; our own numbers are printed as such."""
    return [cell.replace("TOO_LONG", str(TOO_LONG)) for cell in text.split("# %%\n")[1:]]


def _functions(text: str) -> Iterator[str]:
    """The text of each function of a source file, for each of its widths."""
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            first = min(part.lineno for part in (node, *node.decorator_list))
            found = "\n".join(lines[first - 1 : node.end_lineno])
            yield from (found.replace("64", str(bits)) for bits in _WIDTHS.get(node.name, (64,)))


_BLOCKS = (*_cells(_MACHINERY), *_HINT_CALLS, *_cells(_LAUNCHING), *_LIBRARY.values(), *_functions(_PRELUDE))


def _definitions(text: str) -> list[str]:
    return [name for match in _DEFINED.finditer(text) for name in match.groups() if name]


def words_of(text: str) -> set[str]:
    """The words of the code in `text`, without those of docstrings and comments."""
    return set(_WORD.findall(_PROSE.sub("", text)))


_HOMES = {name: number for number, text in enumerate(_BLOCKS) for name in _definitions(text)}


def _all_imports() -> dict[str, list[str]]:
    """The imports of the source files in isort's order, each with the names it brings; "" between the two sections."""
    found: dict[tuple[bool, bool, str], set[str]] = {(True, False, ""): set()}
    for text in (_MACHINERY, _LAUNCHING, _PRELUDE):
        for node in ast.parse(text).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
                top = module.partition(".")[0]
                line = f"from {module} import" if isinstance(node, ast.ImportFrom) else ast.unparse(node)
                key = (top not in sys.stdlib_module_names, isinstance(node, ast.ImportFrom), line)
                if top != "xdsl_rlx":
                    found.setdefault(key, set()).update(alias.asname or alias.name for alias in node.names)
    return {key[-1]: sorted(found[key]) for key in sorted(found)}


_IMPORTS = _all_imports()

HELPER_NAMES = frozenset({*_HOMES, *(name for names in _IMPORTS.values() for name in names), "THREADS", "ELEMENTS"})
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
    for line, names in _IMPORTS.items():
        used = [name for name in names if name in words]
        if not names:
            lines.append("")
        elif used:
            lines.append(f"{line} {', '.join(used)}" if line.endswith(" import") else line)
    return lines if lines[0] else lines[1:]
