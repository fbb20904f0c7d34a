#!/usr/bin/env python3
"""Collectives over sockets against upstream's Python DistributedContext: bench_sockets.py PROGRAM FOLDER.

Upstream is installed in FOLDER; where that fails only our own figures are shown. Ours are measured
between processes that share memory and over TCP, on a machine that has nothing else to do and on one
where LOAD other processes compute, as training machines do.
"""

import contextlib
import pathlib
import socket
import subprocess
import sys

from upstream import install_upstream

RANKS = 2
LOAD = 40


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


def print_loaded(name, idle, loaded):
    print(f"{RANKS} ranks {name}: idle, beside {LOAD} busy processes, ratio")
    for (call, size), time in idle.items():
        beside = loaded[call, size]
        print(f"{call:10} {size:8} B {time:10.1f} us {beside:10.1f} us   {beside / time:5.1f} x")


def main(program, folder):
    ours = run_ranks([program])
    tcp = run_ranks([program, "tcp"])
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
    with busy_machine():
        print_loaded("in shared memory", ours, run_ranks([program]))
        print_loaded("over TCP", tcp, run_ranks([program, "tcp"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
