# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two directives of Sphinx.

    ```{options} preconditioner fsai
    ```

shows the options of a solver or of preconditioners, as docs/yaml.md has them. A test compares the tables of yaml.md with
the program, so no page has a copy of them.

    ```{others}
    :caption: More
    ```

is a toctree of the pages in docs that index.md does not name, so that none is forgotten.
"""
import pathlib
import re

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.directives.other import TocTree
from sphinx.util.docutils import SphinxDirective

# Words of yaml.md for several names.
GROUPS = {"the incomplete factorisations": ["ic0", "ilu0", "ick", "iluk", "ict", "ilut"]}
DOCS = pathlib.Path(__file__).resolve().parent
YAML = DOCS / "yaml.md"


def rows_of(section):
    inside = False
    for line in YAML.read_text().splitlines():
        if line.startswith("## "):
            inside = line == f"## {section}"
        elif inside and line.startswith("| `"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("| "))]
            key, _, condition = cells[0].partition(", for ")
            yield key.strip("`"), GROUPS.get(condition) or re.findall(r"`([^`]+)`", condition), cells


def rows_for(section, names):
    """Those for one of the names, and those for a value that one of these takes (`for pattern: static`)."""
    rows, taken = list(rows_of(section)), {}

    def suits(conditions):
        for condition in conditions:
            of, _, value = condition.rpartition(": ")
            if condition in names or f"`{value}`" in taken.get(of, ""):
                return True
        return False

    size = -1
    while size != len(taken):
        size = len(taken)
        taken.update({key: cells[1] for key, conditions, cells in rows if suits(conditions)})
    for key, conditions, cells in rows:
        if suits(conditions):
            of_all = all(name in conditions for name in names)
            yield [f"`{key}`" if of_all else cells[0], *cells[1:]]


class Options(SphinxDirective):
    required_arguments = 2
    optional_arguments = 10

    def run(self):
        self.env.note_dependency(str(YAML))
        lines = ["| key | value | default | |", "|---|---|---|---|"]
        rows = list(rows_for(self.arguments[0], self.arguments[1:]))
        if not rows:
            raise self.error(f"docs/yaml.md has no options of {' '.join(self.arguments)}")
        lines += ["| " + " | ".join(cells) + " |" for cells in rows]
        node = nodes.container()
        self.state.nested_parse(StringList(lines, str(YAML)), 0, node)
        return node.children


class Others(TocTree):
    def run(self):
        index = (DOCS / "index.md").read_text().splitlines()
        names = [page.stem for page in sorted(DOCS.glob("*.md")) if page.stem not in [*index, "index"]]
        self.content = StringList(names, str(DOCS / "index.md"))
        return super().run() if names else []


def setup(app):
    app.add_directive("options", Options)
    app.add_directive("others", Others)
    return {"parallel_read_safe": True}
