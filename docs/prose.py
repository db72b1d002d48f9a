#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sentences that are too long to be read once, and lines that are wider than a screen, in all pages.

    docs/prose.py                  names them, and exits with 1 where there are any
    docs/prose.py --wrap FILE...   breaks the lines of these pages anew

A sentence has at most 45 words, in README.md and docs/getting-started.md 40. A line has at most 110 characters, but for
tables and for links and commands that cannot be broken.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIRST = {"README.md", "docs/getting-started.md"}
WIDTH = 110
TABLE = re.compile(r"^<!-- table .*?^<!-- end -->", re.S | re.M)
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|al|Nr)\.$")


def paragraphs(text):
    """(line, text) of each paragraph, list item and table cell that is prose."""
    gathered, start, in_code, mark = [], 0, False, ""
    for number, line in enumerate(text.splitlines() + [""], 1):
        stripped = line.strip()
        fence = re.match(r"(```+|~~~+)", stripped)
        if fence and (not in_code or stripped.startswith(mark)):
            in_code, mark = not in_code, fence.group(1)
        begins = re.match(r"(?:[-*]|\d+\.) ", stripped)
        ends = not stripped or in_code or fence or begins or re.match(r"[|#<]", stripped)
        if ends and gathered:
            yield start, " ".join(gathered)
            gathered = []
        if stripped.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", stripped.strip("|")):
                yield number, cell.strip()
        elif stripped and not in_code and not fence and not re.match(r"[#<]", stripped):
            if not gathered:
                start = number
            gathered.append(stripped)


def sentences(paragraph):
    paragraph = re.sub(r"`[^`]*`", "Code", paragraph)
    paragraph = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
    part = ""
    for piece in re.split(r"(?<=[.!?])[*_)]*\s+", paragraph):
        part += " " + piece
        if not ABBREVIATION.search(piece):
            yield part.strip()
            part = ""
    if part.strip():
        yield part.strip()


def words_of(text):
    """Words, code and the text of links in one piece where they are short."""
    pieces, piece = [], ""
    for word in text.split():
        if not piece and pieces and re.fullmatch(r"[-*+]|\d+\.", word):
            piece = pieces.pop()  # a line that began with it would begin a list
        piece = f"{piece} {word}" if piece else word
        in_code = piece.count("`") % 2 == 1 and len(piece) < 80
        in_link = re.search(r"\[[^\]]*$", piece) and len(piece) < 70
        if not in_code and not in_link:
            pieces.append(piece)
            piece = ""
    return pieces + [piece] * bool(piece)


def filled(first, rest, text):
    lines, line, empty = [], first, True
    for word in words_of(text):
        if not empty and len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line, empty = rest, True
        line += word if empty else " " + word
        empty = False
    return lines + [line]


def wrapped(text):
    lines, held, mark = [], None, ""

    def flush():
        if held:
            lines.extend(filled(held[0], held[1], " ".join(held[2])))

    for line in text.split("\n"):
        stripped, indent = line.strip(), line[: len(line) - len(line.lstrip())]
        fence = re.match(r"```+|~~~+", stripped)
        item = re.match(r"(\s*(?:[-*]|\d+\.) )(.*)", line)
        if mark or fence or not stripped or re.match(r"\s*[|<#]", line) or (len(indent) >= 4 and not held):
            flush()
            held = None
            lines.append(line)
            if fence and (not mark or stripped.startswith(mark)):
                mark = "" if mark else fence.group()
        elif item:
            flush()
            held = item.group(1), " " * len(item.group(1)), [item.group(2).strip()]
        elif held:
            held[2].append(stripped)
        else:
            held = indent, indent, [stripped]
    flush()
    return "\n".join(lines)


def wrap(paths):
    for path in map(pathlib.Path, paths):
        text, at, new = path.read_text(), 0, ""
        for table in TABLE.finditer(text):
            new += wrapped(text[at : table.start()]) + table.group()
            at = table.end()
        path.write_text(new + wrapped(text[at:]))


def main():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = []
    for page in pages:
        name = str(page.relative_to(ROOT))
        text = page.read_text()
        most = 40 if name in FIRST else 45
        for line, paragraph in paragraphs(TABLE.sub(lambda m: "\n" * m.group().count("\n"), text)):
            for sentence in sentences(paragraph):
                words = len(re.findall(r"\S*\w\S*", sentence))
                if words > most:
                    found.append(f"{name}:{line}: {words} words: {sentence[:70]}...")
        for number, line in enumerate(text.splitlines(), 1):
            longest = max(map(len, re.findall(r"`[^`]*`|\S+", line)), default=0)
            if len(line) > WIDTH and not line.lstrip().startswith("|") and longest < 100 and "](" not in line:
                found.append(f"{name}:{number}: {len(line)} characters")
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    if "--wrap" in sys.argv[1:]:
        wrap(path for path in sys.argv[1:] if path != "--wrap")
    else:
        sys.exit(main())
