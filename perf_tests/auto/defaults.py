#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every option of a solver and a preconditioner beside its default, by the time to 1e-8.

    ./defaults.py run --solves PROGRAM --matrices FOLDER --index INDEX.tsv --out defaults.jsonl
    ./defaults.py judge --out defaults.jsonl                   # a line for each value of each option
    ./defaults.py write --out defaults.jsonl --gpu gpu.jsonl   # docs/data/defaults.json

PROGRAM is auto_solves of solves.cpp, as for sweep.py: on hosts CPU seconds on one thread, on a GPU seconds, set-up and
solve. A solve counts where the residual of its x, computed anew, is at most 1e-8. Where the default has solved, a value
has three times its seconds; where it has not, a fixed limit. The default is measured before and after its values, and the
geometric mean of both counts.

Positive definite matrices are those that INDEX calls so; the others are the real ones that are not.
"""
import argparse
import collections
import json
import math
import pathlib
import sys
import time

from sweep import DOCS, Matrix, read, read_index, seconds

# What is asked for, on which matrices, and the values of each option. A dot: an option of the preconditioner. The first
# value is the default.
CASES = {
    "cg, jacobi": ("definite", "name=cg .name=jacobi", {"form": ["auto", "classical"]}),
    "cg, fsai": ("definite", "name=cg .name=fsai", {
        ".tau": [0.05, 0.01, 0.1, 0.2], ".k": [2, 1, 3], ".delta": [0.05, 0, 0.02, 0.1],
        ".energy_limit": [0.03, 0.01, 0.1, 1e9], ".pattern": ["static", "adaptive"], ".precision": ["same", "single"]}),
    "cg, fsai, adaptive": ("definite", "name=cg .name=fsai .pattern=adaptive", {
        ".steps": [5, 3, 8], ".entries_per_step": [8, 4, 16], ".improvement": [0.03, 0.003, 0.01]}),
    "cg, chebyshev": ("definite", "name=cg .name=chebyshev", {
        ".inner": ["jacobi", "none", "fsai"], ".degree": [4, 2, 8], ".eigenvalue_fraction": [0.02, 0.005, 0.05],
        ".lanczos_steps": [12, 6, 24]}),
    "cg, ic0": ("definite", "name=cg .name=ic0", {
        ".ordering": ["auto", "natural", "rcm", "multicolour", "amd"], ".schedule": ["auto", "natural", "levels", "partition"],
        ".shift": [1e-3, 1e-4, 1e-2], ".sweeps": [0, 3], ".trisolve": ["exact", "jacobi"]}),
    "cg, ick": ("definite", "name=cg .name=ick", {
        ".level": [1, 2, 3], ".ordering": ["auto", "rcm", "amd"]}),
    "cg, ict": ("definite", "name=cg .name=ict", {
        ".drop_tolerance": [1e-3, 1e-2, 1e-4], ".fill_factor": [10, 3, 30], ".ordering": ["auto", "rcm", "amd"]}),
    "cg, amg": ("definite", "name=cg .name=amg", {
        ".interpolation": ["auto", "extended"], ".strength": [0.25, 0.1, 0.5], ".smoother": ["chebyshev", "jacobi", "fsai"],
        ".cycle": ["v", "w"], ".pre": [1, 2], ".max_coarse_size": [128, 32, 512], ".precision": ["same", "single"]}),
    "bicgstab, ilu0": ("general", "name=bicgstab .name=ilu0", {
        "form": ["pipelined", "classical"], ".ordering": ["auto", "rcm", "multicolour", "amd"]}),
    "gmres, ilu0": ("general", "name=gmres .name=ilu0", {
        "form": ["cgs2", "cgs", "mgs", "pipelined", "flexible"], "restart": [30, 15, 60, 120],
        "reorthogonalisation": ["lost", "halved"], "basis": ["same", "single"],
        ".ordering": ["auto", "rcm", "multicolour", "amd"]}),
    "idr, ilu0": ("general", "name=idr .name=ilu0", {
        "shadow_dimension": [4, 1, 2, 8], "smoothing": ["false", "true"],
        ".ordering": ["auto", "rcm", "multicolour", "amd"]}),
    "gmres, ilut": ("general", "name=gmres .name=ilut", {
        ".drop_tolerance": [1e-3, 1e-2, 1e-4], ".fill_factor": [10, 5, 20], ".ordering": ["auto", "natural", "rcm"],
        ".scale": ["none", "equilibrate"], ".match": ["none", "product"]}),
    "gmres, iluk": ("general", "name=gmres .name=iluk", {".level": [1, 2, 3], ".ordering": ["auto", "rcm", "amd"]}),
}


def parameters(case, option=None, value=None):
    own = "" if option is None else f" {option}={value}"
    return f"{CASES[case][1]} max_iterations=10000 check_symmetry=false{own}"


def run(arguments):
    definite = {name for name, line in read_index(arguments.index).items() if line["SPD"] == "yes"}
    done = {line["matrix"] for line in read(arguments.out) if line["run"] == "end"}
    paths = sorted(pathlib.Path(arguments.matrices).glob("*.mtx*"))[arguments.first::arguments.every]
    with open(arguments.out, "a", buffering=1) as file:
        for path in paths:
            if path.name.split(".mtx")[0] in done:
                continue
            matrix = Matrix(path, arguments)
            kind = "definite" if matrix.name in definite else "general"
            if matrix.field == "complex" or matrix.look["rows"] > arguments.rows:
                matrix.close()
                continue
            begin = time.monotonic()

            def solve(case, option, value, limit):
                line = matrix.measured(parameters(case, option, value), limit, arguments.repeat)
                line.update(matrix=matrix.name, run=case, option=option, value=value)
                line.pop("history", None)
                file.write(json.dumps(line) + "\n")
                return seconds(line)
            for case, (wanted, _, options) in CASES.items():
                if kind != wanted or (arguments.cases and case not in arguments.cases.split("; ")):
                    continue
                taken = solve(case, None, None, arguments.limit)
                for option, values in options.items():
                    for value in values[1:]:
                        solve(case, option, value, 3 * taken + arguments.least if taken < math.inf else arguments.unsolved)
                if taken < math.inf:
                    solve(case, None, None, arguments.limit)
            matrix.close()
            file.write(json.dumps({"matrix": matrix.name, "run": "end"}) + "\n")
            print(f"{matrix.name}: {kind}, {time.monotonic() - begin:.1f} s", flush=True)


def judged(out):
    """A row for each value that is no default: what it gains and loses, and its time over that of the default."""
    lines = collections.defaultdict(lambda: collections.defaultdict(list))  # (case, option, value) -> matrix -> seconds
    for line in read(out):
        if line["run"] != "end" and "not in this build" not in line.get("text", ""):
            lines[line["run"], line["option"], line["value"]][line["matrix"]].append(seconds(line))
    taken = collections.defaultdict(dict)
    for key, of in lines.items():
        taken[key] = {matrix: math.prod(all) ** (1 / len(all)) for matrix, all in of.items()}
    rows = []
    for case, (_, _, options) in CASES.items():
        default = taken[case, None, None]
        for option, values in options.items():
            for value in values[1:]:
                of = {matrix: each for matrix, each in taken[case, option, value].items() if matrix in default}
                both = [math.log(of[m] / default[m]) for m in of if max(of[m], default[m]) < math.inf]
                gained = sum(of[m] < math.inf == default[m] for m in of)
                lost = sum(default[m] < math.inf == of[m] for m in of)
                if of:
                    rows.append((case, option.lstrip("."), values[0], value, len(both) + lost, gained, lost,
                                 math.exp(sum(both) / len(both)) if both else math.nan,
                                 sum(x < -math.log(1.25) for x in both), sum(x > math.log(1.25) for x in both)))
    return rows


def judge(arguments):
    for row in judged(arguments.out):
        print("%-20s %-20s %9s -> %-11s default solves %3d, gained %2d, lost %2d, time %.2f, quicker on %2d, slower on %2d" % row)


def write(arguments):
    hosts, gpu = judged(arguments.out), {row[:4]: row for row in judged(arguments.gpu)}

    def shown(value):
        return f"{value:g}" if isinstance(value, float) else value

    def rounded(time):
        return None if math.isnan(time) else float(f"{time:.2f}")
    rows = []
    for case, option, default, value, solved, gained, lost, time_of, quicker, slower in hosts:
        of_gpu = gpu.get((case, option, default, value))
        rows.append([case, f"`{option}`", *(f"`{shown(v)}`" for v in (default, value)), solved, gained, lost,
                     rounded(time_of), quicker, slower, *([of_gpu[4] - of_gpu[6], rounded(of_gpu[7])] if of_gpu else [None] * 2)])
    names = ["method", "option", "default", "value", "default solves", "gained", "lost", "time", "quicker", "slower",
             "GPU: both solve", "time"]
    table = {"what": "matrices that a value solves and the default does not, and the reverse; its time to 1e-8 in that of "
                     "the default, geometric mean of those that both solve; matrices on which it is quicker or slower by a quarter",
             "machine": arguments.machine, "software": arguments.software, "date": arguments.date,
             "command": "perf_tests/auto/defaults.py run, and write"}

    def listed(name, entries):
        return f'    "{name}": [\n' + ",\n".join("      " + json.dumps(entry) for entry in entries) + "\n    ]"
    members = [f"    {json.dumps(name)}: {json.dumps(value)}" for name, value in table.items()]
    members += [listed("columns", [{"name": name} for name in names]), listed("rows", rows)]
    (DOCS / "data" / "defaults.json").write_text('{\n  "options": {\n' + ",\n".join(members) + "\n  }\n}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "judge", "write"])
    parser.add_argument("--solves", default="auto_solves")
    parser.add_argument("--matrices")
    parser.add_argument("--index", help="names and what they are, with tabs: name, SPD (yes or no)")
    parser.add_argument("--out", default="defaults.jsonl")
    parser.add_argument("--gpu", help="the same of a GPU, for write")
    parser.add_argument("--limit", type=float, default=2, help="seconds of a default")
    parser.add_argument("--unsolved", type=float, default=0.3, help="seconds of a value where the default has not solved")
    parser.add_argument("--least", type=float, default=0.005,
                        help="seconds that each value has beyond three times the default's; a GPU needs 0.15")
    parser.add_argument("--repeat", type=float, default=0.01, help="a solve is repeated for so many seconds, the least counts")
    parser.add_argument("--rows", type=int, default=20000, help="of the largest matrix")
    parser.add_argument("--first", type=int, default=0, help="the first matrix, in the order of names")
    parser.add_argument("--cases", help="these alone, with semicolons")
    parser.add_argument("--every", type=int, default=1, help="take every so many")
    parser.add_argument("--patience", type=float, default=600, help="seconds more by the clock, until PROGRAM is ended")
    parser.add_argument("--root", default="", help="folder that PROGRAM sees as /")
    parser.add_argument("--machine", default="one thread of a shared machine")
    parser.add_argument("--software", default="")
    parser.add_argument("--date", default=time.strftime("%Y-%m-%d"), help="of the measurement, for write")
    arguments = parser.parse_args()
    return {"run": run, "judge": judge, "write": write}[arguments.what](arguments)


if __name__ == "__main__":
    sys.exit(main())
