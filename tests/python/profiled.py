"""The threads of this process, and when its profiler has begun."""

from __future__ import annotations

import contextlib
import pathlib
import time


def threads() -> dict[str, str]:
    """Which there are, and what each of them does: S is to wait."""
    found = {}
    for task in pathlib.Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it ended
            _, name, status = (task / "stat").read_text().replace(")", "(", 1).split("(", 2)
            found[name] = status.split()[0]
    return found


def sample_for(seconds: float) -> None:
    """Lets the profiler take the sample that others are compared with, and go on for so long."""
    while threads()["det-profiler"] != "S":
        time.sleep(0.001)
    time.sleep(seconds)
