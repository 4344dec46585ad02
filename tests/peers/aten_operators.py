"""The operators of PyTorch that the page docs/howto/aten.md lists; `python -m peers.aten_operators` writes its names.

Run with `PYTHONPATH=tests`.
"""

# pyright: reportMissingImports=false, reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import torch

from xdsl_rlx.frontends.aten.decompositions import decomposed
from xdsl_rlx.frontends.aten.table import ROWS

FILE = Path(__file__).resolve().parents[2] / "docs/aten_names.py"


@cache
def operators() -> dict[str, Any]:
    """Return all operators of the namespace `aten`, by full name."""
    found: dict[str, Any] = {}
    for full in torch._C._dispatch_get_all_op_names():
        namespace, _, name = full.partition("::")
        packet, _, overload = name.partition(".")
        if namespace == "aten":
            op = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
            if op is not None:
                found[str(op)] = op
    return found


def core() -> list[str]:
    """Return the names of the operators that PyTorch marks as core."""
    return sorted(name for name, op in operators().items() if torch.Tag.core in op.tags)


def decomposable() -> list[str]:
    """Return the core operators that PyTorch, or a decomposition here, expresses by others."""
    every = {str(op) for op in decomposed()}
    return [name for name in core() if name in every]


def composites() -> list[str]:
    """Return the operators with a row that PyTorch decomposes unless they are kept."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd

    def is_composite(name: str) -> bool:
        op = operators().get(name)
        return op is not None and torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key)

    return [row.name for row in ROWS.all() if is_composite(row.name)]


def _tuple(name: str, doc: str, words: Iterable[str]) -> str:
    lines = "".join(f'    "{word.removeprefix("aten.")}",\n' for word in words)
    return f'{name} = (\n{lines})\n"""{doc}"""\n'


def text() -> str:
    """Return the text of docs/aten_names.py."""
    return "\n".join(
        [
            '"""Names of operators of PyTorch, without `aten.`; written by tests/peers/aten_operators.py."""\n',
            f'VERSION = "{torch.__version__.partition("+")[0]}"\n',
            _tuple("CORE", "The operators that PyTorch marks as core.", core()),
            _tuple("DECOMPOSED", "Those of them that have a decomposition.", decomposable()),
            _tuple("COMPOSITES", "Operators with a row that PyTorch decomposes unless they are kept.", composites()),
        ]
    )


if __name__ == "__main__":
    FILE.write_text(text())
