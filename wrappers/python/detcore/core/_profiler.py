"""Reports system metrics while the program trains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detcore._abi import DET_E_INVALID
from detcore._arguments import real
from detcore._capi import call
from detcore._interruptible import interruptible
from detcore.errors import InvalidArgumentError

if TYPE_CHECKING:
    from detcore.core._core import Core


class ProfilerContext:
    """Turns the sampling of system metrics on and off: `context.profiler`."""

    def __init__(self, core: Core) -> None:
        self._view = core.view("profiler")
        self._is_on = False

    def on(self, sampling_interval: float = 1, samples_per_report: int = 10) -> None:
        """Starts to sample GPUs, CPU, memory, disks, network and the trial's processes.

        Any rank may call it, but only the first rank of each machine samples. It does not block. It
        does nothing if the profiler is on already.

        Args:
            sampling_interval: Seconds between samples, at least 0.1.
            samples_per_report: The number of samples that are averaged into one report.
        """
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
        call("det_profiler_on", self._view, interval, samples_per_report)
        self._is_on = True

    def off(self) -> None:
        """Stops sampling, and reports the samples since the last report. It does nothing if it is
        off."""
        self._is_on = False
        interruptible(lambda: call("det_profiler_off", self._view))


def _invalid(why: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"starting the profiler: {why}", code=DET_E_INVALID)
