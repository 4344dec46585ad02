"""What the site has beyond Sphinx and MyST: the colours of MLIR, and notebooks as pages, with the outputs they hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import nbformat
from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from nbformat import NotebookNode
from pygments import token
from pygments.lexer import RegexLexer, words


class MlirLexer(RegexLexer):
    """The text of the IR."""

    name = "MLIR"
    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            (r"//.*", token.Comment),
            (r'"(\\.|[^"\\])*"', token.String),
            (r"%[\w$.#-]+", token.Name),
            (r"@[\w$.-]+", token.Name.Function),
            (r"\^\w+", token.Name.Label),
            (r"-?\d+\.\d+([eE][+-]?\d+)?", token.Number),
            (r"\b(tensor|memref|vector|tuple)\b|![\w.]+|\b(f16|bf16|f32|f64|[su]?i\d+|index)\b", token.Keyword.Type),
            (r"\b(hir|mir|lir|func|builtin|arith|math|memref|scf)\.[a-z_]\w*", token.Name.Builtin),
            (words(("true", "false", "dense", "loc"), prefix=r"\b", suffix=r"\b"), token.Keyword.Constant),
            (r"\b\d+\b", token.Number),
            (r"[\w$]+", token.Text),
            (r"\s+|.", token.Text),
        ]
    }


class NotebookParser(MystParser):
    """A notebook as Markdown; what it prints is what stands in the file, nothing is run."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        notebook = nbformat.reads(inputstring, nbformat.NO_CONVERT)
        super().parse("\n\n".join(part for cell in notebook.cells for part in _parts(cell)), document)


def _parts(cell: NotebookNode) -> Iterator[str]:
    if cell.cell_type == "markdown":
        yield cell.source
        return
    yield _fenced("python", cell.source)
    for output in cell.outputs:
        data = output.get("data", {})
        if "image/png" in data:
            yield f"![](data:image/png;base64,{data['image/png'].strip()})"
        elif "text/html" in data:
            yield _fenced("{raw} html", f'<div class="table-wrapper output">{data["text/html"]}</div>')
        else:
            text = output.get("text") or data["text/plain"]
            yield _fenced("mlir" if text.startswith("builtin.module") else "text", text.rstrip("\n"))


def _fenced(language: str, text: str) -> str:
    # longer than any fence inside
    return f"``````{language}\n{text}\n``````"
