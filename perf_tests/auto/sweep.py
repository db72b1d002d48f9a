#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every combination of solver and preconditioner on every matrix, and what `auto` makes of the same.

    ./sweep.py run --solves PROGRAM --matrices FOLDER --out sweep.jsonl    # auto, combinations, the best ones again
    ./sweep.py again ...                                  # auto anew, beside the best combinations that are known
    ./sweep.py judge --out sweep.jsonl --index INDEX.tsv                # what was asked for, and the worst matrices
    ./sweep.py write --out sweep.jsonl --peers peers.jsonl --index ...  # docs/data/auto.json and auto_sweep.csv
    ./sweep.py table --out sweep.jsonl --csv FILE                       # such a CSV file alone

PROGRAM is auto_solves of solves.cpp: on hosts CPU seconds on one thread, from the matrix to x, so that what else runs
on the machine counts little; on a GPU, seconds. A solve counts where the residual of its x, computed anew, is at most
1e-8.

What is left out: a combination is ended at twice the seconds of the best one before it, or of auto, or, where nothing
has solved yet, at a fixed limit: it cannot be the best then. cg is tried where the file says symmetric or hermitian.
The combinations that solve most go first. The three fastest and auto are run again, in turn, and the least time counts.

The matrices are in the order of their names; those with an odd index, from 0, are held out: nothing is fitted to them.
"""
import argparse
import collections
import csv
import gzip
import json
import math
import os
import pathlib
import select
import shlex
import subprocess
import sys
import time

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
STURDY = ".drop_tolerance=1e-4 .fill_factor=20 .ordering=amd .scale=equilibrate .match=product"
DIRECT = STURDY.replace("1e-4", "1e-10").replace("=20", "=1000")
# A preconditioner's name here, and what the solver is given for it.
PRECONDITIONERS = {
    "none": "", "jacobi": "", "ic0": "", "ilu0": "", "fsai": "", "amg": "", "chebyshev": "",
    "ict": ".ordering=amd",
    "ict-fill": ".name=ict .drop_tolerance=1e-4 .fill_factor=10 .ordering=amd",
    "ict-direct": ".name=ict .drop_tolerance=0 .fill_factor=1000 .ordering=amd .shift=0",
    "ilut": ".ordering=amd .scale=equilibrate .match=product",
    "ilut-fill": ".name=ilut " + STURDY,
    "ilut-direct": ".name=ilut " + DIRECT,
    "iluk": ".ordering=amd",
    "ilut-unmatched": ".name=ilut " + STURDY.replace(" .match=product", ""),
}
HERMITIAN = ["cg+jacobi", "cg+ic0", "cg+fsai", "cg+amg", "cg+ict", "cg+ict-fill", "cg+ict-direct", "cg+chebyshev",
             "cg+none"]
GENERAL = ["gmres+ilut", "idr+ilu0", "gmres+ilut-fill", "bicgstab+jacobi", "bicgstab+amg", "gmres+ilu0",
           "bicgstab+ilu0", "gmres+ilut-direct", "idr+ilut", "bicgstab+ilut", "idr+jacobi", "bicgstab+none", "idr+amg",
           "gmres+amg", "idr+ilut-fill", "bicgstab+ilut-fill", "gmres+jacobi", "idr+none", "gmres+none", "gmres+iluk",
           "bicgstab+iluk", "idr+iluk", "gmres+ilut-unmatched"]
PEERS = {"petsc": "PETSc", "spilu-1e-4": "spilu, 1e-4", "spilu-1e-2": "spilu, 1e-2"}


def parameters(key):
    if key == "auto":
        return ""
    solver, preconditioner = key.split("+")
    inner = PRECONDITIONERS[preconditioner]
    inner = inner if ".name=" in inner else f".name={preconditioner} {inner}"
    return f"name={solver} max_iterations=10000 check_symmetry=false {inner}"


class Matrix:
    """One matrix, and the process that has read it."""

    def __init__(self, path, arguments):
        self.path, self.name = path, path.name.split(".mtx")[0]
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
            self.field, self.symmetry = file.readline().lower().split()[3:5]
        self.command = shlex.split(arguments.solves) + [str(path).removeprefix(arguments.root)]
        self.patience = arguments.patience
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.look = json.loads(self.process.stdout.readline())

    def combinations(self):
        is_hermitian = self.symmetry == ("hermitian" if self.field == "complex" else "symmetric")
        return (HERMITIAN if is_hermitian else []) + GENERAL

    def solve(self, key, limit, repeat):
        return {"matrix": self.name, "run": key, "limit": limit, **self.measured(parameters(key), limit, repeat)}

    def measured(self, parameters, limit, repeat):
        self.process.stdin.write(f"{limit:.4f} {repeat} {parameters}\n")
        self.process.stdin.flush()
        begin = time.monotonic()
        answers, _, _ = select.select([self.process.stdout], [], [], limit + repeat + self.patience)
        line = self.process.stdout.readline() if answers else ""
        if line:
            answer = json.loads(line)
        else:
            answer = {"reason": "crash" if answers else "time", "seconds": time.monotonic() - begin}
            self.process.kill()
            self.process.wait()
            self.start()
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def read(out):
    if not pathlib.Path(out).exists():
        return []
    with open(out) as file:
        return [json.loads(line) for line in file]


def seconds(result):
    """Infinite where it has not solved."""
    residual = result.get("residual")
    return result["seconds"] if residual is not None and residual <= 1.0001e-8 else math.inf


def least(lines):
    """{run: its fastest result}, of those that were run again beside auto: they share the state of the machine"""
    of = collections.defaultdict(list)
    for line in lines:
        of[line["run"]].append(line)
    latest = {key: max(line.get("session", 0) for line in results) for key, results in of.items()}
    return {key: min((line for line in results if line.get("session", 0) == latest[key]), key=seconds)
            for key, results in of.items()}


def fastest(lines, count):
    of = sorted((seconds(line), key) for key, line in least(lines).items() if "+" in key)
    return [key for taken, key in of[:count] if taken < math.inf]


def run(arguments):
    known = read(arguments.out)
    done = collections.defaultdict(list)
    if arguments.what == "again":
        known = [line for line in known if "+" in line["run"]]
    for line in known:
        done[line["matrix"]].append(line)
    paths = sorted(pathlib.Path(arguments.matrices).glob("*.mtx*"))
    session = 1 + max((line.get("session", 0) for line in known), default=-1)
    names = set(arguments.names.split(",")) if arguments.names else None
    with open(arguments.out, "w", buffering=1) as file:
        file.writelines(json.dumps(line) + "\n" for line in known)
        for index, path in enumerate(paths):
            if arguments.fitted and is_held_out(index):
                continue
            name, lines = path.name.split(".mtx")[0], done[path.name.split(".mtx")[0]]
            if (names and name not in names) or any(line["run"] == "end" for line in lines):
                continue
            begin = time.monotonic()
            matrix = Matrix(path, arguments)

            def solve(key, limit, repeat):
                lines.append({**matrix.solve(key, limit, repeat), "session": session})
                file.write(json.dumps(lines[-1]) + "\n")
            lines.append({"matrix": name, "run": "look", **matrix.look})
            file.write(json.dumps(lines[-1]) + "\n")
            solve("auto", arguments.limit, 0.03)
            of_auto = seconds(lines[-1])
            if arguments.what == "run" or not fastest(lines, 1):
                tried = {line["run"] for line in lines}
                for key in [key for key in matrix.combinations() if key not in tried]:
                    best = min((seconds(line) for line in lines if "+" in line["run"]), default=math.inf)
                    solve(key, max(arguments.least, min(2 * best, 2 * of_auto, arguments.unsolved)), 0.01)
            for _ in range(0 if arguments.fitted else 2 if of_auto < 0.3 else 1 if of_auto < 3 else 0):
                for key in ["auto", *fastest(lines, 3)]:
                    solve(key, arguments.limit, 0.03)
            matrix.close()
            file.write(json.dumps({"matrix": name, "run": "end"}) + "\n")
            best = fastest(lines, 1)
            taken, auto = (seconds(least(lines)[best[0]]) if best else math.inf), seconds(least(lines)["auto"])
            print(f"{name}: auto {auto:.4g} s, best {best} {taken:.4g} s, ratio {auto / taken if taken < math.inf else 0:.2f}; "
                  f"{time.monotonic() - begin:.1f} s", flush=True)


def is_held_out(index):
    return index % 2 == 1


class Judged:
    """What is known of a matrix."""

    def __init__(self, index, name, lines):
        self.name, self.is_held_out = name, is_held_out(index)
        self.runs = least(line for line in lines if line["run"] not in ("end", "look"))
        self.look = next(line for line in lines if line["run"] == "look")
        self.auto = self.runs["auto"]
        best = fastest(lines, 1)
        self.best = best[0] if best else None
        self.of_best = seconds(self.runs[self.best]) if best else math.inf
        self.of_auto = seconds(self.auto)
        self.attempts = self.auto.get("attempts") or []

    def ratio(self):
        return self.of_auto / self.of_best if max(self.of_auto, self.of_best) < math.inf else None

    def chosen(self):
        last = self.attempts[-1]
        return last["solver"] + "+" + last["preconditioner"]


def judged(arguments):
    of = collections.defaultdict(list)
    for line in read(arguments.out):
        of[line["matrix"]].append(line)
    return [Judged(index, name, of[name]) for index, name in enumerate(sorted(of)) if any(line["run"] == "auto" for line in of[name])]


def read_index(path):
    with open(path) as file:
        return {line["name"]: line for line in csv.DictReader(file, delimiter="\t")}


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def judge(arguments):
    matrices, index = judged(arguments), read_index(arguments.index)
    for group, of in {"fitted": [m for m in matrices if not m.is_held_out],
                      "held out": [m for m in matrices if m.is_held_out], "all": matrices,
                      "best below 1 ms": [m for m in matrices if m.of_best < 1e-3],
                      "best 1 to 10 ms": [m for m in matrices if 1e-3 <= m.of_best < 1e-2],
                      "best from 10 ms on": [m for m in matrices if 1e-2 <= m.of_best < math.inf],
                      "hermitian files": [m for m in matrices if any(k.startswith("cg") for k in m.runs)],
                      }.items():
        ratios = sorted(m.ratio() for m in of if m.ratio())
        if not ratios:
            continue
        print(f"{group}: {len(of)} matrices; auto solves {sum(m.of_auto < math.inf for m in of)}, some combination "
              f"{sum(m.best is not None for m in of)}; missed {[m.name for m in of if m.best and m.of_auto == math.inf]}; "
              f"ratio: mean {mean(ratios):.3f}, at most 1.5 on {sum(r <= 1.5 for r in ratios)} of {len(ratios)} "
              f"({100 * sum(r <= 1.5 for r in ratios) / len(ratios):.0f}%), median {ratios[len(ratios) // 2]:.2f}, worst {ratios[-1]:.1f}")
    definite = [m for m in matrices if index[m.name]["SPD"] == "yes"]
    print(len(definite), "SPD; not seen as one:", [m.name for m in definite if not m.attempts or m.attempts[0]["solver"] != "cg"])
    print("solved by another than cg:", [(m.name, m.chosen()) for m in definite if m.of_auto < math.inf and m.attempts[-1]["solver"] != "cg"])
    print("no SPD, solved by cg:", [m.name for m in matrices if index[m.name]["SPD"] != "yes" and m.of_auto < math.inf
                                    and m.attempts[-1]["solver"] == "cg"])
    false = [(m.name, key, line["residual"]) for m in matrices for key, line in m.runs.items()
             if line["reason"] == "converged" and not (line["residual"] is not None and line["residual"] <= 1.0001e-8)]
    print("false converged:", false)
    if arguments.peers:
        peers = {(line["matrix"], line["run"]): line for line in read(arguments.peers)}
        for run in PEERS:
            solved = [m for m in matrices if peers.get((m.name, run), {}).get("solved")]
            ratios = [m.of_auto / peers[m.name, run]["seconds"] for m in solved if m.of_auto < math.inf]
            print(f"{run}: solves {len(solved)}, held out {sum(m.is_held_out for m in solved)}; auto not: "
                  f"{[m.name for m in solved if m.of_auto == math.inf]}; auto's seconds / its: mean {mean(ratios):.3f}")
    for m in sorted((m for m in matrices if m.ratio() and m.ratio() > arguments.above), key=lambda m: -m.ratio()):
        if m.is_held_out and not arguments.all:
            continue
        print(f"{m.name}: {m.look['rows']} rows, {m.look['entries']} entries, ratio {m.ratio():.2f}, {1e3 * m.of_auto:.3f} ms, best "
              f"{1e3 * m.of_best:.3f} ms by {m.best} ({m.runs[m.best]['iterations']} its); look {1e3 * m.look['seconds']:.3f} ms")
        for a in m.attempts:
            print(f"    {a['solver']}+{a['preconditioner']}: {a['reason']}, {a['iterations']} its, set-up {1e3 * a['setup']:.3f} ms, "
                  f"solve {1e3 * a['solve']:.3f} ms; {a['ended'][:90]}")


def times(value):
    """With two digits behind the point, or none where there are three before it."""
    return float(f"{value:.3g}") if value < 100 else round(value)


def of_peer(peers, m, run):
    line = peers.get((m.name, run), {"solved": False})
    return line["seconds"] if line["solved"] else math.inf


def write(arguments):
    matrices, index = judged(arguments), read_index(arguments.index)
    peers = {(line["matrix"], line["run"]): line for line in read(arguments.peers)}
    about = {"machine": "one thread of a shared machine", "software": "PETSc 3.18.5, SciPy 1.10.1", "date": arguments.date,
             "command": "perf_tests/auto/sweep.py write --out sweep.jsonl --peers peers.jsonl --index INDEX.tsv"}

    def peer(m, run):
        return of_peer(peers, m, run)

    def summary(of, taken, name):
        ratios = sorted(m.of_auto / taken(m) for m in of if max(m.of_auto, taken(m)) < math.inf)
        return [sum(taken(m) < math.inf for m in of), sum(m.of_auto == math.inf > taken(m) for m in of),
                None if name == "`auto`" else times(mean(ratios)),
                None if name == "`auto`" else round(100 * sum(r <= 1.5 for r in ratios) / len(ratios))]
    rows = []
    for name, taken in [("`auto`", lambda m: m.of_auto), ("the best combination of each matrix", lambda m: m.of_best),
                        *((f"PETSc, GMRES(30) with ILU(0)" if run == "petsc" else f"SciPy, GMRES(30) with spilu, {run[6:]}",
                           lambda m, run=run: peer(m, run)) for run in PEERS),
                        ("the quicker of both spilu", lambda m: min(peer(m, "spilu-1e-4"), peer(m, "spilu-1e-2")))]:
        for group, of in {"fitted": [m for m in matrices if not m.is_held_out],
                          "held out": [m for m in matrices if m.is_held_out]}.items():
            rows.append([name, group, len(of), *summary(of, taken, name)])
    data = {"summary": {
        "what": "matrices solved, and CPU seconds of auto over those of others where both solve, geometric mean", **about,
        "columns": [{"name": "by"}, {"name": "matrices"}, {"name": "of them"}, {"name": "solved"}, {"name": "of these not by `auto`"},
                    {"name": "`auto` takes, times"}, {"name": "at most 1.5 on, %"}], "rows": rows}}
    shown = lambda m, run: times(peer(m, run) / m.of_best if m.of_best < math.inf else math.inf) if peer(m, run) < math.inf else "-"
    data["matrices"] = {
        "what": "CPU milliseconds of the best combination, and CPU seconds over it of auto and of others", **about,
        "notes": "\\* held out; - not solved",
        "columns": [{"name": "matrix"}, {"name": "rows", "format": "{,}"}, {"name": "best combination"}, {"name": "ms"},
                    {"name": "`auto` chose"}, {"name": "tried"}, {"name": "`auto`"}, {"name": "PETSc"}, {"name": "spilu 1e-4"},
                    {"name": "1e-2"}],
        "rows": [[m.name.replace("_", "\\_") + (" \\*" if m.is_held_out else ""), m.look["rows"], m.best or "-",
                  times(1e3 * m.of_best) if m.best else "-", m.chosen() if m.of_auto < math.inf else "-", len(m.attempts),
                  times(m.ratio()) if m.ratio() else "-", *(shown(m, run) for run in PEERS)] for m in matrices]}
    lines = []
    for name, measurement in data.items():
        rows = measurement.pop("rows")
        text = json.dumps(measurement, indent=2)[:-2] + ',\n  "rows": [\n'
        text += ",\n".join("    " + json.dumps(row) for row in rows) + "\n  ]\n}"
        lines.append(json.dumps(name) + ": " + text)
    (DOCS / "data" / "auto.json").write_text(
        "{\n" + ",\n".join(lines).replace("\n", "\n  ").replace('"summary"', '  "summary"', 1).replace('\n  "matrices": {', '\n  "matrices": {') + "\n}\n")
    write_table(DOCS / "data" / "auto_sweep.csv", matrices, peers)


def table(arguments):
    write_table(arguments.csv, judged(arguments), {})


def write_table(path, matrices, peers):
    """A line for each matrix: milliseconds, or why it was not solved."""
    keys = ["auto", *HERMITIAN, *GENERAL, *(PEERS if peers else [])]

    def cell(m, key):
        line = m.runs.get(key)
        if key not in PEERS and line is None:
            return ""
        taken = of_peer(peers, m, key) if key in PEERS else seconds(line)
        return f"{1e3 * taken:.4g}" if taken < math.inf else "-" if key in PEERS else line["reason"]

    with open(path, "w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["matrix", "rows", "entries", *(["held out"] if peers else []), *keys])
        for m in matrices:
            lines.writerow([m.name, m.look["rows"], m.look["entries"], *([int(m.is_held_out)] if peers else []),
                            *(cell(m, key) for key in keys)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "again", "judge", "write", "table"])
    parser.add_argument("--solves", default="auto_solves")
    parser.add_argument("--matrices")
    parser.add_argument("--out", default="sweep.jsonl")
    parser.add_argument("--peers")
    parser.add_argument("--csv", help="of table")
    parser.add_argument("--index", help="names and what they are, with tabs: name, SPD (yes or no)")
    parser.add_argument("--limit", type=float, default=60, help="seconds of a solve")
    parser.add_argument("--unsolved", type=float, default=5, help="seconds of a combination where none has solved")
    parser.add_argument("--least", type=float, default=0.005, help="seconds that each combination has; a GPU needs 0.15")
    parser.add_argument("--patience", type=float, default=600, help="seconds more by the clock, until PROGRAM is ended")
    parser.add_argument("--above", type=float, default=1.5, help="the ratios that judge shows")
    parser.add_argument("--all", action="store_true", help="judge shows those that are held out, too")
    parser.add_argument("--date", default=time.strftime("%Y-%m-%d"), help="of the measurement, for write")
    parser.add_argument("--names", help="of matrices, with commas")
    parser.add_argument("--fitted", action="store_true", help="those that are not held out, and auto alone, once")
    parser.add_argument("--root", default="", help="folder that PROGRAM sees as /")
    arguments = parser.parse_args()
    return {"judge": judge, "write": write, "table": table}.get(arguments.what, run)(arguments)


if __name__ == "__main__":
    sys.exit(main())
