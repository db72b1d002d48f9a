#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the README's picture, docs/images/cg.svg, from docs/data/runners.json: time over size, both logarithmic.

    docs/picture.py            draws it
    docs/picture.py --check    exits with 1 where the file is not what the data give
"""
import json
import math
import pathlib
import sys

DOCS = pathlib.Path(__file__).resolve().parent
FILE = DOCS / "images" / "cg.svg"
# (column of the data, name, colour)
LINES = [
    (6, "Kokkos Kernels", "#8a63d2"),
    (5, "cuSPARSE + cuBLAS", "#b7791f"),
    (3, "ViennaCL", "#2b6cb0"),
    (4, "the same, in a CUDA graph", "#718096"),
    (2, "Solder", "#c53030"),
]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 340, 56, 190, 34, 44
SIZES, TIMES = (3e3, 5e6), (2, 1000)


def x_of(n):
    share = math.log(n / SIZES[0]) / math.log(SIZES[1] / SIZES[0])
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def y_of(t):
    share = math.log(t / TIMES[0]) / math.log(TIMES[1] / TIMES[0])
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def text(x, y, words, anchor="middle", colour="#2d3748", weight="normal"):
    return (f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{colour}" font-weight="{weight}">'
            f"{words}</text>")


def picture():
    data = json.loads((DOCS / "data" / "runners.json").read_text())["beside_peers"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        "<title>Microseconds an iteration of CG takes, over the number of unknowns</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#ffffff"/>',
        text(LEFT, 20, f"CG on {data['machine']}, double, 2D finite elements: microseconds an iteration", "start",
             weight="bold"),
    ]
    for t in (2, 5, 10, 20, 50, 100, 200, 500, 1000):
        parts.append(f'<path d="M{LEFT} {y_of(t):.1f}H{WIDTH - RIGHT}" stroke="#e2e8f0"/>')
        parts.append(text(LEFT - 6, y_of(t) + 4, t, "end"))
    for n, name in ((1e4, "10,000"), (1e5, "100,000"), (1e6, "1,000,000")):
        parts.append(f'<path d="M{x_of(n):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#e2e8f0"/>')
        parts.append(text(x_of(n), HEIGHT - BOTTOM + 16, name))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "unknowns"))
    ends = []
    for column, name, colour in LINES:
        points = [(x_of(row[0]), y_of(row[column])) for row in data["rows"]]
        wide = 3 if name == "Solder" else 1.6
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{wide}"/>')
        parts.extend(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{wide + 0.6}" fill="{colour}"/>' for x, y in points)
        ends.append([points[-1][1], name, colour])
    # Names beside the ends, none over another.
    below = 0
    for y, name, colour in sorted(ends):
        below = max(y, below + 15)
        parts.append(text(WIDTH - RIGHT + 8, below + 4, name, "start", colour, "bold" if name == "Solder" else "normal"))
    return "\n".join(parts + ["</svg>", ""])


def main(check):
    drawn = picture()
    if check and (not FILE.exists() or FILE.read_text() != drawn):
        print("docs/images/cg.svg is not what docs/data gives (docs/picture.py draws it)")
        return 1
    if not check:
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
