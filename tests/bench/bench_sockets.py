#!/usr/bin/env python3
"""Collectives over sockets beside upstream's DistributedContext: bench_sockets.py PROGRAM FOLDER.

Upstream is installed in FOLDER. Ours between processes that share memory are beside upstream's
over Unix sockets, and TCP is beside TCP: on a machine that has nothing else to do, and on one
where LOAD other processes compute, as training machines do. Medians of TURNS jobs of each.
"""

import contextlib
import os
import pathlib
import socket
import statistics
import subprocess
import sys

from row import row
from upstream import install_upstream

RANKS = 2
LOAD = 40
TURNS = 3
GOAL = 0.1


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_ranks(command):
    """Runs the ranks of a job; gives rank 0's figures: (name, bytes) to microseconds."""
    port = free_port()
    ranks = [
        subprocess.Popen([*command, str(rank), str(RANKS), str(port)], stdout=subprocess.PIPE, text=True)
        for rank in range(RANKS)
    ]
    outputs = [rank.communicate(timeout=300)[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        raise RuntimeError(f"{command[-1]} failed")
    lines = [line.split() for line in outputs[0].splitlines()]
    return {(name, int(size)): float(time) for name, size, time in lines}


@contextlib.contextmanager
def busy_machine():
    others = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(LOAD)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def compare(where, ours, theirs, goal=0):
    """A row for each collective of two commands that run in turns."""
    figures = [[], []]
    for _ in range(TURNS):
        for command, of_command in zip((ours, theirs), figures, strict=True):
            of_command.append(run_ranks(command))
    for call, size in figures[0][0]:
        mine, rival = (
            statistics.median(one[call, size] for one in of_command) / 1e6 for of_command in figures
        )
        name = f"{call} of {size} bytes, {RANKS} ranks, {where}"
        row(name, mine, "determined 0.33.0", rival, goal=goal)


def main(program, folder):
    python = install_upstream(folder)
    if not python:
        return
    upstream = [python, pathlib.Path(__file__).parent / "upstream_collectives.py"]
    compare("memory", [program], upstream, GOAL)
    compare("TCP", [program, "tcp"], [*upstream, "tcp"])
    os.environ["ROUNDS"] = "200"
    with busy_machine():
        compare("memory, busy", [program], upstream, GOAL)
        compare("TCP, busy", [program, "tcp"], [*upstream, "tcp"])


if __name__ == "__main__":
    main(*sys.argv[1:])
