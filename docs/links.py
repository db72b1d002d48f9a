#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/links.py FOLDER: whether every link within the pages of FOLDER leads to a file, and to a place in it."""
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.places, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.places.add(value)
            elif value and (name == "src" or (name == "href" and tag in ("a", "link"))):
                self.links.append(value)


def main(folder):
    root = pathlib.Path(folder).resolve()
    # Doxygen answers for its own pages.
    pages = {p: Page(p.read_text()) for p in root.rglob("*.html") if root / "api" not in p.parents}
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            place = urllib.parse.unquote(parts.fragment)
            known = target not in pages or not place or place in pages[target].places
            if not target.exists() or not known:
                dead.append(f"{path.relative_to(root)}: {link}")
    print(*sorted(set(dead)), sep="\n")
    if dead:
        print(f"{len(set(dead))} links lead nowhere")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
