#!/usr/bin/env python3
"""Writes and reads a model of many tensors, beside `cp` of the same file and Python's safetensors.

What is read is in the page cache; the tools take turns. "cached" is the time until the call is
done, "durable" until everything is on disk: for a rival with fsync of the file and its directory,
for ours with the commit. Only ours computes checksums on the way; reading is from an opened
checkpoint into memory that is there.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "wrappers/python"))

try:
    import numpy
    import safetensors.numpy
except ImportError:
    python = ROOT / ".venv/bin/python"
    if not python.exists() or Path(sys.executable) == python:
        sys.exit("bench_tensors.py: there is no safetensors; scripts/python_env.sh installs it")
    os.execv(python, [str(python), *sys.argv])
from detcore import core  # noqa: E402
from row import row  # noqa: E402

GOALS = {"cp": 1.1, "safetensors": 1.0}


def model(size):
    """Half in a few large tensors, half in many of 1 MiB, and some small ones."""
    numbers = numpy.random.default_rng(1).integers(0, 255, size // 8, "uint8")
    large = {f"large.{i}": numpy.resize(numbers, size // 8).view("float32") for i in range(4)}
    middle = {
        f"layer.{i}.weight": numbers[i << 10 :][: 1 << 20].copy().view("float16")
        for i in range(max(1, (size // 2) >> 20))
    }
    small = {f"layer.{i}.bias": numbers[i:][:4096].copy().view("float16") for i in range(1000)}
    return {**large, **middle, **small}


def synced(path):
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


class Run:
    def __init__(self, directory, context, tensors):
        self.directory, self.context, self.tensors = directory, context, tensors
        self.source = os.path.join(directory, "source.safetensors")
        safetensors.numpy.save_file(tensors, self.source)
        self.into = {name: numpy.empty_like(tensor) for name, tensor in tensors.items()}

    def timed(self, write, end=None):
        target = os.path.join(self.directory, "target")
        os.sync()
        begin = time.perf_counter()
        write(target)
        done = time.perf_counter() - begin
        (end or self.sync)(target)
        durable = time.perf_counter() - begin
        if os.path.exists(target):
            os.remove(target)
        return done, durable

    def sync(self, target):
        synced(target)
        synced(self.directory)

    def cp(self):
        return self.timed(lambda target: subprocess.run(["cp", self.source, target], check=True))

    def safetensors(self):
        return self.timed(lambda target: safetensors.numpy.save_file(self.tensors, target))

    def ours(self):
        scope = self.context.checkpoint.store({"steps_completed": 1})
        store = scope.__enter__()
        times = self.timed(
            lambda _: store.write_tensors(self.tensors), lambda _: scope.__exit__(None, None, None)
        )
        self.context.checkpoint.delete(store.storage_id)
        return times

    def read_plainly(self):
        buffer = bytearray(os.path.getsize(self.source))
        memoryview(buffer)[::4096] = bytes(len(range(0, len(buffer), 4096)))  # as ours: it is there
        begin = time.perf_counter()
        with open(self.source, "rb", buffering=0) as file:
            have = 0
            while have < len(buffer):
                have += file.readinto(memoryview(buffer)[have:])
        return time.perf_counter() - begin

    def read_cp(self):
        return self.cp()[0]

    def read_safetensors(self):
        begin = time.perf_counter()
        safetensors.numpy.load_file(self.source)
        return time.perf_counter() - begin

    def read_ours(self):
        begin = time.perf_counter()
        with core.open_tensors(self.source) as tensors:
            tensors.read_into(self.into)
        return time.perf_counter() - begin


def report(name, medians, without=""):
    """A row for each rival; `without` says what only ours does."""
    ours = medians.pop("ours")
    for tool, seconds in medians.items():
        row(name, ours, tool + without, seconds, goal=GOALS.get(tool, 0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", default=tempfile.gettempdir(), help="where to measure")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mib", type=int, default=2048, help="the size of the model")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="det-bench-", dir=options.directory) as directory:
        storage = os.path.join(directory, "storage")
        master = os.path.join(directory, "home")
        with core.init(checkpoint_storage=storage, master=master) as context:
            run = Run(directory, context, model(options.mib << 20))
            writes = {"cp": run.cp, "safetensors": run.safetensors, "ours": run.ours}
            reads = {
                "cp": run.read_cp,
                "one plain read": run.read_plainly,
                "safetensors": run.read_safetensors,
                "ours": run.read_ours,
            }
            wrote = {tool: [] for tool in writes}
            read = {tool: [] for tool in reads}
            for _ in range(options.rounds):
                for tool, work in writes.items():
                    wrote[tool].append(work())
                for tool, work in reads.items():
                    read[tool].append(work())
    for column, name in [(0, "cached"), (1, "durable")]:
        report(
            f"write tensors, {options.mib} MiB, {name}",
            {
                tool: statistics.median(pair[column] for pair in pairs)
                for tool, pairs in wrote.items()
            },
            ", no checksums",
        )
    report(
        f"read tensors, {options.mib} MiB",
        {tool: statistics.median(times) for tool, times in read.items()},
    )


if __name__ == "__main__":
    main()
