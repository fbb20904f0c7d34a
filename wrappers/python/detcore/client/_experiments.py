"""Experiments, their trials, and the checkpoints of those."""

from __future__ import annotations

import json
import math
import os
import pathlib
import time as clock
import uuid
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from detcore import _abi
from detcore._arguments import only_defaults
from detcore.client._logs import LogLine, filter_of, iter_logs
from detcore.client._metrics import MetricSeries, TrialMetrics, flattened, frame, read_reports
from detcore.client._record import Fact, Listing, Record, Source, number, ordered, time
from detcore.client._states import (
    CheckpointState,
    ExperimentState,
    LogLevel,
    OrderBy,
    TrialSortBy,
    TrialState,
)
from detcore.errors import DetTimeoutError, NotFoundError

if TYPE_CHECKING:
    import datetime

    from detcore._owned import Owned
    from detcore.storage import Storage


class Records(Source, Protocol):
    """The part of a Client that experiments, trials and checkpoints use to make each other."""

    def get_experiment(self, experiment_id: int) -> Experiment: ...
    def get_trial(self, trial_id: int | str) -> Trial: ...
    def list_trials(self, experiment_id: int | None = None, **filters: Any) -> Iterator[Trial]: ...
    def list_checkpoints(self, trial_id: int | None = None) -> Iterator[Checkpoint]: ...
    def get_metrics(self, trial_id: int, name: str, group: str = "training") -> MetricSeries: ...
    def update_experiment(self, experiment_id: int, **changes: Any) -> dict[str, Any]: ...
    def _open_storage(self, uuid: str) -> Owned: ...


class Checkpoint(Record):
    """A checkpoint, as a store or a master knows it."""

    _client: Records
    _identity = "uuid"

    uuid: Fact[str] = Fact("uuid")
    trial_id: Fact[int] = Fact("trial_id")
    trial_run_id: Fact[int | None] = Fact("trial_run_id")
    steps_completed: Fact[int] = Fact("steps_completed")
    state: Fact[CheckpointState] = Fact("state", CheckpointState)
    report_time: Fact[datetime.datetime | None] = Fact("time", time)
    size: Fact[int] = Fact("size", doc="The bytes of all files together.")
    metadata: Fact[dict[str, Any]] = Fact("metadata")
    resources: Fact[dict[str, int]] = Fact(
        "resources", doc="The bytes of each file, by path. A directory ends in /."
    )
    pinned: Fact[bool | None] = Fact("pinned", doc="True if it is kept. None over HTTP.")
    storage: Fact[dict[str, Any]] = Fact(
        "storage", doc="A `checkpoint_storage` object without its secrets."
    )

    def _read(self) -> dict[str, Any]:
        return self._client._ask_about("det_client_get_checkpoint", self._entry["uuid"])

    def get_trial(self) -> Trial:
        """Returns the trial of this checkpoint."""
        return self._client.get_trial(self.trial_id)

    def validation(self, name: str) -> float | None:
        """Returns the value of a validation metric at the step of this checkpoint. None without
        one."""
        return validations([self], name)[0]

    @property
    def searcher_metric(self) -> float | None:
        """The value of `searcher.metric` at the step of this checkpoint. None without one."""
        name = self.get_trial().get_experiment().searcher_metric
        return None if name is None else self.validation(name)

    @property
    def directory(self) -> pathlib.Path | None:
        """The directory of its files. None if this machine has no such directory."""
        storage = self.storage
        kind = storage.get("type")
        if kind == "directory":
            root = pathlib.Path(storage["container_path"])
        elif kind == "shared_fs":
            root = pathlib.Path(storage["host_path"], storage.get("storage_path") or "")
        else:
            return None
        return root / self.uuid

    def download(self, path: str | os.PathLike[str] | None = None, mode: Any = None) -> str:
        """Copies its files into a directory, and compares them with what was stored.

        Other files in the directory stay. It reads the storage directly.

        Args:
            path: The directory. None: checkpoints/UUID.
            mode: Accepted for determined, and ignored.

        Returns:
            The directory.
        """
        target = pathlib.Path(path) if path is not None else pathlib.Path("checkpoints", self.uuid)
        self._open_storage().download(self.uuid, target)
        return str(target)

    def verify(self) -> None:
        """Compares its files with the stored checksums. A CorruptError names a file that
        differs."""
        self._open_storage().verify(self.uuid)

    def _open_storage(self) -> Storage:
        """Opens its storage with the credentials that the store or the master has."""
        from detcore.storage import Storage  # it takes longer to import than the rest of the client

        return Storage._given(self._client._open_storage(self.uuid))

    def delete(self) -> None:
        """Deletes its files. No run can resume from it any more."""
        self._client._ask_about("det_client_delete_checkpoint", self.uuid)
        self.reload()

    def pin(self) -> None:
        """Keeps it until unpin(). Nothing collects it, and delete() refuses."""
        self._client._ask_about("det_client_pin_checkpoint", self.uuid, 1)
        self.reload()

    def unpin(self) -> None:
        """Ends the effect of pin()."""
        self._client._ask_about("det_client_pin_checkpoint", self.uuid, 0)
        self.reload()

    def write_metadata_file(self, path: str | os.PathLike[str]) -> None:
        """Writes its metadata into a file, as JSON."""
        pathlib.Path(path).write_text(json.dumps(self.metadata, indent=2) + "\n", encoding="utf-8")


