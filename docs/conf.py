# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sphinx: docs/build makes the pages. Formulas are plain text, so that the pages need nothing from a network.
import importlib.util
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

project = "Solder"
author = "the authors of Solder"
copyright = author
_version = pathlib.Path(__file__).resolve().parent.parent / "src/solder/version.hpp"
release = re.search(r'return "([0-9.]+)"', _version.read_text()).group(1)

extensions = ["myst_parser", "directives"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["api"]
nitpicky = True

myst_heading_anchors = 4

html_theme = "furo" if importlib.util.find_spec("furo") else "alabaster"
html_title = f"Solder {release}"
html_copy_source = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["solder.css"]
