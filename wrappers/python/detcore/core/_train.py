"""Reports metrics, status and progress."""

from __future__ import annotations

import enum
import os
import warnings
from collections.abc import Mapping
from ctypes import byref, c_double, create_string_buffer, memmove
from typing import TYPE_CHECKING, Any

from detcore import _abi
from detcore._arguments import integer, real
from detcore._capi import Callbacks, as_path, call, library, milliseconds, required, text
from detcore._interruptible import interruptible
from detcore._json import encode, encode_each, is_complex
from detcore.core._options import log_level
from detcore.core._regions import Region
from detcore.core._reports import Reports
from detcore.errors import InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Sequence

    from detcore.core._core import Core


class TensorboardMode(enum.Enum):
    """Says how TensorBoard files are kept."""

    #: The library writes the chief's reports as event files, and keeps them in storage.
    AUTO = "AUTO"
    #: Only your own calls write or keep files.
    MANUAL = "MANUAL"


class EarlyExitReason(enum.Enum):
    """The reason for which a trial ends early."""

    INVALID_HP = "EXITED_REASON_INVALID_HP"
    USER_REQUESTED_STOP = "EXITED_REASON_USER_REQUESTED_STOP"


_REASONS = {
    EarlyExitReason.INVALID_HP: _abi.DET_EARLY_EXIT_REASON_INVALID_HP,
    EarlyExitReason.USER_REQUESTED_STOP: _abi.DET_EARLY_EXIT_REASON_USER_REQUESTED_STOP,
}


_LONGEST_PATH = 4096
# The most groups that are kept ready.
_MOST_GROUPS = 16


class MissingValueError(InvalidArgumentError, RuntimeError):
    """The value of a validation metric is None."""


