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

from row import row
from upstream import install

HERE = pathlib.Path(__file__).parent
UPSTREAM = "determined==0.38.1"
STARTS = 9
# Of each call its rival and the goal, 0 for none.
RIVALS = {"report_training_metrics": ("one prepared call of ctypes", 1.2),
          "should_preempt": ("one prepared call of ctypes", 0), "region": ("a timer by contextlib", 1.2)}


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


def main(folder):
    with tempfile.TemporaryDirectory() as home:
        compare(folder, home)


def compare(folder, home):
    for line in output_of(home, sys.executable, "python_calls.py").splitlines():
        name, *nanoseconds = line.split()
        ours, theirs = (float(number) / 1e9 for number in nanoseconds)
        rival, goal = RIVALS[name]
        row(f"Python: {name}", ours, rival, theirs, goal=goal)

    ours = starts(home, sys.executable, "detcore")
    python = install(folder, UPSTREAM)
    theirs = starts(home, python, "determined") if python else None
    if not theirs:
        print(f"Python: import {ours[0]:.2f} ms, init() and close {ours[1]:.2f} ms")
        return
    # Upstream's records nothing without a cluster.
    row("Python: import", ours[0] / 1e3, "determined 0.38.1", theirs[0] / 1e3)
    row("Python: init() and close", ours[1] / 1e3, "determined 0.38.1", theirs[1] / 1e3)
    row("Python: both together", sum(ours) / 1e3, "determined 0.38.1", sum(theirs) / 1e3, goal=0.1)


if __name__ == "__main__":
    main(*sys.argv[1:])
