#!/usr/bin/env python3
"""Stores three layouts of files as a checkpoint, against cp, rsync and shutil.copytree.

All read the same source, which is in the page cache, and write a fresh target on the same file
system (about 25 GB are needed); the tools take turns. "cached" is the time until the tool is done, "durable" the time until
everything is on disk: for a rival with `sync -f` after it, for ours with what commit() does. Ours is
also run without syncing, to compare like with like; every run of ours computes checksums.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUDGET = 0.9
LAYOUTS = [("10,000 files of 4 KiB", 10000, 4 << 10), ("1,000 files of 1 MiB", 1000, 1 << 20),
           ("1 file of 2 GiB", 1, 2 << 30)]


def fill(directory, count, size):
    """Random bytes, 100 files to a directory, all of them read once."""
    chunk = os.urandom(min(size, 1 << 24))
    for number in range(count):
        parent = os.path.join(directory, f"{number // 100:03}") if count > 1 else directory
        os.makedirs(parent, exist_ok=True)
        with open(os.path.join(parent, f"{number:05}.bin"), "wb") as file:
            left = size
            while left > 0:
                left -= file.write(chunk[:left])
    subprocess.run(["sync"], check=True)


def rivals():
    found = {"cp -r": ["cp", "-r"], "cp --reflink=auto": ["cp", "-r", "--reflink=auto"]}
    if shutil.which("rsync"):
        found["rsync -a"] = ["rsync", "-a"]
    return found


def run(tool, command, source, target, program):
    """(seconds until the tool is done, seconds until all is on disk)."""
    begin = time.perf_counter()
    if tool.startswith("ours"):
        relaxed = ["relaxed"] if tool == "ours, not synced" else []
        subprocess.run([program, source, target] + relaxed, check=True)
    elif tool == "shutil.copytree":
        shutil.copytree(source, target)
    else:
        slash = "/" if tool.startswith("rsync") else ""
        subprocess.run(command + [source + slash, target], check=True)
    done = time.perf_counter()
    if tool != "ours":
        subprocess.run(["sync", "-f", target], check=True)
    return done - begin, time.perf_counter() - begin


def forget(target):
    """Makes room in the page cache; the source shall stay there."""
    for parent, _, names in os.walk(target):
        for name in names:
            file = os.open(os.path.join(parent, name), os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


def measure(directory, count, size, rounds, program):
    source = os.path.join(directory, "source")
    os.makedirs(source)
    fill(source, count, size)
    commands = dict(rivals(), **{"shutil.copytree": None, "ours, not synced": None, "ours": None})
    times = {tool: [] for tool in commands}
    for turn in range(rounds):
        # Another order each time: what one run leaves in memory and on disk affects the next.
        shift = turn * len(commands) // rounds
        for tool in (list(commands) * 2)[shift:shift + len(commands)]:
            target = os.path.join(directory, f"target-{sum(map(len, times.values()))}")
            times[tool].append(run(tool, commands[tool], source, target, program))
            forget(target)
            # Not many files, though: ext4 is slow to make files for minutes after others went.
            if count == 1:
                shutil.rmtree(target)
            subprocess.run(["sync", "-f", directory], check=True)
    return {tool: tuple(statistics.median(column) for column in zip(*pairs))
            for tool, pairs in times.items()}


def report(title, medians):
    print(f"\n{title}\n  {'':20} {'cached s':>9} {'durable s':>10}  rival / ours: cached, durable")
    cached, durable = medians["ours, not synced"][0], medians["ours"][1]
    for tool, (done, synced) in medians.items():
        if tool.startswith("ours"):
            continue
        print(f"  {tool:20} {done:9.3f} {synced:10.3f}  {done / cached:21.2f} {synced / durable:8.2f}")
    print(f"  {'ours':20} {cached:9.3f} {durable:10.3f}")
    others = [times for tool, times in medians.items() if not tool.startswith("ours")]
    for name, column, own in (("cached", 0, cached), ("durable", 1, durable)):
        ratio = min(times[column] for times in others) / own
        verdict = "met" if ratio >= BUDGET else "MISSED"
        print(f"  fastest rival / ours, {name}: {ratio:.2f} (budget {BUDGET}: {verdict})")
    unfair = min(times[0] for times in others) / durable
    print(f"  fastest rival not synced / ours durable: {unfair:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the built store_checkpoint")
    parser.add_argument("--directory", default=tempfile.gettempdir(), help="where to measure")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shrink", type=int, default=1, help="divide sizes or counts by this")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    with tempfile.TemporaryDirectory(prefix="det-bench-", dir=options.directory) as directory:
        for title, count, size in LAYOUTS:
            if count == 1:
                size = max(1, size // options.shrink)
            else:
                count = max(1, count // options.shrink)
            shrunk = "" if options.shrink == 1 else f" (divided by {options.shrink})"
            report(title + shrunk, measure(os.path.join(directory, title), count, size,
                                           options.rounds, program))
    return 0


if __name__ == "__main__":
    sys.exit(main())
