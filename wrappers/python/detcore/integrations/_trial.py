"""The common part of all callbacks: report, save, resume, stop, and complete the search's
operations."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from detcore.core import Context, SearcherOperation


class Reports:
    """Reports metrics that are numbers and were not reported at this step before.

    Libraries log some metrics more than once.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._reported: dict[str, tuple[int, dict[str, float]]] = {}

    def report(self, group: str, steps: int, metrics: Mapping[str, Any]) -> dict[str, float]:
        """Reports new metrics. It returns all that were reported of this group at this step."""
        before, known = self._reported.get(group, (-1, {}))
        known = known if steps == before else {}
        new = {name: value for name, value in numbers(metrics) if name not in known}
        if new and self._context.distributed.rank == 0:
            self._context.train.report_metrics(group, steps, new)
        self._reported[group] = steps, {**known, **new}
        return self._reported[group][1]


class TrialCallback:
    """The common base of the callbacks. A callback keeps `steps` and `epochs` up to date."""

    def __init__(self, context: Context, metric: str | None = None) -> None:
        self.context = context
        #: True if this run was asked to stop. Its checkpoint is then saved.
        self.preempted = False
        #: The steps of the trial, in this run and earlier ones.
        self.steps = 0
        self.epochs: float = 0
        #: The latest validation metrics.
        self.validation: dict[str, float] = {}
        searcher = context.info.trial.config.get("searcher") or {}
        self._metric: str | None = metric or searcher.get("metric")
        self._operation: SearcherOperation | None = None
        self._reports = Reports(context)
        if self.latest_checkpoint is not None:
            metadata = context.checkpoint.get_metadata(self.latest_checkpoint)
            self.steps = metadata["steps_completed"]
            self.epochs = metadata.get("epochs", 0)
            self.validation = metadata.get("validation", {})
        self._saved = self.steps

    @property
    def latest_checkpoint(self) -> str | None:
        """The checkpoint from which this run resumes, or None at the beginning of the trial."""
        return self.context.info.latest_checkpoint

    @property
    def is_chief(self) -> bool:
        """True on rank 0."""
        return self.context.distributed.rank == 0

    def operations(self) -> Iterator[SearcherOperation]:
        """Yields the operations of the search. Train to the `length` of each.

        A length counts from the beginning of the trial. The callback completes each operation with
        the searcher's metric of the latest validation.
        """
        for operation in self.context.searcher.operations():
            self._operation = operation
            if self._position() < operation.length:
                yield operation
            if self.preempted:
                return
            if self.is_chief:
                operation.report_completed(self._searched())

    def _position(self) -> float:
        """Returns how far the trial has come, in the unit of an operation's length."""
        unit = self.context.searcher.get_configured_units()
        return self.steps if unit is not None and unit.name == "BATCHES" else self.epochs

    def _searched(self) -> float:
        if self._metric is None:  # no search compares this trial with others
            return next(iter(self.validation.values()), math.nan)
        if self._metric not in self.validation:
            known = ", ".join(self.validation) or "none at all"
            raise ValueError(
                f"completing an operation of the search: it needs the metric {self._metric!r}, "
                f"and the latest validation had {known}; validate with that metric, or name "
                "another one by `metric` here and `searcher.metric` in the configuration"
            )
        return self.validation[self._metric]

    def _report_progress(self) -> None:
        if self._operation is not None and self.is_chief:
            self._operation.report_progress(min(self._position(), self._operation.length))

    def _report(self, group: str, metrics: Mapping[str, Any]) -> None:
        reported = self._reports.report(group, self.steps, metrics)
        if group == "validation" and reported:
            self.validation = reported

    def _asked_to_stop(self) -> bool:
        """Returns True if the run should stop. All ranks call it in step, the default of
        core.init()."""
        self.preempted = self.context.preempt.should_preempt()
        return self.preempted

    def _metadata(self) -> dict[str, Any]:
        return {
            "steps_completed": self.steps,
            "epochs": self.epochs,
            "validation": self.validation,
        }

    def _save(self, write: Callable[[Path], object]) -> None:
        """Saves the files that `write` puts into a folder as a checkpoint, unless this step has
        one."""
        if self._saved == self.steps:
            return
        self._saved = self.steps
        if self.is_chief:
            with self.context.checkpoint.store_path(self._metadata()) as (path, _):
                write(Path(path))

    @contextlib.contextmanager
    def _restored(self) -> Iterator[Path | None]:
        """Gives all ranks the folder of the checkpoint to resume from."""
        if self.latest_checkpoint is None:
            yield None
        else:
            with self.context.checkpoint.restore_path(self.latest_checkpoint) as path:
                yield Path(path)


def numbers(metrics: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yields the numbers in the logs of a library, also scalars of NumPy and tensors of one
    element."""
    for name, value in metrics.items():
        if isinstance(value, (str, bytes)):
            continue
        with contextlib.suppress(TypeError, ValueError, RuntimeError):
            yield name, float(value)
