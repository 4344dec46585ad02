"""docs/howto/names.md and from-rlx.md: names of other libraries beside those here. `generate.py` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np
import rlx_table
from names_table import JAX_VERSION, NAMES, TORCH, TORCH_VERSION, Missing

import xdsl_rlx as rlx
from xdsl_rlx import dialects, lowering, transforms
from xdsl_rlx.frontends.numpy.elements import SPELLED_OUT, UFUNCS
from xdsl_rlx.frontends.numpy.functions import FUNCTIONS

CODE = re.compile(r"\b(?:rlx|np|x)(?:\.\w+)+")
"""A name in a counterpart that must exist."""

SECTIONS = {
    "rlx.nn": "Neural networks",
    "rlx.random": "Random numbers",
    "rlx.special": "Special functions",
    "rlx.solvers": "Solvers",
    "": "Arrays and control flow",
}
"""Titles of the parts of the table, by the module of the counterparts; the last one has all others."""

SHORT = {"torch.nn.functional": "F", "jax.nn": "jax.nn", "jax.lax": "lax", "jax.random": "random"}
"""How the page writes the modules; others are written in full."""

_NO_VALUES = ("np.zeros", "np.float16", "np.logaddexp")
"""Functions in counterparts that take no traced value, or that an op is written for elsewhere."""


_ABOUT = """\
Each row is one function. `F` is `torch.nn.functional`, `lax` is `jax.lax`, `random` is `jax.random`, `special` is
`jax.scipy.special`, and `x` a traced value. The functions of NumPy accept traced values;
[the API](../api.md#numpys-functions) lists all of them. Arguments have the names and the order of JAX, or of PyTorch
with `axis` for `dim` if only PyTorch has the function. [Some functions](from-pytorch.md#arguments-that-differ) have
other arguments than in PyTorch."""


def unresolved(target: str) -> Iterator[str]:
    """The names in a counterpart that do not exist, or that do not accept traced values."""
    for name in CODE.findall(target):
        first, *rest = name.split(".")
        if first == "x":
            found = hasattr(rlx.Value, rest[0])
        elif first == "np":
            found = name in _NO_VALUES or _accepts_values(".".join(rest))
        else:
            found = _is_public(rest)
        if not found:
            yield name


def _accepts_values(name: str) -> bool:
    own = getattr(_attribute(np, name), "__name__", "")
    prefix, _, _ = name.rpartition(".")
    return bool({name, f"{prefix}.{own}" if prefix else own} & {*UFUNCS, *SPELLED_OUT, *FUNCTIONS})


def _attribute(start: Any, path: str) -> Any:
    return reduce(lambda at, name: getattr(at, name, None), path.split("."), start)


def _is_public(path: list[str]) -> bool:
    if path[0] not in dir(rlx):
        return False
    if len(path) == 1:
        return True
    return path[1] in getattr(getattr(rlx, path[0]), "__all__", ())


def counts() -> dict[str, tuple[int, int]]:
    """By module, how many names it has, and how many of these have a counterpart."""
    return {
        module: (len(names), sum(not isinstance(target, Missing) for target in names.values()))
        for module, names in NAMES.items()
    }


def names_text(note: str) -> str:
    """All of docs/howto/names.md."""
    lines = [
        "# Find a name of PyTorch, JAX or NumPy",
        note,
        _ABOUT,
        _summary(),
    ]
    rows = _rows()
    for prefix, title in SECTIONS.items():
        chosen = {target: found for target, found in rows.items() if _section(target) == prefix}
        lines += [f"## {title}", _table(["PyTorch", "JAX", "NumPy", "here"], map(_cells, chosen.items()))]
    lines += ["## No counterpart", _table(["name", "reason"], _reasons())]
    return "\n\n".join(lines) + "\n"


def _summary() -> str:
    versions = {"torch": TORCH_VERSION, "jax": JAX_VERSION}
    rows = [
        [f"`{module}` {versions[module.partition('.')[0]]}", str(every), str(found), str(every - found)]
        for module, (every, found) in counts().items()
    ]
    return _table(["module", "functions", "with a counterpart", "without"], rows)


def _rows() -> dict[str, list[tuple[str, str]]]:
    """The names of other libraries by counterpart."""
    rows: dict[str, list[tuple[str, str]]] = {}
    for module, names in NAMES.items():
        for name, target in names.items():
            if not isinstance(target, Missing):
                rows.setdefault(target, []).append((module, name))
    return dict(sorted(rows.items(), key=lambda row: row[0].lower()))


def _section(target: str) -> str:
    return next((prefix for prefix in SECTIONS if prefix and target.startswith(f"{prefix}.")), "")


def _cells(row: tuple[str, list[tuple[str, str]]]) -> list[str]:
    target, found = row
    torch = [_written(*one) for one in found if one[0].startswith("torch")]
    jax = [_written(*one) for one in found if one[0].startswith("jax")]
    if target in TORCH:
        torch.append(f"`{TORCH[target]}`")
    numpy = f"`{target}`" if re.fullmatch(r"np[\w.]+", target) else ""
    return [", ".join(torch), ", ".join(jax), numpy, f"`{target}`"]


def _written(module: str, name: str) -> str:
    return f"`{SHORT.get(module, module.rsplit('.', 1)[-1])}.{name}`"


def _reasons() -> Iterator[list[str]]:
    found: dict[str, list[str]] = {}
    for module, names in NAMES.items():
        for name, reason in names.items():
            if isinstance(reason, Missing):
                found.setdefault(reason, []).append(_written(module, name))
    for reason, names in found.items():
        yield [", ".join(names), reason]


def _table(heads: list[str], rows: Iterator[list[str]] | list[list[str]] | map[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(re.sub(" +", " ", f"| {' | '.join(line)} |") for line in lines)


RLX_NAME = re.compile(
    r"\b(?:rlx|mir|hir|GraphModule|CompiledGraph|TrainingProgram)\.\w+(?:\.\w+)*|\b(?:mir|lir|rlx|convert)-[\w-]+"
)
"""A name in a counterpart of RLX that must exist."""


_ABOUT_RLX = """\
RLX is a Rust system with the same stages, `hir`, `mir` and `lir`, and the same transformations of graphs. This page has
its names beside those here. [Python functions](../getting-started.md) of arrays are a second way to write a model."""


def unknown_of_rlx() -> list[str]:
    """The names in the tables of RLX that do not exist here."""
    ops = {op.name for name in ("hir", "mir") for op in dialects.UNIVERSE.all_dialects[name]().operations}
    passes = {*transforms.UNIVERSE.all_passes, *lowering.UNIVERSE.all_passes}
    tables = (rlx_table.FUNCTIONS, rlx_table.PLANS, rlx_table.PASSES, rlx_table.OPS)
    found = [name for table in tables for text in table.values() for name in RLX_NAME.findall(text)]
    found += re.findall(r"rlx\.\w+", rlx_table.DIFFERENCES) + [f"mir.{name}" for name in _same_ops()]
    return [name for name in found if not _exists(name, {*ops, *passes, "mir.kind"})]


def _exists(name: str, known: set[str]) -> bool:
    first, _, rest = name.partition(".")
    if name in known or first in ("mir", "hir") or not rest:
        return name in known
    return _attribute(rlx if first == "rlx" else getattr(rlx, first), rest) is not None


def _same_ops() -> list[str]:
    names = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", rlx_table.SAME_OPS).lower()
    return names.split()


def rlx_text(note: str) -> str:
    """All of docs/howto/from-rlx.md."""
    same = ", ".join(f"`mir.{name}`" for name in _same_ops())
    return (
        "\n\n".join(
            [
                "# Port RLX code",
                note,
                _ABOUT_RLX,
                "## Functions",
                _of_rlx(rlx_table.FUNCTIONS),
                "## Memory plans",
                _of_rlx(rlx_table.PLANS),
                "## Passes",
                _of_rlx(rlx_table.PASSES),
                "## Ops",
                f"These ops have RLX's names in snake_case: {same}.",
                "These differ:",
                _of_rlx(rlx_table.OPS),
                "## What differs",
                rlx_table.DIFFERENCES,
            ]
        )
        + "\n"
    )


def _of_rlx(names: dict[str, str]) -> str:
    return _table(["RLX", "xdsl-rlx"], [[f"`{name}`", here] for name, here in names.items()])
