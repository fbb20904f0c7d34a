"""Ctrl-C for a main thread that waits for the library."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

# The functions of the package that wait, the latter two for other ranks.
WAITING = {"interruptible", "collective", "_ask"}


def press_when_it_waits() -> None:
    threading.Thread(target=_press, daemon=True).start()


def _press() -> None:
    while not _waits():
        time.sleep(0.01)
    time.sleep(0.2)  # it may have only begun
    os.kill(os.getpid(), signal.SIGINT)


def _waits() -> bool:
    main = threading.main_thread().ident
    frame = sys._current_frames().get(main) if main else None
    while frame and frame.f_code.co_name not in WAITING:
        frame = frame.f_back
    return frame is not None
