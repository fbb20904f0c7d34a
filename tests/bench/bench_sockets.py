#!/usr/bin/env python3
"""Collectives over sockets against upstream's Python DistributedContext: bench_sockets.py PROGRAM FOLDER.

Upstream is installed in FOLDER; where that fails only our own figures are shown.
"""

import pathlib
import socket
import subprocess
import sys

from upstream import install_upstream

RANKS = 2


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


def main(program, folder):
    ours = run_ranks([program])
    python = install_upstream(folder)
    rival = {}
    if python:
        rival = run_ranks([python, pathlib.Path(__file__).parent / "upstream_collectives.py"])
    print(f"{RANKS} ranks over sockets: ours, upstream's, ratio (budget: 10 x faster)")
    for (name, size), time in ours.items():
        line = f"{name:10} {size:8} B {time:10.1f} us"
        if rival:
            theirs = rival[name, size]
            line += f" {theirs:10.1f} us   {theirs / time:5.1f} x faster"
        print(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