def validations(checkpoints: Iterable[Checkpoint], name: str) -> list[float | None]:
    """Returns the validation of each checkpoint at its step. It reads the metrics of a trial
    once."""
    by_trial: dict[int, dict[int, float]] = {}
    found: list[float | None] = []
    for checkpoint in checkpoints:
        trial_id = checkpoint.trial_id
        if trial_id not in by_trial:
            series = checkpoint._client.get_metrics(trial_id, name, "validation")
            by_trial[trial_id] = {
                int(step): float(value)
                for step, value in zip(series.steps_completed, series.values)
            }
        found.append(by_trial[trial_id].get(checkpoint.steps_completed))
    return found


class Steered(Record):
    """A thing with processes that can be steered: an experiment or a trial."""

    _client: Records
    _target = ""

    def pause(self) -> None:
        """Asks its processes to save a checkpoint and leave. They can resume later."""
        self._control("PAUSE")

    def activate(self) -> None:
        """Lets a paused experiment or trial continue."""
        self._control("ACTIVATE")

    def cancel(self) -> None:
        """Asks its processes to save a checkpoint and leave, for good."""
        self._control("CANCEL")

    def kill(self) -> None:
        """Ends its processes at once."""
        self._control("KILL")

    def _control(self, action: str) -> dict[str, Any]:
        target = getattr(_abi, f"DET_CLIENT_TARGET_{self._target}")
        wanted = getattr(_abi, f"DET_CLIENT_ACTION_{action}")
        identity = self._entry["id"]
        answer = self._client._connection.ask("det_client_control", target, identity, wanted)
        self._entry["state"] = answer["state"]
        return answer  # type: ignore[no-any-return]

    def _look(self) -> None:
        """Reads its state again."""
        self.reload()

    def wait(self, interval: float = 5.0, timeout: float | None = None) -> Any:
        """Waits until it is over, and returns its state.

        Args:
            interval: Seconds between two looks at the state.
            timeout: The most seconds to wait. None: no limit.
        """
        if not interval > 0:
            raise ValueError(f"interval must be a number of seconds above 0, not {interval!r}")
        end = None if timeout is None else clock.monotonic() + timeout
        while True:
            self._look()
            state = self.state  # type: ignore[attr-defined]
            if state.is_terminal:
                return state
            left = interval if end is None else end - clock.monotonic()
            if left <= 0:
                raise DetTimeoutError(
                    f"waiting for {self!r}: it is not over after {timeout} seconds",
                    code=_abi.DET_E_TIMEOUT,
                )
            clock.sleep(min(interval, left))


