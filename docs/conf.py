"""The site of the pages: `make site` writes it to build/site. Nothing on it is loaded from a network."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.append(str(Path(__file__).parent))
from site_parts import MlirLexer, NotebookParser

project = "xdsl-rlx"

extensions = ["myst_parser"]
# links lead to headings of this depth
myst_heading_anchors = 4
# a block that names no language is no Python
highlight_language = "none"

html_theme = "furo"
html_title = project
html_css_files = ["site.css"]
html_static_path = ["static"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_use_index = False


def setup(app: Sphinx) -> None:
    """Pages have blocks of MLIR, and some are notebooks."""
    app.add_lexer("mlir", MlirLexer)
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
