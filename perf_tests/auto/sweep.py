#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every combination of solver and preconditioner on every matrix, and what `auto` makes of the same.

    ./sweep.py run --driver ../../solder --matrices FOLDER --out sweep.jsonl    # auto, combinations, the best ones again
    ./sweep.py run ... --only auto --anew                                       # auto alone, anew
    ./sweep.py table --out sweep.jsonl                                          # Markdown

Each solve is a process of its own with a limit of CPU seconds, to a relative residual of 1e-8 from x = 0 with
b = A x for a random x (of ones some methods find a graph's or a mesh's solution at once).
Results are added to the file as they come, a line each, so a run that was ended goes on where it was. The combinations
go in rounds, those that solve most matrices first; then auto and the fastest combinations are run some times more, of
which the least time counts. A solve counts where the driver says `converged`. The time of a combination is set-up +
solve as the driver reports it, without reading the file; auto's has the look at the matrix and all attempts in it. With
`table --by cpu`, for busy machines and one thread, it is the CPU time of the process less that of one that does a
single iteration. A third of the matrices, by a hash of their names, is held out: auto's model is not fitted to them.
"""
import argparse
import collections
import gzip
import json
import math
import os
import pathlib
import queue
import random
import shlex
import subprocess
import sys
import tempfile
import threading
import time
import zlib

STURDY = {"drop_tolerance": 1e-4, "fill_factor": 20, "ordering": "amd", "scale": "equilibrate", "match": "product"}
DIRECT = {**STURDY, "drop_tolerance": 1e-10, "fill_factor": 1000}
# A preconditioner's name here, and what the driver is given for it.
PRECONDITIONERS = {
    "none": {}, "jacobi": {}, "ic0": {}, "ilu0": {}, "fsai": {}, "amg": {}, "chebyshev": {},
    "ict": {"ordering": "amd"},
    "ict-fill": {"name": "ict", "drop_tolerance": 1e-4, "fill_factor": 10, "ordering": "amd"},
    "ilut": {"ordering": "amd", "scale": "equilibrate", "match": "product"},
    "ilut-fill": {"name": "ilut", **STURDY},
    "ilut-direct": {"name": "ilut", **DIRECT},
    "iluk": {"ordering": "amd"},
}
# In the order of their rounds.
HERMITIAN = ["cg+ic0", "cg+fsai", "cg+jacobi", "cg+amg", "cg+ict", "cg+ict-fill", "cg+chebyshev"]
GENERAL = ["idr+ilu0", "gmres+ilut-fill", "bicgstab+jacobi", "bicgstab+amg", "gmres+ilut", "gmres+ilu0",
           "gmres+ilut-direct", "bicgstab+ilu0", "idr+ilut", "bicgstab+ilut", "idr+jacobi", "bicgstab+none", "idr+amg",
           "gmres+amg", "idr+ilut-fill", "bicgstab+ilut-fill", "gmres+jacobi", "idr+none", "gmres+none", "gmres+iluk",
           "bicgstab+iluk", "idr+iluk"]


class Matrix:
    def __init__(self, path):
        self.path, self.name = path, path.name.split(".mtx")[0]
        self.lock = threading.Lock()
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
            words = file.readline().lower().split()
            self.field, self.symmetry = words[3], words[4]
            sizes = next(line for line in file if not line.startswith("%") and line.strip())
            self.rows, self.columns, self.stored = map(int, sizes.split())

    def write_right_hand_side(self, path):
        """b = A x, for an x of numbers between -1 and 1 that are always the same."""
        numbers = random.Random(zlib.crc32(self.name.encode()))

        def number():
            part = numbers.uniform(-1, 1)
            return complex(part, numbers.uniform(-1, 1)) if self.field == "complex" else part
        x = [number() for _ in range(self.columns)]
        b = [0] * self.rows
        of_mirrored = {"general": None, "symmetric": lambda a: a, "skew-symmetric": lambda a: -a,
                       "hermitian": lambda a: a.conjugate()}[self.symmetry]
        with (gzip.open if self.path.suffix == ".gz" else open)(self.path, "rt") as file:
            lines = (line.split() for line in file if not line.startswith("%") and line.strip())
            next(lines)
            for i, j, *parts in lines:
                i, j = int(i) - 1, int(j) - 1
                a = complex(*map(float, parts)) if self.field == "complex" else float(parts[0]) if parts else 1
                b[i] += a * x[j]
                if of_mirrored and i != j:
                    b[j] += of_mirrored(a) * x[i]
        kind = "complex" if self.field == "complex" else "real"
        with open(path, "w") as file:
            file.write(f"%%MatrixMarket matrix array {kind} general\n{self.rows} 1\n")
            file.writelines(f"{a.real!r} {a.imag!r}\n" if kind == "complex" else f"{float(a)!r}\n" for a in b)

    def combinations(self):
        return GENERAL if self.symmetry == "general" else HERMITIAN + GENERAL


def is_held_out(name):
    return zlib.crc32(name.encode()) % 3 == 0


class Sweep:
    """The solves of a run, several at once, and their results."""

    def __init__(self, arguments):
        self.arguments, self.lock = arguments, threading.Lock()
        self.ends = time.monotonic() + arguments.seconds if arguments.seconds else math.inf
        self.results = read(arguments.out)
        if arguments.anew:
            self.results = [line for line in self.results if arguments.only and line["run"] != arguments.only]
        self.right_hand_sides = tempfile.TemporaryDirectory(dir=arguments.scratch)
        self.file = open(arguments.out, "w", buffering=1)
        self.file.writelines(json.dumps(line) + "\n" for line in self.results)

    def seconds_left(self):
        return self.ends - time.monotonic()

    def seen(self, path):
        """The path as the driver sees it."""
        return str(path).removeprefix(self.arguments.root)

    def right_hand_side(self, matrix):
        """The file that has it; it is made when it is first asked for."""
        path = pathlib.Path(self.right_hand_sides.name) / f"{matrix.name}.mtx"
        with matrix.lock:
            if not path.exists():
                matrix.write_right_hand_side(path)
        return path

    def process(self, matrix, key, slot, most):
        """One solve: what its JSON says, or how it ended."""
        with tempfile.TemporaryDirectory(dir=self.arguments.scratch) as folder:
            out, yaml = pathlib.Path(folder) / "result.json", pathlib.Path(folder) / "run.yaml"
            sections = {"problem": {"matrix": self.seen(matrix.path), "rhs": self.seen(self.right_hand_side(matrix)),
                                    "scalar": "complex_double" if matrix.field == "complex" else "double"},
                        "solver": {"name": "auto"}, "output": {"json": self.seen(out)}}
            if key != "auto":
                solver, preconditioner = key.split("+")
                sections["solver"] = {"name": solver, "check_symmetry": False, "max_iterations": most}
                sections["preconditioner"] = {"name": preconditioner, **PRECONDITIONERS[preconditioner]}
            yaml.write_text("\n".join(f"{name}: {json.dumps(keys)}" for name, keys in sections.items()) + "\n")
            limit = self.arguments.limit
            command = ["sh", "-c", f'ulimit -t {math.ceil(limit)}; exec "$@"', "sh", *shlex.split(self.arguments.driver)]
            begin = time.monotonic()
            with open(pathlib.Path(folder) / "errors", "w+") as errors:
                child = subprocess.Popen(command + [self.seen(yaml)], stdout=subprocess.DEVNULL, stderr=errors,
                                         env={**os.environ, "OMP_NUM_THREADS": str(self.arguments.threads)})
                if self.arguments.jobs > 1:
                    cores, threads = sorted(os.sched_getaffinity(0)), self.arguments.threads
                    first = slot * threads % len(cores)
                    os.sched_setaffinity(child.pid, cores[first:first + threads] or cores)
                timer = threading.Timer(max(0, min(3 * limit, self.seconds_left())), child.kill)
                timer.start()
                _, status, used = os.wait4(child.pid, 0)
                timer.cancel()
                child.returncode = os.waitstatus_to_exitcode(status)
                errors.seek(0)
                text = errors.read()[-400:]
            result = {"cpu": used.ru_utime + used.ru_stime, "wall": time.monotonic() - begin}
            if not out.exists():
                late = child.returncode < 0 and result["cpu"] > 0.9 * limit
                return {**result, "reason": "time" if late else "error", "code": child.returncode, "text": text}
            run = json.loads(out.read_text())["runs"][0]
            for name in ("reason", "iterations", "true_relative_residual", "setup_seconds", "solve_seconds", "detail"):
                result[name] = run.get(name)
            if key == "auto":
                result["attempts"] = run.get("attempts")
            return result

    def solve(self, matrix, key, slot, most=10000):
        result = self.process(matrix, key if key != "reading" else "cg+none", slot, most if key != "reading" else 1)
        if self.seconds_left() <= 0:  # it may have been ended for that
            return
        line = {"matrix": matrix.name, "rows": matrix.rows, "stored": matrix.stored, "field": matrix.field,
                "symmetry": matrix.symmetry, "run": key, **result}
        with self.lock:
            self.results.append(line)
            self.file.write(json.dumps(line) + "\n")
            print(matrix.name, key, result["reason"], result.get("iterations"), f"{result['wall']:.2f} s", flush=True)

    def together(self, jobs, at_once):
        """Does the jobs in their order, so many at once."""
        waiting = queue.Queue()
        for job in jobs:
            waiting.put(job)

        def work(slot):
            while self.seconds_left() > 0:
                try:
                    matrix, key = waiting.get_nowait()
                except queue.Empty:
                    return
                self.solve(matrix, key, slot)
        workers = [threading.Thread(target=work, args=(slot,)) for slot in range(at_once)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


def read(out):
    if not pathlib.Path(out).exists():
        return []
    with open(out) as file:
        return [json.loads(line) for line in file]


def by_matrix(results):
    """{matrix: {run: its results}}"""
    of = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in results:
        of[line["matrix"]][line["run"]].append(line)
    return of


def seconds(result):
    if result["reason"] != "converged":
        return math.inf
    return result["setup_seconds"] + result["solve_seconds"]


def run(arguments):
    paths = sorted(pathlib.Path(arguments.matrices).glob("*.mtx*"))
    names = set(arguments.names.split(",")) if arguments.names else None
    matrices = [matrix for matrix in map(Matrix, paths)
                if matrix.rows == matrix.columns and matrix.rows <= arguments.most_rows
                and (matrix.field != "complex" or arguments.complex) and (names is None or matrix.name in names)]
    matrices.sort(key=lambda matrix: -matrix.stored)  # the long ones first: cores are busy to the end
    sweep = Sweep(arguments)
    done = by_matrix(sweep.results)
    rounds = collections.defaultdict(list)
    for matrix in matrices:
        keys = ["auto"] if arguments.only == "auto" else ["auto", *matrix.combinations(), "reading"]
        for place, key in enumerate(keys):
            if not done[matrix.name][key]:
                rounds[place].append((matrix, key))
    share = arguments.again_share if arguments.again else 0
    ends, sweep.ends = sweep.ends, time.monotonic() + (1 - share) * sweep.seconds_left()
    sweep.together([job for place in sorted(rounds) for job in rounds[place]], arguments.jobs)
    sweep.ends = ends
    done, jobs = by_matrix(sweep.results), []
    for matrix in matrices:
        of = done[matrix.name]
        fastest = sorted((min(map(seconds, results)), key) for key, results in of.items()
                         if key not in ("auto", "reading"))
        best = [key for least, key in fastest[:3] if least < math.inf]
        if best and min(map(seconds, of["auto"]), default=math.inf) < math.inf:
            jobs += [(matrix, key) for key in (["auto"] if arguments.only else ["auto", *best])]
    sweep.together(arguments.again * jobs, max(1, arguments.jobs // 2))


def table(arguments):
    print("| matrix | rows | best combination | its | ms | solved by | auto took | attempts | its | ms | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    judged = {"fitted": [], "held out": []}
    for name, of in sorted(by_matrix(read(arguments.out)).items()):
        reading = min((result["cpu"] for result in of.pop("reading", [])), default=0)

        def taken(result):
            if arguments.by == "cpu" and result["reason"] == "converged":
                return max(result["cpu"] - reading, 1e-3)
            return seconds(result)
        least = {key: min(results, key=taken) for key, results in of.items() if results}
        auto = least.pop("auto", None)
        if auto is None or not least:
            continue
        best = min(least, key=lambda key: taken(least[key]))
        time_best, time_auto = taken(least[best]), taken(auto)
        count = sum(taken(result) < math.inf for result in least.values())
        judged["held out" if is_held_out(name) else "fitted"].append((name, time_best, time_auto))
        attempts = auto.get("attempts") or []
        last = f"{attempts[-1]['solver']}+{attempts[-1]['preconditioner']}" if attempts else "-"
        number = lambda value: f"{1e3 * value:.1f}" if value < math.inf else "-"
        solved = max(time_best, time_auto) < math.inf
        print(f"| {name} | {auto['rows']} | {best if time_best < math.inf else '-'} | "
              f"{least[best].get('iterations', '-') if time_best < math.inf else '-'} | {number(time_best)} | "
              f"{count} of {len(least)} | {last if time_auto < math.inf else auto['reason']} | {len(attempts)} | "
              f"{auto.get('iterations', '-')} | {number(time_auto)} | {f'{time_auto / time_best:.2f}' if solved else '-'} |")
    for group, of in {**judged, "all": judged["fitted"] + judged["held out"]}.items():
        ratios = sorted(auto / best for _, best, auto in of if max(auto, best) < math.inf)
        if not ratios:
            continue
        missed = [name for name, best, auto in of if best < auto == math.inf]
        print(f"\n{group}: {len(of)} matrices; auto solves {sum(auto < math.inf for _, _, auto in of)}, some combination "
              f"{sum(best < math.inf for _, best, _ in of)}; auto alone {sum(auto < best == math.inf for _, best, auto in of)}, "
              f"missed: {', '.join(missed) or 'none'}. "
              f"Ratio: geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, "
              f"at most 1.5 on {100 * sum(ratio <= 1.5 for ratio in ratios) / len(ratios):.0f}%, "
              f"median {ratios[len(ratios) // 2]:.2f}, worst {ratios[-1]:.1f}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("--driver", default=str(pathlib.Path(__file__).resolve().parents[2] / "solder"))
    parser.add_argument("--matrices")
    parser.add_argument("--out", default="sweep.jsonl")
    parser.add_argument("--limit", type=float, default=60, help="CPU seconds for each process")
    parser.add_argument("--seconds", type=float, help="for the whole run, which then ends")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once, each on cores of its own")
    parser.add_argument("--threads", type=int, default=2, help="of a process")
    parser.add_argument("--again", type=int, default=0, help="times that auto and the best combinations are run again")
    parser.add_argument("--again-share", type=float, default=0.3, help="of the seconds, kept for that")
    parser.add_argument("--by", choices=["clock", "cpu"], default="clock")
    parser.add_argument("--most-rows", type=int, default=1_000_000)
    parser.add_argument("--complex", action="store_true", help="complex matrices too")
    parser.add_argument("--names", help="of matrices, with commas")
    parser.add_argument("--only", choices=["auto"])
    parser.add_argument("--anew", action="store_true", help="what the file has already is run again, and replaced")
    parser.add_argument("--scratch", help="folder for inputs and results")
    parser.add_argument("--root", default="", help="folder that the driver sees as /")
    arguments = parser.parse_args()
    if arguments.what == "table":
        return table(arguments)
    if not arguments.matrices:
        parser.error("--matrices is needed")
    run(arguments)


if __name__ == "__main__":
    sys.exit(main())
