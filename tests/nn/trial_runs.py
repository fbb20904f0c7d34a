"""Runs of trials in C++, each a process of its own, and what checks of them say in TAP.

usage: TEST TRIAL MPIRUN [FOR THE TEST...], where MPIRUN is empty if there is none."""

import os
import socket
import subprocess
import sys

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from patience import PATIENCE  # noqa: E402

program, mpirun, *arguments = sys.argv[1:]
ports = []  # stay bound, so that no other program is given them


def train(home, *before, program_arguments=(), **environment):
    run = subprocess.run([*before, program, *program_arguments], env={**os.environ, "DET_HOME": home, **environment},
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    return run.returncode, run.stdout.splitlines(), run.stderr


def finished(home, *before, **given):
    code, lines, errors = train(home, *before, **given)
    assert code == 0, errors
    return lines


def ranks(count):
    """What stands before a program of so many ranks, which meet where no other job of this machine does."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as ranks say, who listen there all the same
    held.bind(("", 0))
    ports.append(held)
    port = held.getsockname()[1]
    return mpirun, "--oversubscribe", "-x", f"INTER_TRAIN_PROCESS_COMM_PORT_1={port}", "-n", str(count)


def tell(checks):
    print(f"1..{len(checks)}")
    failed = 0
    for number, check in enumerate(checks, 1):
        try:
            check()
            print(f"ok {number} - {check.__name__}")
        except (AssertionError, subprocess.TimeoutExpired) as failure:
            failed += 1
            print(f"not ok {number} - {check.__name__}\n# " + str(failure).replace("\n", "\n# "))
    sys.exit(failed != 0)
