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
from row import row
from upstream import install_upstream

HERE = pathlib.Path(__file__).parent
GOAL = 0.2


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
    for (name, size), time in ours.items():
        what = f"Python: allgather of {name}, {size} bytes, {RANKS} ranks"
        row(what, time / 1e6, "the call in C", in_c["allgather", size] / 1e6)
        if rival:
            row(what, time / 1e6, "determined 0.33.0", rival[name, size] / 1e6, goal=GOAL)


if __name__ == "__main__":
    main(*sys.argv[1:])
