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

from row import row

ROOT = Path(__file__).resolve().parents[2]
VENV = Path(os.environ.get("DETCORE_VENV", ROOT / ".venv")) / "bin/python"
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
        print(name, int(statistics.median(times)))


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
    return {name: int(nanoseconds) / 1e9 for name, nanoseconds, *_ in lines}


def main(program):
    in_c = figures([program])
    ours = figures([VENV, __file__, "--of", "detcore"])
    for rival in ("tensorboardX", "torch"):
        theirs = figures([VENV, __file__, "--of", rival])
        if not theirs:
            print(f"{rival}: not installed")
        for name, time in theirs.items():
            row(f"TensorBoard, C: {name}, the caller's side", in_c[name], rival, time)
            row(f"TensorBoard, Python: {name}, the caller's side", ours[name], rival, time)


if __name__ == "__main__":
    if sys.argv[1] == "--of":
        child(sys.argv[2], sys.argv[3])
    else:
        main(sys.argv[1])
