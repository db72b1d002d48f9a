#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the unit tests of a GPU build under compute-sanitizer, each test in a process of its own.

    unit_tests/sanitize.py build/cuda/bin --tool racecheck --minutes 30 --out racecheck solvers_cg solvers_gmres

Without suites, all in the folder whose names begin with a room of unit_tests. The first tests of all fixtures come
first, then the second ones, so that a run that ends early has seen something of each. Processes are dealt to all
GPUs. OUT/results.tsv has a line a test; OUT/logs has what was said of tests that failed, were cut or have errors or
warnings. The table at the end counts by suite. Exit code: 1 where a test failed or the tool found an error.
"""

import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

ROOMS = ('core', 'matrix', 'kernels', 'preconditioners', 'solvers', 'io', 'problems')


def gpus():
    listed = subprocess.run(['nvidia-smi', '-L'], capture_output=True, text=True, check=True)
    return len(listed.stdout.splitlines())


def tests_of(program):
    """The names of a program's tests, as --gtest_filter takes them."""
    listed = subprocess.run([program, '--gtest_list_tests'], capture_output=True, text=True, check=True)
    names, suite = [], ''
    for line in listed.stdout.splitlines():
        name = line.split('#')[0].rstrip()
        if not line.startswith(' '):
            suite = name
        elif suite.endswith('.'):
            names.append(suite + name.strip())
    return names


class Result:
    """What one process said: of a test, and of the tool."""

    def __init__(self, text, code, was_cut, seconds):
        self.passed = len(re.findall(r'^\[       OK \]', text, re.M))
        self.skipped = len(set(re.findall(r'^\[  SKIPPED \] (\S+) \(', text, re.M)))
        self.cut, self.seconds = was_cut, seconds
        races = re.search(r'RACECHECK SUMMARY: \d+ hazards? displayed \((\d+) errors?, (\d+) warnings?\)', text)
        errors = re.search(r'ERROR SUMMARY: (\d+) error', text)
        self.errors = int(races[1]) if races else int(errors[1]) if errors else 0
        self.warnings = int(races[2]) if races else 0
        has_summary = races is not None or errors is not None
        self.failed = int(not was_cut and (code != 0 or not has_summary))

    def is_clean(self):
        return not (self.failed or self.cut or self.errors or self.warnings)


def run(arguments, suite, test, gpu, until):
    command = ['compute-sanitizer', '--tool', arguments.tool, '--print-limit', '3']
    if arguments.tool == 'racecheck':
        command += ['--racecheck-report', 'analysis']
    command += [str(arguments.folder / suite), f'--gtest_filter={test}']
    began = time.monotonic()
    log = arguments.out / 'logs' / f'{suite}.{re.sub("[^A-Za-z0-9_.]", "_", test)}.log'
    with open(log, 'w') as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                                   env=dict(os.environ, CUDA_VISIBLE_DEVICES=str(gpu)))
        try:
            process.wait(timeout=max(1, min(arguments.seconds, until - began)))
            was_cut = False
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            was_cut = True
    result = Result(log.read_text(errors='replace'), process.returncode, was_cut, time.monotonic() - began)
    if result.is_clean():
        log.unlink()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder', type=pathlib.Path, help='where the test programs are')
    parser.add_argument('suites', nargs='*', help='programs there; all if none is named')
    parser.add_argument('--tool', choices=['memcheck', 'racecheck', 'initcheck', 'synccheck'], default='memcheck')
    parser.add_argument('--minutes', type=float, default=60, help='after which no test begins, and all end')
    parser.add_argument('--seconds', type=float, default=300, help='that a test may take')
    parser.add_argument('--processes', type=int, default=6, help='at once on each GPU')
    parser.add_argument('--out', type=pathlib.Path, required=True, help='a folder for results and logs')
    arguments = parser.parse_intermixed_args()  # suites may follow the options
    suites = arguments.suites or sorted(
        file.name for file in arguments.folder.iterdir() if file.name.startswith(ROOMS))
    if not suites:
        parser.error(f'{arguments.folder} has no test programs')
    (arguments.out / 'logs').mkdir(parents=True, exist_ok=True)

    queue = collections.deque()
    tests = {suite: tests_of(arguments.folder / suite) for suite in suites}
    by_group = collections.defaultdict(list)  # a program may have the tests of several files
    for suite in suites:
        for test in tests[suite]:
            by_group[suite, test.split('.')[0]].append((suite, test))
    for turn in itertools.zip_longest(*by_group.values()):
        queue.extend(filter(None, turn))
    until = time.monotonic() + 60 * arguments.minutes
    counts = collections.defaultdict(collections.Counter)
    lock = threading.Lock()

    def work(gpu):
        while time.monotonic() < until:
            with lock:
                if not queue:
                    return
                suite, test = queue.popleft()
            result = run(arguments, suite, test, gpu, until)
            with lock, open(arguments.out / 'results.tsv', 'a') as out:
                fields = ('passed', 'failed', 'skipped', 'errors', 'warnings', 'cut')
                print(suite, test, *(int(getattr(result, field)) for field in fields), f'{result.seconds:.1f}',
                      sep='\t', file=out)
                counts[suite].update({field: int(getattr(result, field)) for field in fields})

    cards = gpus()
    with concurrent.futures.ThreadPoolExecutor(cards * arguments.processes) as pool:
        for worker in [pool.submit(work, slot % cards) for slot in range(cards * arguments.processes)]:
            worker.result()

    print(f'| suite | tests | passed | failed | skipped | errors | warnings | cut |\n|{"---|" * 8}')
    for suite in suites:
        c = counts[suite]
        print(f'| {suite} | {len(tests[suite])} | {c["passed"]} | {c["failed"]} | {c["skipped"]} | {c["errors"]} | '
              f'{c["warnings"]} | {c["cut"]} |')
    sys.exit(any(c['failed'] or c['errors'] for c in counts.values()))


if __name__ == '__main__':
    main()
