"""The site of the pages: `make site` writes it to build/site. Nothing on it is loaded from a network."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

project = "xdsl-rlx"

extensions = ["myst_parser", "site_parts"]
# links lead to headings of this depth
myst_heading_anchors = 4
# a block that names no language is IR
highlight_language = "mlir"

html_theme = "furo"
html_title = project
html_css_files = ["site.css"]
html_static_path = ["static"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_use_index = False
