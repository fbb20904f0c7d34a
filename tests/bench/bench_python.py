#!/usr/bin/env python3
"""The Python package against the one it succeeds and against ctypes itself: bench_python.py FOLDER.

Upstream is installed in FOLDER; where that fails its figures are left out.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from upstream import install

HERE = pathlib.Path(__file__).parent
UPSTREAM = "determined==0.38.1"
STARTS = 9
# Microseconds, and how often as long as ctypes takes it may be.
BUDGETS = {"report_training_metrics": (3.0, 1.2), "should_preempt": (1.0, None), "region": (2.0, 1.2)}


def environment(home):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DET_")}
    package = HERE.parents[1] / "wrappers" / "python"
    return {**kept, "DET_HOME": home, "XDG_DATA_HOME": home, "PYTHONPATH": str(package)}


def output_of(home, python, program, *arguments):
    command = [python, HERE / program, *arguments]
    return subprocess.run(command, env=environment(home), stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL, check=True).stdout


def starts(home, python, package):
    """Milliseconds of the import, and of init() and close; the first start fills caches and makes
    the store."""
    made = [output_of(home, python, "python_start.py", package).split() for _ in range(STARTS + 1)][1:]
    return [statistics.median(map(float, column)) for column in zip(*made)]


def verdict(is_met):
    return "met" if is_met else "missed"


def main(folder):
    with tempfile.TemporaryDirectory() as home:
        compare(folder, home)


def compare(folder, home):
    print("calls in a loop, of four values: ours, one prepared call of ctypes; of a region a timer by contextlib")
    for line in output_of(home, sys.executable, "python_calls.py").splitlines():
        name, ours, floor = line.split()[0], *(float(number) / 1e3 for number in line.split()[1:])
        most, times = BUDGETS[name]
        print(f"{name:24} {ours:8.2f} us {floor:8.2f} us {ours / floor:6.2f} x   "
              f"budget {most} us: {verdict(ours <= most)}"
              + (f", {times} x: {verdict(ours <= times * floor)}" if times else ""))

    ours = starts(home, sys.executable, "detcore")
    python = install(folder, UPSTREAM)
    theirs = starts(home, python, "determined") if python else None
    print("a process: ours" + (", upstream's, which records nothing without a cluster" if theirs else ""))
    for i, name in enumerate(["import", "init() and close", "together"]):
        mine, rival = ([*figures, sum(figures)][i] if figures else None for figures in (ours, theirs))
        line = f"{name:24} {mine:8.2f} ms"
        if rival is not None:
            line += f" {rival:8.2f} ms"
        if rival is not None and name == "together":
            line += f" {mine / rival:6.2f} x   budget 0.1 x: {verdict(mine <= rival / 10)}"
        print(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
