#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the tables of the pages from the data in docs/data.

    docs/tables.py            writes the tables anew
    docs/tables.py --check    says which are not what the data give, and exits with 1

A page has `<!-- table FILE.NAME -->` and `<!-- end -->`. What stands between them is made of the measurement NAME of
docs/data/FILE.json: its table, and a line that says what was measured, on what, when and how. `<!-- table FILE.NAME
0 2-4 -->` shows some columns, counted from 0.

A measurement has `what` (quantity and unit), `machine`, `software`, `date`, `commit`, `notes`, and either `command`,
which made it, or, where a program that is not kept made it, perhaps `again`, a command that measures the same, or
`again_alone`, one that measures Solder's part of it. `rows` has a cell for each of `columns`. Where a column has a
`format`, `{}` stands for a number of the cell and `{,}` for one with thousands apart. Numbers are shown with the digits
that the file has.
"""
import json
import pathlib
import re
import sys
import textwrap

DOCS = pathlib.Path(__file__).resolve().parent
MARK = re.compile(r"<!-- table (\w+)\.(\w+)((?: \d+(?:-\d+)?)*) -->\n(.*?)<!-- end -->", re.S)


class Number(str):
    """A number with the digits that the file has."""


def measurements():
    found = {}
    for path in sorted((DOCS / "data").glob("*.json")):
        for name, value in json.loads(path.read_text(), parse_float=Number, parse_int=Number).items():
            found[path.stem, name] = value
    return found


def cell_text(cell, pattern):
    if cell is None:
        return ""
    if not isinstance(cell, (Number, list)):
        return cell
    numbers = iter(cell if isinstance(cell, list) else [cell])

    def number(match):
        value = next(numbers)
        if value is None:
            return "-"
        return f"{int(value):,}" if match.group() == "{,}" and value.isdigit() else str(value)

    return re.sub(r"\{,?\}", number, pattern)


def sentence(text):
    """With a capital, unless it begins with a name such as fem_poisson_2d, and a full stop."""
    if not re.search(r"[_`]", text.split()[0]):
        text = text[0].upper() + text[1:]
    return text if text.endswith(".") else text + "."


def provenance(m):
    where = ", ".join(m[key] for key in ("machine", "software") if key in m)
    said = [m["what"], where + (f"; {m['date']}" if "date" in m else ", date not noted")]
    if "commit" in m:
        said.append(f"Commit {m['commit']}")
    if "notes" in m:
        said.append(m["notes"])
    if "command" in m:
        said.append(f"Made by `{m['command']}`")
    elif "again" in m:
        said.append(f"Measured once by a program that is not kept; `{m['again']}` measures the same")
    elif "again_alone" in m:
        said.append(f"Measured once by programs that are not kept; `{m['again_alone']}` measures Solder's part")
    else:
        said.append("Measured once by a program that is not kept")
    text = " ".join(map(sentence, said))
    return textwrap.fill(text, 110, break_long_words=False, break_on_hyphens=False)


def table(m, chosen):
    columns = range(len(m["columns"]))
    if chosen:
        columns = []
        for part in chosen.split():
            first, _, last = part.partition("-")
            columns.extend(range(int(first), int(last or first) + 1))
    specs = [m["columns"][k] for k in columns]
    lines = ["| " + " | ".join(spec["name"] for spec in specs) + " |", "|" + "---|" * len(specs)]
    for row in m["rows"]:
        if len(row) != len(m["columns"]):
            raise SystemExit(f"a row of {len(row)} cells under {len(m['columns'])} columns: {row}")
        cells = (cell_text(row[k], m["columns"][k].get("format", "{}")) for k in columns)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(check):
    data, shown, stale = measurements(), set(), []
    for page in sorted(DOCS.rglob("*.md")):
        text, here = page.read_text(), set()

        def made(match):
            key = match.group(1), match.group(2)
            if key not in data:
                raise SystemExit(f"{page}: docs/data/{key[0]}.json has no {key[1]}")
            said = "The same measurement as above." if key in here else provenance(data[key])
            here.add(key)
            body = f"{table(data[key], match.group(3))}\n\n{said}\n"
            if match.group(4) != body:
                stale.append(f"{page.relative_to(DOCS.parent)}: {'.'.join(key)}")
            return f"<!-- table {key[0]}.{key[1]}{match.group(3)} -->\n{body}<!-- end -->"

        new = MARK.sub(made, text)
        shown |= here
        if len(MARK.findall(text)) != text.count("<!-- table "):
            raise SystemExit(f"{page}: a table without its end, or with another form of its name")
        if not check and new != text:
            page.write_text(new)
    for file, name in sorted(set(data) - shown):
        raise SystemExit(f"docs/data/{file}.json: no page shows {name}")
    if check and stale:
        print("tables that are not what docs/data gives (docs/tables.py writes them):", *stale, sep="\n  ")
        return 1
    print(f"{len(data)} measurements, {len(shown)} on pages" + ("" if check else f", {len(stale)} tables written"))
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
