"""docs/howto/aten.md: how each operator of PyTorch is translated. `generate.py` writes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from aten_names import COMPOSITES, CORE, DECOMPOSED, VERSION

from xdsl_rlx.frontends.aten.table import ROWS
from xdsl_rlx.frontends.shared.rows import Row, Status

_ABOUT = f"""\
`rlx.from_torch` and `torch.compile(model, backend="xdsl_rlx")` read graphs of PyTorch's ATen operators. Each operator
below is translated in one of these ways:

| how | meaning |
| --- | --- |
| exact | one or two operations of this compiler, with PyTorch's results and conventions for gradients |
| composite | several operations |
| PyTorch's decomposition | PyTorch expresses it by other operators, which are translated |
| refused | not translated, for the reason given: the graph runs in PyTorch, or raises with `strict` |
| missing | no translation yet |

The names are those of PyTorch {VERSION}. [Coming from PyTorch](from-pytorch.md) says how to read a model, and
what its errors mean."""

_BEHAVIOUR = """\
## What differs from PyTorch

- Random numbers have PyTorch's distributions, and `torch.manual_seed` makes them reproducible. They are other numbers
  than PyTorch draws for that seed.
- `torch.linalg` raises no error for singular matrices: results are NaN or infinite. `torch.linalg.cholesky_ex` and its
  kind return `info`.
- The order of equal elements, in `torch.topk`, `kthvalue` and `sort` without `stable`, is that of their positions.
- Signs of singular vectors and of eigenvectors can differ.
- Complex matrices are multiplied, but not factored: `torch.linalg.solve`, `cholesky`, `svd` and `eigh` of them raise.
- No error is raised for an index out of range: reads are clamped, writes are dropped."""


def aten_text(note: str) -> str:
    """Return all of docs/howto/aten.md."""
    return (
        "\n\n".join(
            [
                "# Operators of PyTorch",
                note,
                _ABOUT,
                _summary(),
                _BEHAVIOUR,
                "## Core operators",
                _table(["operator", "how", "reason"], map(_cells, CORE)),
                "## Composite operators",
                "PyTorch can decompose these into core operators. They are read whole.",
                _grouped(_rows(COMPOSITES)),
                "## Other operators",
                "Most of these are gradients and functions that PyTorch's own list of core operators lacks.",
                _grouped(_others()),
                "## Not translated",
                _table(["reason", "operators"], _refused()),
            ]
        )
        + "\n"
    )


def how(name: str) -> tuple[str, str]:
    """Return how an operator of PyTorch's core is translated, and why it is not."""
    row = ROWS.get(f"aten.{name}")
    if row is not None:
        return row.status.value, row.reason
    return ("PyTorch's decomposition" if name in DECOMPOSED else "missing"), ""


def _cells(name: str) -> list[str]:
    return [f"`{name}`", *how(name)]


def _rows(names: Iterable[str]) -> list[Row]:
    found = [ROWS.get(f"aten.{name}") for name in names]
    return [row for row in found if row is not None]


def _others() -> list[Row]:
    named = {*CORE, *COMPOSITES}
    rows = [row for row in ROWS.all() if row.name.startswith(("aten.", "prims."))]
    return [row for row in rows if row.name.removeprefix("aten.") not in named]


def _summary() -> str:
    core = Counter(how(name)[0] for name in CORE)
    composites = Counter(row.status.value for row in _rows(COMPOSITES))
    others = Counter(row.status.value for row in _others())
    kinds = ["exact", "composite", "PyTorch's decomposition", "refused", "missing"]
    return _table(
        ["operators", *kinds],
        [
            [title, *(str(found[kind]) for kind in kinds)]
            for title, found in (("core", core), ("composite", composites), ("other", others))
        ],
    )


def _grouped(rows: Sequence[Row]) -> str:
    """The operators that are translated, by how."""
    lines: list[list[str]] = []
    for status in (Status.EXACT, Status.COMPOSITE):
        names = [f"`{row.name.removeprefix('aten.')}`" for row in rows if row.status is status]
        if names:
            lines.append([status.value, ", ".join(names)])
    return _table(["how", "operators"], lines)


def _refused() -> list[list[str]]:
    reasons: dict[str, list[str]] = {}
    for row in ROWS.all():
        if row.status is Status.REFUSED:
            reasons.setdefault(row.reason, []).append(f"`{row.name.removeprefix('aten.')}`")
    return [[reason, ", ".join(names)] for reason, names in reasons.items()]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
