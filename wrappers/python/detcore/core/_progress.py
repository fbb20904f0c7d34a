"""Reports the progress of long calls, and lets Ctrl-C end them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from detcore import _abi
from detcore._capi import Callbacks
from detcore._interruptible import Answer, interruptible


class Progress(NamedTuple):
    """The progress of a long call. The totals are what is known so far; -1 is unknown."""

    bytes: int
    total_bytes: int
    files: int
    total_files: int


def cancellable(callbacks: Callbacks, work: Callable[[], Answer]) -> Answer:
    """Runs `work` so that Ctrl-C also ends the call itself, which then leaves nothing."""

    has_ended = False  # without an interruption, so that another call may follow

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
    """Sets `progress` in options of C. Without it the callback is still needed, to cancel the
    call."""
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be a callable, not {type(progress).__name__}")

    def told(given: Any, _: object) -> int:
        if progress is not None:
            now = given.contents
            progress(Progress(now.bytes, now.total_bytes, now.files, now.total_files))
        return 0

    options.progress = callbacks.wrap(_abi.det_progress_callback, told)
