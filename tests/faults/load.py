"""Busy loops that keep the machine as busy as training machines are."""

import contextlib
import os
import signal


@contextlib.contextmanager
def busy_loops(count):
    """`count` processes that do nothing but run, at the same priority as this one. They end with
    this process, however it ends."""
    loops = []
    for _ in range(count):
        loop = os.fork()
        if loop == 0:
            parent = os.getppid()
            while os.getppid() == parent:
                for _ in range(1_000_000):
                    pass
            os._exit(0)
        loops.append(loop)
    try:
        yield
    finally:
        for loop in loops:
            os.kill(loop, signal.SIGKILL)
            os.waitpid(loop, 0)
