#!/usr/bin/env python3
"""allgather of Python objects over two ranks against upstream's, and against C's of as many bytes:
bench_ranks.py PROGRAM LIBRARY FOLDER.

Upstream is installed in FOLDER, and its interpreter also runs ours; where that fails, ours runs in
this one and only C is compared. PROGRAM is bench_sockets.
"""

import importlib.util
import os
import pathlib
import sys

from bench_sockets import RANKS, run_ranks
from upstream import install_upstream

HERE = pathlib.Path(__file__).parent
BUDGET = 5


def main(program, library, folder):
    upstream = install_upstream(folder)
    python = upstream or sys.executable
    if not upstream and importlib.util.find_spec("numpy") is None:
        print("neither upstream nor numpy is there: nothing is measured")
        return
    os.environ["DETCORE_LIBRARY"] = library
    os.environ["PYTHONPATH"] = str(HERE.parents[1] / "wrappers" / "python")
    command = [python, HERE / "python_collectives.py"]
    rival = run_ranks([*command, "determined"]) if upstream else {}
    ours = run_ranks([*command, "detcore"])
    in_c = run_ranks([program])
    print(f"{RANKS} ranks, allgather: Python, C, ratio; upstream, ratio (budget: {BUDGET} x faster)")
    for (name, size), time in ours.items():
        of_c = in_c["allgather", size]
        line = f"{name:8} {size:8} B {time:10.1f} us {of_c:10.1f} us {time / of_c:6.1f} x"
        if rival:
            theirs = rival[name, size]
            line += f" {theirs:10.1f} us {theirs / time:6.1f} x faster"
        print(line)
    if not rival:
        print("upstream is not there: its ratio is left out")


if __name__ == "__main__":
    main(*sys.argv[1:])