class TrainContext:
    """Reports metrics, status and progress of the trial: `context.train`.

    No report waits for disk or network. Reports are in a journal, which survives a kill of the
    process, and a thread delivers them to the master. Usually only the chief reports. Any rank may,
    in a separate group.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._view = core.view("train")
        self._training = Reports(self._view, "training")
        self._senders = self._training.senders
        self._validation = Reports(self._view, "validation")
        self._own = {"training": self._training, "validation": self._validation}
        self._groups = dict(self._own)
        self._regions: dict[str, Region] = {}

    def report_training_metrics(
        self,
        steps_completed: int,
        metrics: Mapping[str, Any],
        batch_metrics: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Reports training metrics.

        Args:
            steps_completed: The steps since the beginning of the trial.
            metrics: Numbers by name. Values may also be anything that JSON can hold.
            batch_metrics: The metrics of each batch, to keep and plot as well.
        """
        try:  # as Reports.send() does, without the cost of a call
            sent = batch_metrics is None and self._senders[tuple(metrics)](steps_completed, metrics)
        except (KeyError, TypeError):
            sent = False
        if not sent:
            self._report(self._training, "training", steps_completed, metrics, batch_metrics)

    def report_validation_metrics(self, steps_completed: int, metrics: Mapping[str, Any]) -> None:
        """Reports validation metrics. It does not complete an operation of the search.

        Args:
            steps_completed: The steps since the beginning of the trial.
            metrics: Numbers by name. Values may also be anything that JSON can hold, except None.
        """
        if not self._validation.send(steps_completed, metrics):
            kept = _of_validation(_named(metrics, "metrics"))
            self._report(self._validation, "validation", steps_completed, kept)

    def report_metrics(self, group: str, steps_completed: int, metrics: Mapping[str, Any]) -> None:
        """Reports metrics of a named group.

        Args:
            group: Any name without a '.'. "training" and "validation" are the built-in groups.
            steps_completed: The steps since the beginning of the trial.
            metrics: Numbers by name. Values may also be anything that JSON can hold.
        """
        try:
            reports = self._groups[group]
        except (KeyError, TypeError):
            reports = self._group(group)
        if reports is self._validation:
            self.report_validation_metrics(steps_completed, metrics)
        elif not reports.send(steps_completed, metrics):
            self._report(reports, group, steps_completed, metrics)

    def _group(self, name: str) -> Reports:
        if not isinstance(name, str):
            raise TypeError(f"the group of metrics must be a str, not {_kind(name)}: {name!r:.80}")
        if len(self._groups) >= _MOST_GROUPS:
            self._groups = dict(self._own)
        return self._groups.setdefault(name, Reports(self._view, name))

    def _report(
        self,
        reports: Reports,
        group: str,
        steps_completed: int,
        metrics: Mapping[str, Any],
        batch_metrics: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Reports what send() cannot: a first report, one that needs JSON, or one that is wrong."""
        steps = _steps(steps_completed)
        given = _named(metrics, "metrics")
        if batch_metrics is None and given and all(map(_may_be_number, given.values())):
            reports.prepare(given)
            if reports.send(steps, given):
                return
        call(
            "det_train_report_metrics_json",
            self._view,
            required(group, "the group of metrics"),
            steps,
            encode_each(given, "the metric"),
            None if batch_metrics is None else _batches(batch_metrics),
        )

    def region(self, name: str) -> Region:
        """Returns a phase of the program to time: `with context.train.region("forward"):`.

        The library sums up the time in each phase. `det trace` shows them.
        """
        try:
            return self._regions[name]
        except (KeyError, TypeError):
            return self._regions.setdefault(name, Region(self._view, name))

    def flush(self, timeout: float | None = 60) -> None:
        """Waits until the master has all earlier reports.

        Args:
            timeout: The most seconds to wait. None: no limit.
        """
        limit = milliseconds(timeout, "timeout")
        interruptible(lambda: call("det_train_flush", self._view, limit))

    def set_status(self, status: str) -> None:
        """Shows a short text beside the trial, such as "validating"."""
        call("det_train_set_status", self._view, required(status, "the status"))

    def report_progress(self, progress: float) -> None:
        """Reports the progress of the trial, from 0 to 1. It is for trials that use no searcher."""
        call("det_train_report_progress", self._view, real(progress, "progress"))

    def log(self, text: str, level: str | int = "INFO") -> None:
        """Appends lines to the trial's log, which `det logs` shows.

        Args:
            text: One or more lines.
            level: The name of a level, or a level of Python's logging.
        """
        number = getattr(_abi, "DET_LOG_LEVEL_" + log_level(level))
        call("det_train_log", self._view, number, required(text, "the text of a log line"))

    def report_early_exit(self, reason: EarlyExitReason) -> None:
        """Tells the master why this trial ends early. It blocks until the master has it."""
        number = _REASONS[EarlyExitReason(reason)]
        interruptible(lambda: call("det_train_report_early_exit", self._view, number))

    def get_experiment_best_validation(self) -> float | None:
        """Returns the best validation of the whole experiment so far, by the metric of the
        searcher.

        It is None if no such validation exists. It blocks until the master has all earlier reports.
        """
        best = c_double()
        try:
            interruptible(
                lambda: call("det_train_get_experiment_best_validation", self._view, byref(best))
            )
        except NotFoundError:
            return None
        return best.value

    def set_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Keeps a dict about this trial, in place of the one before. Later runs can read it.

        Call it on the chief only. It blocks.
        """
        if not isinstance(metadata, Mapping):
            raise TypeError(f"metadata must be a dict, not {_kind(metadata)}")
        given = encode(dict(metadata), "metadata")
        interruptible(lambda: call("det_train_set_metadata", self._view, given))

    def get_metadata(self) -> dict[str, Any]:
        """Returns the dict that set_metadata() kept last, in this run or an earlier one."""
        import json

        kept: dict[str, Any] = json.loads(
            interruptible(lambda: text("det_train_get_metadata", self._view))
        )
        return kept

    def get_tensorboard_path(self) -> pathlib.Path:
        """Returns the directory for TensorBoard files of this rank. It makes a missing
        directory."""
        return as_path(text("det_train_get_tensorboard_path", self._view).encode())

    def upload_tensorboard_files(
        self,
        selector: Callable[[pathlib.Path], bool] = lambda _: True,
        mangler: Callable[[pathlib.Path, int], pathlib.Path] = lambda path, _: path,
    ) -> None:
        """Copies TensorBoard files that changed since the last call to storage.

        In MANUAL mode any rank may call it. In AUTO mode all ranks except the chief may, because
        the library keeps the chief's files. It blocks.

        Args:
            selector: Gets the whole path of each file, and returns True to take it.
            mangler: Gets the path below the TensorBoard directory and the rank, and returns the
                name in storage.
        """
        if not callable(selector) or not callable(mangler):
            raise TypeError("selector and mangler must be callables")

        def select(path: bytes, _: object) -> int:
            return 1 if selector(as_path(path)) else 0

        def mangle(path: bytes, rank: int, out: int, size: int, _: object) -> int:
            name = os.fsencode(mangler(as_path(path), rank)) + b"\0"
            if len(name) > size:
                raise ValueError(f"the name that mangler gave is too long: {name!r:.80}")
            memmove(out, name, len(name))
            return 0

        def upload() -> None:
            with Callbacks() as callbacks:
                call(
                    "det_train_upload_tensorboard_files",
                    self._view,
                    callbacks.wrap(_abi.det_tensorboard_selector, select),
                    callbacks.wrap(_abi.det_tensorboard_mangler, mangle),
                    None,
                )

        interruptible(upload)


def rank_aware_name(path: pathlib.Path, rank: int) -> pathlib.Path:
    """A mangler for upload_tensorboard_files() that adds the rank to the name of a profiler's
    trace.

    That name is the same on every rank. Other names stay.
    """
    out = create_string_buffer(_LONGEST_PATH)
    given = os.fsencode(path)
    if library.det_tensorboard_rank_aware_name(given, rank, out, len(out), None) < 0:
        raise ValueError(f"the name is too long: {given!r:.80}")
    return as_path(out.value)


def _steps(given: Any) -> int:
    steps = integer(given, "steps_completed")
    if not 0 <= steps < 2**63:
        raise ValueError(f"steps_completed must be from 0 to 2**63 - 1, not {steps}")
    return steps


def _named(given: Any, what: str) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} must be a dict of names and values, not {_kind(given)}")
    for name in given:
        if not isinstance(name, str):
            raise TypeError(f"the name of a metric must be a str, not {_kind(name)}: {name!r:.80}")
    return dict(given)


def _batches(given: Any) -> bytes:
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"batch_metrics must be a list of dicts, not {_kind(given)}")
    return (
        b"["
        + b",".join(
            encode_each(_named(each, "batch_metrics"), "the batch metric") for each in given
        )
        + b"]"
    )


def _of_validation(metrics: dict[str, Any]) -> dict[str, Any]:
    for name, value in metrics.items():
        if value is None:
            raise MissingValueError(f"the validation metric {name!r} is None: it must have a value")
    dropped = [name for name, value in metrics.items() if isinstance(value, bytes)]
    if dropped:
        warnings.warn(f"validation metrics that are bytes are left out: {dropped}", stacklevel=3)
    return {name: value for name, value in metrics.items() if not isinstance(value, bytes)}


def _may_be_number(value: Any) -> bool:
    return hasattr(type(value), "__float__") and not is_complex(value)


def _kind(value: Any) -> str:
    return type(value).__name__
