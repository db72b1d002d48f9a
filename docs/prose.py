#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/prose.py: sentences that are too long to be read once, and lines that are wider than a screen, in all pages.

A sentence has at most 45 words, in README.md and docs/getting-started.md 40. A line has at most 110 characters, but for
tables and for links and commands that cannot be broken. Exits with 1 where one is longer.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIRST = {"README.md", "docs/getting-started.md"}
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


def main():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = []
    for page in pages:
        name = str(page.relative_to(ROOT))
        text = page.read_text()
        most = 40 if name in FIRST else 45
        for line, paragraph in paragraphs(re.sub(r"<!-- table.*?<!-- end -->", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)):
            for sentence in sentences(paragraph):
                words = len(re.findall(r"\S*\w\S*", sentence))
                if words > most:
                    found.append(f"{name}:{line}: {words} words: {sentence[:70]}...")
        for number, line in enumerate(text.splitlines(), 1):
            longest = max(map(len, re.findall(r"`[^`]*`|\S+", line)), default=0)
            if len(line) > 110 and not line.lstrip().startswith("|") and longest < 100 and "](" not in line:
                found.append(f"{name}:{number}: {len(line)} characters")
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
