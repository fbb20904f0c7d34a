"""One rank of upstream's DistributedContext, timed: upstream_collectives.py [tcp] RANK SIZE PORT.

Rank 0 prints a line for each collective: name, bytes, microseconds. ROUNDS in the environment are
calls of each short one.
"""

import os
import sys
import time

from determined import core

ROUNDS = int(os.environ.get("ROUNDS", "2000"))

force_tcp = sys.argv[1] == "tcp"
rank, size, port = map(int, sys.argv[-3:])
context = core.DistributedContext(
    rank=rank, size=size, local_rank=rank, local_size=size, cross_rank=0, cross_size=1,
    pub_port=port, pull_port=port + 1, force_tcp=force_tcp)
for name, length in (("broadcast", 8), ("allgather", 8), ("gather", 8), ("allgather", 1 << 20)):
    call = getattr(context, name)
    message = b"x" * length
    rounds = ROUNDS if length < 1000 else max(ROUNDS // 20, 5)
    for measured in (False, True):
        start = time.perf_counter()
        for _ in range(rounds):
            call(message)
            if name == "broadcast":  # which does not wait: so that both sides count
                context.allgather(None)
        seconds = time.perf_counter() - start
    if rank == 0:
        print(name, length, seconds / rounds * 1e6, flush=True)
context.close()
