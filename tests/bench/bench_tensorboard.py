#!/usr/bin/env python3
"""Adding to TensorBoard against tensorboardX and torch's SummaryWriter, on the caller's side:
bench_tensorboard.py PROGRAM. Those that the environment of the tests lacks are left out."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = Path(os.environ.get("DETCORE_VENV", ROOT / ".venv")) / "bin/python"
BUDGET_US = 1.0
CALLS = 20_000
VALUES = 1_000_000


def calls_of(writer):
    import numpy

    weights = numpy.full(VALUES, 0.5, numpy.float32)
    for name, count, add in (
        ("scalar", CALLS, lambda step: writer.add_scalar("optimizer/lr", 0.5, step)),
        ("histogram", 10, lambda step: writer.add_histogram("weights", weights, step)),
    ):
        times = []
        for step in range(count):
            begin = time.perf_counter_ns()
            add(step)
            times.append(time.perf_counter_ns() - begin)
        print(name, int(statistics.median(times)), sorted(times)[len(times) * 99 // 100])


def child(which, folder):
    if which == "detcore":
        from detcore import core

        with core.init() as context:
            calls_of(context.tensorboard)
        return
    if which == "torch":
        from torch.utils.tensorboard import SummaryWriter
    else:
        from tensorboardX import SummaryWriter
    with SummaryWriter(folder) as writer:
        calls_of(writer)


def figures(command):
    with tempfile.TemporaryDirectory() as home:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DET_")}
        environment = {**kept, "DET_HOME": home, "PYTHONPATH": str(ROOT / "wrappers/python")}
        done = subprocess.run([*command, home], env=environment, capture_output=True, text=True, check=False)
    # The histograms of an old torch do not go with a newer NumPy.
    lines = [line.split() for line in done.stdout.splitlines()]
    return {name: (int(median) / 1e3, int(p99) / 1e3) for name, median, p99 in lines}


def main(program):
    ours = figures([program])
    print("on the caller's side, microseconds: median, 99 of 100")
    for name, (median, p99) in ours.items():
        budget = f"   budget {BUDGET_US} us: {'met' if median <= BUDGET_US else 'missed'}"
        print(f"{name:20} {median:10.3f} {p99:10.3f}{budget if name.startswith('scalar') else ''}")
    for which in ("detcore", "tensorboardX", "torch"):
        theirs = figures([VENV, __file__, "--of", which])
        label = "ours, from Python" if which == "detcore" else which
        if not theirs:
            print(f"{label}: not installed")
            continue
        for name, (median, p99) in theirs.items():
            print(f"{name:20} {median:10.3f} {p99:10.3f}   {label}: ours in C takes "
                  f"1/{median / ours[name][0]:.0f}")


if __name__ == "__main__":
    if sys.argv[1] == "--of":
        child(sys.argv[2], sys.argv[3])
    else:
        main(sys.argv[1])
