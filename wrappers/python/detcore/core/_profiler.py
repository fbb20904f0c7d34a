"""System metrics while training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detcore._abi import DET_E_INVALID
from detcore._arguments import real
from detcore._capi import call, library
from detcore._interruptible import interruptible
from detcore.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from detcore.core._core import Core

_was_told = False


class ProfilerContext:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._view = core.view("profiler")
        self._is_on = False

    def on(self, sampling_interval: float = 1, samples_per_report: int = 10) -> None:
        """Samples GPU, CPU, memory, disk and network every `sampling_interval` seconds, on the
        first rank of each machine. Does nothing while already on. A release of the library that
        cannot do it says so once in the log, and training goes on."""
        if self._is_on:
            return
        interval = real(sampling_interval, "sampling_interval")
        if not interval >= 0.1:
            raise _invalid(f"sampling_interval is {sampling_interval!r}; give 0.1 seconds or more")
        if (
            isinstance(samples_per_report, bool)
            or not isinstance(samples_per_report, int)
            or not 1 <= samples_per_report < 1 << 31
        ):
            raise _invalid(
                f"samples_per_report is {samples_per_report!r}; give an integer from 1 on"
            )
        if library.det_distributed_local_rank(self._core.view("distributed")) != 0:
            return
        try:
            call("det_profiler_on", self._view, interval, samples_per_report)
        except UnsupportedError as unsupported:
            _tell_once(unsupported)
        self._is_on = True

    def off(self) -> None:
        """Stops sampling. Does nothing while off."""
        if self._is_on:
            self._is_on = False
            interruptible(lambda: call("det_profiler_off", self._view))


def _tell_once(unsupported: UnsupportedError) -> None:
    global _was_told
    if not _was_told:
        _was_told = True
        import logging  # slow to import, and seldom needed

        logging.getLogger("detcore").warning("%s; training goes on without", unsupported)


def _invalid(why: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"starting the profiler: {why}", code=DET_E_INVALID)
