"""Pages, docstrings and messages use the words of the field; a failure names the phrase, the line and a better word.

The docstrings that users read are on the generated pages docs/api.md, ops.md, passes.md and builder.md.
"""

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = [
    path
    for folder in ("src", "dialects", "transforms", "lowering", "plugins", "frontends", "docs")
    for path in sorted((ROOT / folder).rglob("*.py"))
]

PHRASES = {
    # sentences that have no noun as their subject
    r"\b(?:What|Who)\b(?![^.]*\?)": "the thing itself as the subject",
    r"\b(?:Those|That) (?:of|which|that|are|is)\b": "the thing itself as the subject",
    r"\b(?:is|are) no (?:array|cotangent|float|graph|identifier|integer|leaf|list|matrix|miss|number|spec|tensor|value)"
    r"(?:s|es|ices)?\b": "is not a ...",
    # private idioms
    r"\btaken apart\b": "decomposed, unpacked",
    r"\bwritten out\b": "unrolled",
    r"\bbrought nearer\b": "prefetched",
    r"\bby hand\b": "idiom, manually",
    r"\bgo(?:es)? on (?:with|from)\b": "continues",
    r"\bas little as will do\b": "the minimum",
    r"\bcomputed again\b": "recomputed, rematerialised",
    r"\blooked at\b": "read, inspected",
    r"\bleft out\b": "optional, omitted, by default",
    r"\bwaits? in memory\b": "is saved",
    r"\bwritten over\b": "donated, overwritten",
    r"\barguments? (?:that|which) (?:is|are) updated\b": "donated arguments",
    r"\bstands? (?:behind|beside|in front)\b": "follows, precedes",
    r"\bknown now\b": "known at compile time",
    r"\btold apart\b": "distinguished",
    r"\bof floats\b": "floating-point",
    # private words
    r"\brooms?\b": "workspace, scratch",
    r"\bha(?:s|ve) (?:a|no|its|one) places?\b": "address, byte range, slot",
    r"\blies? (?:at|in|behind|beside)\b": "is stored at",
    r"\bapart\b(?! from)": "outlined, separately",
    r"\bso many\b": "n, this number of",
    r"\bis (?:a|no) miss of\b": "missed fusion",
    r"\bupdates? of arguments\b": "donation",
    r"\bwords? of the (?:driver|schedule)\b": "bytecode, opcodes",
    r"\bdigits of (?:an?|the) ops?\b": "precision, ulps",
    r"\bproducts? of (?:two )?matrices\b": "matmul, GEMM",
    r"\bturns? of\b": "iterations",
    r"(?<!loop )(?<!loop-)\bnests?\b": "kernel, loop nest",
    r"\b(?:homes?|wanted)\b": "destination",
    r"\bpieces? of (?:a |the )?launch|\bin (?:\w+ )?pieces\b": "chunk",
    r"\brecipes?\b": "kernel cache key",
    r"\b(?:left|right) factors?\b": "LHS, RHS",
    r"\breductions? of (?:rows|columns|everything)\b": "row, column or full reduction",
    r"\blevels? of (?:a|the) kernel\b": "pass index",
    r"\bface\b": "public API",
    r"\bhouse\b": "architecture",
}
FIRST = re.compile("|".join(PHRASES))

EXPLAINED = {"docs/glossary.md": {"nest", "by hand", "piece"}}
"""Words that a page explains."""


def _found(text: str, allowed: set[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the phrase and a better word for each phrase in a text."""
    if FIRST.search(text) is None:
        return
    for pattern, better in PHRASES.items():
        for match in re.finditer(pattern, text):
            if match[0] not in allowed:
                yield text.count("\n", 0, match.start()) + 1, match[0], better


def _prose(page: str) -> str:
    """Return the text of a page with blank headings, titles of links, fenced blocks and code, on the same lines."""

    def blank(match: re.Match[str]) -> str:
        return "\n" * match[0].count("\n")

    page = re.sub(r"^```.*?^```$|^#[^\n]*$", blank, page, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"``.*?``|`[^`]*`|\[[^\]]*\]\([^)]*\)", blank, page)


def test_pages_and_docstrings_have_no_private_phrases() -> None:
    hits = [
        f"{name}:{line}: {phrase!r}; write: {better}"
        for page in PAGES
        for name in (str(page.relative_to(ROOT)),)
        for line, phrase, better in _found(_prose(page.read_text()), EXPLAINED.get(name, set()))
    ]
    assert not hits, "\n".join(hits)


RAISE = re.compile(r"^( *)raise .*(?:\n(?:\1 .*|\1\).*|$))*", re.MULTILINE)
"""A raise statement up to the next line that is indented as it is, but for a closing bracket."""


def _messages(source: str) -> Iterator[tuple[int, str]]:
    """Yield the first line and each string literal of the raise statements that may have a phrase."""
    for match in RAISE.finditer(source):
        if FIRST.search(match[0]) is not None:
            for node in ast.walk(ast.parse(textwrap.dedent(match[0]))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield source.count("\n", 0, match.start()) + 1, node.value


def test_messages_have_no_private_phrases() -> None:
    hits = [
        f"{path.relative_to(ROOT)}:{line}: {phrase!r}; write: {better}"
        for path in SOURCES
        for line, message in _messages(path.read_text())
        # options are shown as a caller writes them
        for _, phrase, better in _found(re.sub(r'\w+="\w+"', "", message), set())
    ]
    assert not hits, "\n".join(hits)


NAME = re.compile(
    r"`([\w./-]+\.(?:md|mlir|py))`|\b((?:docs|tests|dialects|transforms|lowering|plugins|src)/[\w./-]+\.(?:md|mlir|py))\b"
    r"|`(xdsl_rlx(?:\.\w+)+)`"
)
EXAMPLES = {"a_b.py"}
"""Names that stand for any file."""


def test_the_files_and_modules_that_sources_mention_exist() -> None:
    folders = (
        "benchmarks",
        "dialects",
        "docs",
        "examples",
        "frontends",
        "lowering",
        "plugins",
        "src",
        "tests",
        "transforms",
    )
    parts = [path.relative_to(ROOT).parts for folder in folders for path in (ROOT / folder).rglob("*.*")]
    endings = {"/".join(each[start:]) for each in parts for start in range(len(each))}
    for path in SOURCES:
        for file, mentioned, dotted in NAME.findall(path.read_text()):
            name = f"{path.relative_to(ROOT)} mentions {file or mentioned or dotted}, which does not exist"
            assert not (file or mentioned) or (file or mentioned) in endings | EXAMPLES, name
            assert not dotted or _is_name(dotted), name


def _is_name(dotted: str) -> bool:
    """Return whether a module exists, or the file of its parent has a definition of the last name."""
    _, *parts = dotted.split(".")
    bases = [ROOT / "src" / "xdsl_rlx", ROOT]
    stems = [base.joinpath(*parts) for base in bases]
    if any(stem.is_dir() or stem.with_suffix(".py").exists() for stem in stems):
        return True
    for base in bases:
        for parent in (base.joinpath(*parts[:-1], "__init__.py"), base.joinpath(*parts[:-1]).with_suffix(".py")):
            if parts[:-1] and parent.exists() and re.search(rf"\b{parts[-1]}\b", parent.read_text()):
                return True
    return bool(re.search(rf"\b{parts[0]}\b", (ROOT / "src" / "xdsl_rlx" / "__init__.pyi").read_text()))