class Trial(Steered):
    """A trial, as a store or a master knows it."""

    id: Fact[int] = Fact("id")
    experiment_id: Fact[int] = Fact("experiment_id")
    name: Fact[str] = Fact("name", doc="The name of its experiment.")
    external_id: Fact[str | None] = Fact("external_id")
    state: Fact[TrialState] = Fact("state", TrialState)
    running: Fact[bool] = Fact("running", doc="True if a live process works on it.")
    status: Fact[str | None] = Fact("status")
    progress: Fact[float | None] = Fact("progress")
    steps_completed: Fact[int] = Fact("steps_completed")
    best_metric: Fact[float | None] = Fact("best_metric", number)
    best_steps: Fact[int | None] = Fact("best_steps")
    restarts: Fact[int] = Fact("restarts")
    hparams: Fact[dict[str, Any]] = Fact("hparams")
    start_time: Fact[datetime.datetime | None] = Fact("start_time", time)
    end_time: Fact[datetime.datetime | None] = Fact("end_time", time)
    labels: Fact[list[str]] = Fact("tags", doc="The labels of its experiment.")
    archived: Fact[bool] = Fact("archived")
    seed: Fact[int] = Fact("trial_seed")
    task_id: Fact[str] = Fact("task_id")
    early_exit: Fact[str | None] = Fact("early_exit")
    metadata: Fact[dict[str, Any] | None] = Fact("metadata")
    operations: Fact[list[dict[str, Any]]] = Fact("operations")
    error: Fact[str | None] = Fact("error")
    waiting: Fact[int] = Fact(
        "waiting", doc="The number of reports that Client.sync() would deliver."
    )
    resume_command: Fact[str | None] = Fact("resume")

    _target = "TRIAL"

    def _read(self) -> dict[str, Any]:
        return self._client._ask_about("det_client_get_trial", self.id)

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Its runs, with the keys of docs/client.md."""
        if not isinstance(self._entry.get("runs"), list):  # lists have only their number
            self.reload()
        found: list[dict[str, Any]] = self._entry["runs"] or []
        return found

    @property
    def request_id(self) -> uuid.UUID | None:
        """The id by which a search method knows it. None if no search made it."""
        try:
            return uuid.UUID(self.task_id.partition(".")[2])
        except (AttributeError, ValueError):
            return None

    @property
    def latest_checkpoint(self) -> Checkpoint | None:
        """Its latest checkpoint. None without one."""
        entry = self._fact("latest_checkpoint")
        return None if entry is None else Checkpoint(self._client, entry)

    def get_experiment(self) -> Experiment:
        """Returns its experiment."""
        return self._client.get_experiment(self.experiment_id)

    def metrics(self, name: str, group: str = "training") -> MetricSeries:
        """Returns all values of one metric, as arrays: `steps, losses, _ =
        trial.metrics("loss")`."""
        return self._client.get_metrics(self.id, name, group)

    def metric_names(self) -> dict[str, list[str]]:
        """Returns the names of its metrics, by group."""
        return self._client._ask_about("det_client_list_metric_names", self.id)

    def iter_metrics(self, group: str | None = None) -> Iterator[TrialMetrics]:
        """Yields its reports in the order in which they were made.

        Args:
            group: Only reports of this group. None: all groups.
        """
        return read_reports(self._client._connection, self.id, group)

    def iter_training_metrics(self) -> Iterator[TrialMetrics]:
        """Yields its reports of training metrics."""
        return self.iter_metrics("training")

    def iter_validation_metrics(self) -> Iterator[TrialMetrics]:
        """Yields its reports of validation metrics."""
        return self.iter_metrics("validation")

    def trace(self) -> dict[str, Any]:
        """Returns the time in each phase, in the Trace Event format. Write it with json.dump() for
        Perfetto."""
        return self._client._ask_about("det_client_get_trace", self.id)

    def dataframe(self, group: str | None = None) -> Any:
        """Returns a pandas.DataFrame with a row for each report and a column for each metric."""
        rows = [
            {
                "steps_completed": report.steps_completed,
                "group": report.group,
                "time": report.report_time,
                **report.metrics,
            }
            for report in self.iter_metrics(group)
        ]
        return frame(rows, "steps_completed", ["steps_completed", "group", "time"])

    def iter_logs(
        self,
        follow: bool = False,
        *,
        head: int | None = None,
        tail: int | None = None,
        container_ids: list[str] | None = None,
        rank_ids: Iterable[int] | None = None,
        stdtypes: list[str] | None = None,
        min_level: LogLevel | None = None,
        timestamp_before: str | datetime.datetime | None = None,
        timestamp_after: str | datetime.datetime | None = None,
        sources: list[str] | None = None,
        search_text: str | None = None,
    ) -> Iterator[LogLine]:
        """Yields the lines of its log.

        Args:
            follow: True: wait for more lines, until its process has left.
            head: Only the first lines.
            tail: Only the last lines, and those that follow.
            container_ids: Accepted for determined. The log does not have containers.
            rank_ids: Only lines of these ranks.
            stdtypes: Accepted for determined. The log does not have streams.
            min_level: Only lines of this level or above.
            timestamp_before: Only lines before this time. Without a zone it is UTC.
            timestamp_after: Only lines after this time. Without a zone it is UTC.
            sources: Accepted for determined. The log does not have sources.
            search_text: Only lines with this text.
        """
        only_defaults(
            "Trial.iter_logs()", container_ids=container_ids, stdtypes=stdtypes, sources=sources
        )

        def has_ended() -> bool:
            self.reload()
            return not self.running if self.running is not None else self.state.is_terminal

        return iter_logs(
            self._client._connection,
            self.id,
            follow=follow,
            head=head,
            tail=tail,
            wanted=filter_of(min_level, rank_ids, timestamp_before, timestamp_after, search_text),
            has_ended=has_ended,
        )

    logs = iter_logs

    def list_checkpoints(
        self,
        sort_by: str | None = None,
        order_by: str = OrderBy.ASC,
        max_results: int | None = None,
    ) -> list[Checkpoint]:
        """Returns its checkpoints, from the oldest to the newest.

        Args:
            sort_by: A CheckpointSortBy, for another order.
            order_by: Ascending or descending.
            max_results: The greatest number of checkpoints to return.
        """
        return ordered(self._client.list_checkpoints(self.id), sort_by, order_by, max_results)

    def top_checkpoint(
        self, sort_by: str | None = None, smaller_is_better: bool | None = None
    ) -> Checkpoint:
        """Returns its checkpoint with the best value of a validation metric.

        Args:
            sort_by: The metric. None: `searcher.metric`.
            smaller_is_better: None: as the configuration has it.
        """
        experiment = self.get_experiment()
        return best_of(
            [self], sort_by or experiment.searcher_metric, smaller_is_better, experiment, 1
        )[0]


def best_of(
    trials: list[Trial],
    metric: str | None,
    smaller_is_better: bool | None,
    experiment: Experiment,
    limit: int,
) -> list[Checkpoint]:
    """Returns the complete checkpoints with the best values of a validation metric; at least
    one."""
    if metric is None:
        raise ValueError(f"experiment {experiment.id} has no searcher.metric: name one by sort_by")
    searcher = experiment.config.get("searcher") or {}
    if smaller_is_better is None:
        smaller_is_better = searcher.get("smaller_is_better", True)
    complete = [
        checkpoint
        for trial in trials
        for checkpoint in trial.list_checkpoints()
        if checkpoint.state == "COMPLETED"
    ]
    measured = [
        (value, checkpoint)
        for value, checkpoint in zip(validations(complete, metric), complete)
        if value is not None and not math.isnan(value)
    ]
    measured.sort(key=lambda pair: pair[0] if smaller_is_better else -pair[0])
    if not measured:
        raise NotFoundError(
            f"looking for the best checkpoint of experiment {experiment.id}: none that is complete "
            f"has a validation of {metric!r} at its step",
            code=_abi.DET_E_NOT_FOUND,
        )
    return [checkpoint for _, checkpoint in measured[:limit]]


class BestTrial(NamedTuple):
    """The best trial of an experiment. `checkpoint` is the one to use, or None if it has none."""

    trial: Trial
    checkpoint: Checkpoint | None


class Experiment(Steered):
    """An experiment, as a store or a master knows it."""

    id: Fact[int] = Fact("id")
    name: Fact[str] = Fact("name")
    state: Fact[ExperimentState] = Fact("state", ExperimentState)
    running: Fact[int | None] = Fact("running", doc="The number of trials with a live process.")
    progress: Fact[float | None] = Fact("progress")
    trial_count: Fact[int] = Fact("trials")
    trials_done: Fact[int | None] = Fact("trials_done")
    best_metric: Fact[float | None] = Fact("best_metric", number)
    searcher: Fact[str | None] = Fact("searcher")
    searcher_metric: Fact[str | None] = Fact("searcher_metric")
    start_time: Fact[datetime.datetime | None] = Fact("start_time", time)
    end_time: Fact[datetime.datetime | None] = Fact("end_time", time)
    notes: Fact[str] = Fact("notes")
    labels: Fact[list[str]] = Fact("tags")
    archived: Fact[bool] = Fact("archived")
    config: Fact[dict[str, Any]] = Fact("config")
    error: Fact[str | None] = Fact("error", doc="The reason for which the search failed.")

    _target = "EXPERIMENT"

    def _read(self) -> dict[str, Any]:
        entry = self._client._ask_about("det_client_get_experiment", self._entry["id"])
        return {**entry, "trials": len(entry["trials"])}

    def _look(self) -> None:
        self._update()  # without its trials, because they may be many

    def _update(self, **changes: Any) -> None:
        self._entry.update(self._client.update_experiment(self.id, **changes))

    def set_name(self, name: str) -> None:
        """Changes its name."""
        self._update(name=name)

    def set_notes(self, notes: str) -> None:
        """Changes its notes."""
        self._update(notes=notes)

    def set_labels(self, labels: Iterable[str]) -> None:
        """Replaces its labels."""
        if isinstance(labels, str):
            raise TypeError(f"labels must be several texts, not one: {labels!r}")
        self._update(tags=list(labels))

    def add_label(self, label: str) -> None:
        """Adds a label."""
        self._update()
        self.set_labels([*self.labels, label])

    def remove_label(self, label: str) -> None:
        """Removes a label."""
        self._update()
        self.set_labels([kept for kept in self.labels if kept != label])

    def archive(self) -> None:
        """Leaves it out of lists. It must be over."""
        self._update(archived=True)

    def unarchive(self) -> None:
        """Shows it in lists again."""
        self._update(archived=False)

    def delete(self) -> dict[str, Any]:
        """Deletes it and its checkpoints for good. It must be over."""
        return self._client._ask_about("det_client_delete_experiment", self.id)

    def list_trials(
        self,
        sort_by: str | None = None,
        order_by: str = OrderBy.ASC,
        *,
        best_first: bool = False,
        **filters: Any,
    ) -> Iterator[Trial]:
        """Lists its trials.

        Args:
            sort_by: A TrialSortBy. It reads all trials before it yields the first.
            order_by: Ascending or descending.
            best_first: True: sort by `searcher.metric`, the best trial first.
            filters: Other arguments of Client.list_trials().
        """
        sort_by = None if sort_by is None else TrialSortBy(sort_by)
        descending = OrderBy(order_by) is OrderBy.DESC and sort_by is None
        found = self._client.list_trials(
            self.id, best_first=best_first, descending=descending, **filters
        )
        return found if sort_by is None else Listing(ordered(found, sort_by, order_by, None))

    def get_trials(self, sort_by: str | None = None, order_by: str = OrderBy.ASC) -> list[Trial]:
        """Returns its trials as a list."""
        return list(self.list_trials(sort_by, order_by))

    def await_first_trial(self, interval: float = 0.1, timeout: float | None = None) -> Trial:
        """Waits until it has a trial, and returns that trial."""
        end = None if timeout is None else clock.monotonic() + timeout
        while True:
            for trial in self.list_trials():
                return trial
            if end is not None and clock.monotonic() >= end:
                raise DetTimeoutError(
                    f"waiting for the first trial of {self!r}: none after {timeout} seconds",
                    code=_abi.DET_E_TIMEOUT,
                )
            clock.sleep(interval)

    def best_trial(self) -> BestTrial | None:
        """Returns the trial with the best validation by `searcher.metric`. None without one."""
        answer = self._client._ask_about("det_client_best_trial", self.id)
        if answer["trial"] is None:
            return None
        entry = answer["checkpoint"]
        checkpoint = None if entry is None else Checkpoint(self._client, entry)
        return BestTrial(Trial(self._client, answer["trial"]), checkpoint)

    def list_checkpoints(
        self,
        sort_by: str | None = None,
        order_by: str = OrderBy.ASC,
        max_results: int | None = None,
    ) -> list[Checkpoint]:
        """Returns the checkpoints of all its trials, trial by trial.

        Args:
            sort_by: A CheckpointSortBy, for another order.
            order_by: Ascending or descending.
            max_results: The greatest number of checkpoints to return.
        """
        found = (one for trial in self.list_trials() for one in trial.list_checkpoints())
        return ordered(found, sort_by, order_by, max_results)

    def top_checkpoint(
        self, sort_by: str | None = None, smaller_is_better: bool | None = None
    ) -> Checkpoint:
        """Returns its checkpoint with the best value of a validation metric.

        Args:
            sort_by: The metric. None: `searcher.metric`.
            smaller_is_better: None: as the configuration has it.
        """
        return self.top_n_checkpoints(1, sort_by, smaller_is_better)[0]

    def top_n_checkpoints(
        self, limit: int, sort_by: str | None = None, smaller_is_better: bool | None = None
    ) -> list[Checkpoint]:
        """Returns its checkpoints with the best values of a validation metric, the best first."""
        metric = sort_by or self.searcher_metric
        return best_of(self.get_trials(), metric, smaller_is_better, self, limit)

    def hparam_importance(self) -> list[dict[str, Any]]:
        """Returns how much each hyperparameter relates to the metric, the most important first."""
        answer = self._client._ask_about("det_client_hparam_importance", self.id)
        return answer["hparams"]  # type: ignore[no-any-return]

    def collect_garbage(self, dry_run: bool = False) -> dict[str, Any]:
        """Deletes the checkpoints that its configuration does not keep.

        With `dry_run` it only returns what it would delete.
        """
        return self._client._ask_about("det_client_collect_garbage", self.id, int(dry_run))

    def dataframe(self) -> Any:
        """Returns a pandas.DataFrame with a row for each trial. Hyperparameters are
        `hparams.NAME`."""
        facts = ["id", "state", "steps_completed", "best_metric", "best_steps", "restarts"]
        facts += ["start_time", "end_time"]
        rows = [
            {
                **{fact: getattr(trial, fact) for fact in facts},
                "state": str(trial.state),
                **flattened(trial.hparams, "hparams."),
            }
            for trial in self.list_trials()
        ]
        return frame(rows, "id", facts)
