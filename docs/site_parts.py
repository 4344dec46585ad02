"""What the site has beyond Sphinx and MyST: colours of IR, lines that wrap, tables for phones, notebooks as pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Any, ClassVar

import nbformat
from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from nbformat import NotebookNode
from pygments import token
from pygments.formatters import HtmlFormatter
from pygments.lexer import RegexLexer, words
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator

LANGUAGES = {"builtin.module": "mlir", "func.func": "mlir", "@kernel(": "python"}
"""The language of a `text` block that begins with this: printed IR and code are coloured like written ones."""


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


class LineFormatter(HtmlFormatter[str]):
    """HTML with an element around each line that knows its indentation: site.css indents the rest of it if it wraps."""

    def wrap(self, source: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        return super().wrap((kind, _line(text) if kind else text) for kind, text in source)


def _line(text: str) -> str:
    plain = re.sub(r"<[^>]*>", "", text)
    return f'<span class="line" style="--indent: {len(plain) - len(plain.lstrip(" "))}ch">{text}</span>'


class OutputBlocks(SphinxTransform):
    """Colour printed IR and code, and mark other `text` blocks that may wrap: all but those with columns."""

    default_priority = 300

    def apply(self, **kwargs: Any) -> None:
        for block in self.document.findall(nodes.literal_block):
            if block.get("language") == "text":
                text = block.astext()
                block["language"] = next((name for start, name in LANGUAGES.items() if text.startswith(start)), "text")
                if not re.search(r"\S {2,}\S", text):
                    block["classes"].append("wrapped")


class TableLabels(SphinxTransform):
    """Tell each cell with text the head of its column, which site.css shows on a phone; mark numbers."""

    default_priority = 300

    def apply(self, **kwargs: Any) -> None:
        for table in self.document.findall(nodes.table):
            heads = [entry.astext() for head in table.findall(nodes.thead) for entry in head.findall(nodes.entry)]
            if len(heads) > 5:
                table["classes"].append("dense")
            for row in (row for body in table.findall(nodes.tbody) for row in body.findall(nodes.row)):
                _, *others = row.findall(nodes.entry)
                for head, entry in zip(heads[1:], others, strict=True):
                    # the second of two columns tells of the first, and its head says no more
                    text = entry.astext()
                    entry["label"] = head if len(heads) > 2 and text else ""
                    if re.fullmatch(r"[\d./ -]+", text):
                        entry["classes"].append("number")


def visit_entry(self: HTML5Translator, node: nodes.entry) -> None:
    HTML5Translator.visit_entry(self, node)
    if node.get("label"):
        self.body[-1] = self.body[-1].replace("<td", f'<td data-label="{escape(node["label"])}"', 1)


def depart_entry(self: HTML5Translator, node: nodes.entry) -> None:
    HTML5Translator.depart_entry(self, node)


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
            yield _fenced("text", text.rstrip("\n"))


def _fenced(language: str, text: str) -> str:
    # longer than any fence inside
    return f"``````{language}\n{text}\n``````"


def setup(app: Sphinx) -> dict[str, Any]:
    """Add all of it to a site: this file is an extension of Sphinx."""
    app.add_lexer("mlir", MlirLexer)
    PygmentsBridge.html_formatter = LineFormatter
    app.add_transform(OutputBlocks)
    app.add_transform(TableLabels)
    app.add_node(nodes.entry, override=True, html=(visit_entry, depart_entry))
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True}
