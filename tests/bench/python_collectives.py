"""One rank of a job in Python, timed: python_collectives.py PACKAGE RANK SIZE PORT, with the package
determined or detcore.

Rank 0 prints a line for each collective: name, bytes, microseconds.
"""

import importlib
import statistics
import sys
import time

import numpy

package = sys.argv[1]
rank, size, port = map(int, sys.argv[2:])
core = importlib.import_module(package + ".core")
context = core.DistributedContext(
    rank=rank, size=size, local_rank=rank, local_size=size, cross_rank=0, cross_size=1,
    pub_port=port, pull_port=port + 1)
objects = {
    "small": {"loss": 0.5, "rank": rank},
    "array": numpy.full(1 << 17, float(rank)),
}
for name, stuff in objects.items():
    rounds = 2000 if name == "small" else 200
    times = []
    for turn in range(-rounds // 10, rounds):
        start = time.perf_counter()
        received = context.allgather(stuff)
        if turn >= 0:
            times.append(time.perf_counter() - start)
        if turn == 0 and name == "array":
            assert [array[0] for array in received] == list(range(size))
        received = None
    if rank == 0:
        print(name, 8 if name == "small" else stuff.nbytes, statistics.median(times) * 1e6, flush=True)
context.allgather(None)
context.close()
