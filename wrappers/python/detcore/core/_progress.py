"""Calls that take long: how far they are, and how Ctrl-C ends them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from detcore import _abi
from detcore._capi import Callbacks
from detcore._interruptible import Answer, interruptible


class Progress(NamedTuple):
    """How far a call that takes long has come. Of the totals what is known so far; -1: nothing."""

    bytes: int
    total_bytes: int
    files: int
    total_files: int


def cancellable(callbacks: Callbacks, work: Callable[[], Answer]) -> Answer:
    """Ctrl-C does not only end the wait: the call ends, too, and leaves nothing behind."""

    has_ended = False  # by itself, so that another call may follow

    def guarded() -> Answer:
        nonlocal has_ended
        try:
            with callbacks:
                return work()
        finally:
            has_ended = True

    try:
        return interruptible(guarded)
    except BaseException:
        if not has_ended:
            callbacks.cancel()
        raise


def follow(
    options: Any, callbacks: Callbacks, progress: Callable[[Progress], object] | None
) -> None:
    """Lets options of C tell `progress`, or nobody: it is how a call is cancelled, too."""
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be a callable, not {type(progress).__name__}")

    def told(given: Any, _: object) -> int:
        if progress is not None:
            now = given.contents
            progress(Progress(now.bytes, now.total_bytes, now.files, now.total_files))
        return 0

    options.progress = callbacks.wrap(_abi.det_progress_callback, told)
