#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every combination of solver and preconditioner on every matrix, and what `auto` makes of the same.

    ./sweep.py run --driver ../../solder --matrices FOLDER --out sweep.json          # combinations, and auto
    ./sweep.py run ... --only auto                                                   # auto alone, anew
    ./sweep.py table --out sweep.json                                                # Markdown

Each solve is a process of its own with a limit of CPU seconds, to a relative residual of 1e-8 from x = 0 with b = A ones.
Results are added to the file as they come, so a run that was ended goes on where it was. A solve counts where the
driver says `converged`. The time of a combination is set-up + solve as the driver reports it, without reading the file;
auto's has the look at the matrix and all attempts in it. With `table --by cpu`, for busy machines and one thread, it is
the CPU time of the process less that of one that does a single iteration. The table sets auto beside the fastest
combination.
"""
import argparse
import json
import math
import os
import pathlib
import resource
import shlex
import subprocess
import sys
import tempfile
import time

HERMITIAN_SOLVERS = ["cg"]
HERMITIAN = ["jacobi", "ic0", "ict", "fsai", "amg", "chebyshev"]
GENERAL_SOLVERS = ["gmres", "bicgstab", "idr"]
GENERAL = ["none", "jacobi", "ilu0", "ilut", "amg"]
OPTIONS = {"ict": {"ordering": "amd"},
           "ilut": {"ordering": "amd", "scale": "equilibrate", "match": "product"}}


def header(path):
    """(rows, field, symmetry) of a Matrix Market file."""
    import gzip
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        words = file.readline().lower().split()
        for line in file:
            if not line.startswith("%") and line.strip():
                return int(line.split()[0]), words[3], words[4]


def combinations(symmetry):
    pairs = [(s, p) for s in GENERAL_SOLVERS for p in GENERAL]
    if symmetry != "general":
        pairs = [(s, p) for s in HERMITIAN_SOLVERS for p in HERMITIAN] + pairs
    return pairs


def solve(arguments, matrix, field, solver, preconditioner, limit, most=10000):
    """One process: what its JSON says, or how it ended."""
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
        out = pathlib.Path(folder) / "result.json"
        seen = lambda path: arguments.prefix_removed(path)
        sections = {"problem": {"matrix": seen(matrix), "rhs": "unit_solution",
                                "scalar": "complex_double" if field == "complex" else "double"},
                    "output": {"json": seen(out)}}
        if solver != "auto":
            sections["solver"] = {"name": solver, "check_symmetry": "false", "max_iterations": most}
            sections["preconditioner"] = {"name": preconditioner, **OPTIONS.get(preconditioner, {})}
        else:
            sections["solver"] = {"name": "auto"}
        text = "\n".join(f"{name}: {json.dumps(keys)}" for name, keys in sections.items())
        yaml = pathlib.Path(folder) / "run.yaml"
        yaml.write_text(text.replace('"false"', "false") + "\n")
        begin, used = time.monotonic(), cpu_seconds()
        seconds = math.ceil(limit)
        done = subprocess.run(shlex.split(arguments.driver) + [seen(yaml)], capture_output=True, text=True,
                              env={**os.environ, "OMP_NUM_THREADS": str(arguments.threads)},
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)))
        used = cpu_seconds() - used
        if not out.exists():
            late = used > 0.9 * limit
            return {"reason": "time" if late else "error", "code": done.returncode, "cpu": used,
                    "text": done.stderr[-400:]}
        run = json.loads(out.read_text())["runs"][0]
        kept = {key: run.get(key) for key in ("reason", "iterations", "true_relative_residual", "setup_seconds",
                                              "solve_seconds", "detail")}
        if solver == "auto":
            kept["attempts"] = run.get("attempts")
        kept["wall"], kept["cpu"] = time.monotonic() - begin, used
        return kept


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(arguments):
    out = pathlib.Path(arguments.out)
    results = json.loads(out.read_text()) if out.exists() else {}
    paths = sorted(pathlib.Path(arguments.matrices).glob("*.mtx*"), key=lambda path: path.stat().st_size)
    names = set(arguments.names.split(",")) if arguments.names else None
    for path in paths:
        name = path.name.split(".mtx")[0]
        if names and name not in names:
            continue
        rows, field, symmetry = header(path)
        if rows > arguments.most_rows or (field == "complex" and not arguments.complex):
            continue
        of = results.setdefault(name, {"rows": rows, "field": field, "symmetry": symmetry, "runs": {}})
        if "reading" not in of:
            of["reading"] = solve(arguments, path, field, "cg", "none", arguments.limit, 1).get("cpu", 0)
        pairs = [("auto", "auto")] if arguments.only == "auto" else combinations(symmetry)
        if not arguments.only:
            pairs.append(("auto", "auto"))
        for solver, preconditioner in pairs:
            key = f"{solver}+{preconditioner}" if solver != "auto" else "auto"
            if key in of["runs"] and not (arguments.only and key == arguments.only):
                continue
            if arguments.skip_auto and key == "auto":
                continue
            of["runs"][key] = result = solve(arguments, path, field, solver, preconditioner, arguments.limit)
            print(name, key, result["reason"], result.get("iterations"), f"{result.get('wall', 0):.2f} s", flush=True)
        part = out.with_suffix(".part")
        part.write_text(json.dumps(results, indent=0))
        part.replace(out)


def seconds_of(arguments, of):
    def seconds(result):
        if result is None or result["reason"] != "converged":
            return math.inf
        if arguments.by == "cpu":
            return max(result["cpu"] - of["reading"], 1e-3)
        return result["setup_seconds"] + result["solve_seconds"]
    return seconds


def table(arguments):
    results = json.loads(pathlib.Path(arguments.out).read_text())
    print("| matrix | rows | best combination | its | ms | solved by | auto took | attempts | its | ms | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    ratios, missed, solved, won, any_solved = [], [], 0, 0, 0
    for name, of in sorted(results.items()):
        runs, seconds = dict(of["runs"]), seconds_of(arguments, of)
        auto = runs.pop("auto", None)
        if auto is None or not runs:
            continue
        best = min(runs, key=lambda key: seconds(runs[key]))
        time_best, time_auto = seconds(runs[best]), seconds(auto)
        count = sum(seconds(result) < math.inf for result in runs.values())
        any_solved += time_best < math.inf
        solved += time_auto < math.inf
        won += time_auto < math.inf and time_best == math.inf
        if time_best < math.inf and time_auto == math.inf:
            missed.append(name)
        ratio = time_auto / time_best if max(time_best, time_auto) < math.inf else None
        if ratio is not None:
            ratios.append(ratio)
        attempts = auto.get("attempts") or []
        last = f"{attempts[-1]['solver']}+{attempts[-1]['preconditioner']}" if attempts else "-"
        number = lambda value: f"{1e3 * value:.1f}" if value < math.inf else "-"
        print(f"| {name} | {of['rows']} | {best if time_best < math.inf else '-'} | "
              f"{runs[best].get('iterations', '-') if time_best < math.inf else '-'} | {number(time_best)} | "
              f"{count} of {len(runs)} | {last if time_auto < math.inf else auto['reason']} | {len(attempts)} | "
              f"{auto.get('iterations', '-')} | {number(time_auto)} | {'-' if ratio is None else f'{ratio:.2f}'} |")
    if ratios:
        ratios.sort()
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        within = sum(ratio <= 1.5 for ratio in ratios) / len(ratios)
        print(f"\nauto solves {solved}, some combination {any_solved}; auto alone {won}, missed: "
              f"{', '.join(missed) or 'none'}. Ratio: geometric mean {mean:.2f}, at most 1.5 on {100 * within:.0f}%, "
              f"median {ratios[len(ratios) // 2]:.2f}, worst {ratios[-1]:.1f}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("--driver", default=str(pathlib.Path(__file__).resolve().parents[2] / "solder"))
    parser.add_argument("--matrices")
    parser.add_argument("--out", default="sweep.json")
    parser.add_argument("--limit", type=float, default=60, help="CPU seconds for each process")
    parser.add_argument("--by", choices=["clock", "cpu"], default="clock")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--most-rows", type=int, default=1_000_000)
    parser.add_argument("--complex", action="store_true", help="complex matrices too")
    parser.add_argument("--names", help="of matrices, with commas")
    parser.add_argument("--only", choices=["auto"])
    parser.add_argument("--skip-auto", action="store_true")
    parser.add_argument("--scratch", help="folder for inputs and results")
    parser.add_argument("--root", default="", help="folder that the driver sees as /")
    arguments = parser.parse_args()
    root = arguments.root
    arguments.prefix_removed = lambda path: str(path).removeprefix(root) if root else str(path)
    if arguments.what == "table":
        return table(arguments)
    if not arguments.matrices:
        parser.error("--matrices is needed")
    run(arguments)


if __name__ == "__main__":
    sys.exit(main())
