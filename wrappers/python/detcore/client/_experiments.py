"""Experiments, their trials and the checkpoints of those: each knows the others."""

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
    """What an experiment, a trial and a checkpoint need of a Client: that makes the others."""

    def get_experiment(self, experiment_id: int) -> Experiment: ...
    def get_trial(self, trial_id: int | str) -> Trial: ...
    def list_trials(self, experiment_id: int | None = None, **filters: Any) -> Iterator[Trial]: ...
    def list_checkpoints(self, trial_id: int | None = None) -> Iterator[Checkpoint]: ...
    def get_metrics(self, trial_id: int, name: str, group: str = "training") -> MetricSeries: ...
    def update_experiment(self, experiment_id: int, **changes: Any) -> dict[str, Any]: ...
    def _open_storage(self, uuid: str) -> Owned: ...


class Checkpoint(Record):
    _client: Records
    _identity = "uuid"

    uuid: Fact[str] = Fact("uuid")
    trial_id: Fact[int] = Fact("trial_id")
    trial_run_id: Fact[int | None] = Fact("trial_run_id")
    steps_completed: Fact[int] = Fact("steps_completed")
    state: Fact[CheckpointState] = Fact("state", CheckpointState)
    report_time: Fact[datetime.datetime | None] = Fact("time", time)
    size: Fact[int] = Fact("size", doc="Bytes of all its files.")
    metadata: Fact[dict[str, Any]] = Fact("metadata")
    resources: Fact[dict[str, int]] = Fact("resources", doc="Bytes by path; directories end in /.")
    pinned: Fact[bool | None] = Fact("pinned", doc="None over HTTP.")
    storage: Fact[dict[str, Any]] = Fact(
        "storage", doc="As `checkpoint_storage` of a configuration, without what is secret of it."
    )

    def _read(self) -> dict[str, Any]:
        return self._client._ask_about("det_client_get_checkpoint", self._entry["uuid"])

    def get_trial(self) -> Trial:
        return self._client.get_trial(self.trial_id)

    def validation(self, name: str) -> float | None:
        """The validation metric that was reported at its step, None where there is none."""
        return validations([self], name)[0]

    @property
    def searcher_metric(self) -> float | None:
        """The validation by `searcher.metric` at its step."""
        name = self.get_trial().get_experiment().searcher_metric
        return None if name is None else self.validation(name)

    @property
    def directory(self) -> pathlib.Path | None:
        """Where its files are; None where that is no file system that this machine has."""
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
        """Copies its files into a directory, by default checkpoints/UUID; returns the directory.
        What is there before stays; they are compared with what was stored. They come from storage
        itself: `mode`, which could ask for another way in determined, has no effect."""
        target = pathlib.Path(path) if path is not None else pathlib.Path("checkpoints", self.uuid)
        self._open_storage().download(self.uuid, target)
        return str(target)

    def verify(self) -> None:
        """Compares its files with what was stored; a CorruptError names one that differs."""
        self._open_storage().verify(self.uuid)

    def _open_storage(self) -> Storage:
        """With the credentials that the store or the master has for it."""
        from detcore.storage import Storage  # which takes longer than all the rest of the client

        return Storage._given(self._client._open_storage(self.uuid))

    def delete(self) -> None:
        """Deletes its files; from then on nothing starts from it."""
        self._client._ask_about("det_client_delete_checkpoint", self.uuid)
        self.reload()

    def pin(self) -> None:
        """Keeps it until unpin(): nothing collects it, and delete() refuses."""
        self._client._ask_about("det_client_pin_checkpoint", self.uuid, 1)
        self.reload()

    def unpin(self) -> None:
        """Ends pin()."""
        self._client._ask_about("det_client_pin_checkpoint", self.uuid, 0)
        self.reload()

    def write_metadata_file(self, path: str | os.PathLike[str]) -> None:
        """Writes its metadata as JSON."""
        pathlib.Path(path).write_text(json.dumps(self.metadata, indent=2) + "\n", encoding="utf-8")


def validations(checkpoints: Iterable[Checkpoint], name: str) -> list[float | None]:
    """Of each the validation at its step. The metrics of a trial are read once."""
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
    _client: Records
    _target = ""

    def pause(self) -> None:
        """Asks running processes to save a checkpoint and leave; they can go on later."""
        self._control("PAUSE")

    def activate(self) -> None:
        """Lets what is paused go on."""
        self._control("ACTIVATE")

    def cancel(self) -> None:
        """Asks running processes to save a checkpoint and leave, for good."""
        self._control("CANCEL")

    def kill(self) -> None:
        """Ends running processes at once."""
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
        """Until it is over; gives the state. A look each `interval` seconds."""
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
    id: Fact[int] = Fact("id")
    experiment_id: Fact[int] = Fact("experiment_id")
    name: Fact[str] = Fact("name", doc="Of its experiment.")
    external_id: Fact[str | None] = Fact("external_id")
    state: Fact[TrialState] = Fact("state", TrialState)
    running: Fact[bool] = Fact("running", doc="Whether a process that is alive works on it.")
    status: Fact[str | None] = Fact("status")
    progress: Fact[float | None] = Fact("progress")
    steps_completed: Fact[int] = Fact("steps_completed")
    best_metric: Fact[float | None] = Fact("best_metric", number)
    best_steps: Fact[int | None] = Fact("best_steps")
    restarts: Fact[int] = Fact("restarts")
    hparams: Fact[dict[str, Any]] = Fact("hparams")
    start_time: Fact[datetime.datetime | None] = Fact("start_time", time)
    end_time: Fact[datetime.datetime | None] = Fact("end_time", time)
    labels: Fact[list[str]] = Fact("tags", doc="Of its experiment.")
    archived: Fact[bool] = Fact("archived")
    seed: Fact[int] = Fact("trial_seed")
    task_id: Fact[str] = Fact("task_id")
    early_exit: Fact[str | None] = Fact("early_exit")
    metadata: Fact[dict[str, Any] | None] = Fact("metadata")
    operations: Fact[list[dict[str, Any]]] = Fact("operations")
    error: Fact[str | None] = Fact("error")
    waiting: Fact[int] = Fact("waiting", doc="Reports that Client.sync() would deliver.")
    resume_command: Fact[str | None] = Fact("resume")

    _target = "TRIAL"

    def _read(self) -> dict[str, Any]:
        return self._client._ask_about("det_client_get_trial", self.id)

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Its runs, with the keys of docs/client.md."""
        if not isinstance(self._entry.get("runs"), list):  # lists say only how many
            self.reload()
        found: list[dict[str, Any]] = self._entry["runs"] or []
        return found

    @property
    def request_id(self) -> uuid.UUID | None:
        """By which a search method knows it; None where no search made it."""
        try:
            return uuid.UUID(self.task_id.partition(".")[2])
        except (AttributeError, ValueError):
            return None

    @property
    def latest_checkpoint(self) -> Checkpoint | None:
        entry = self._fact("latest_checkpoint")
        return None if entry is None else Checkpoint(self._client, entry)

    def get_experiment(self) -> Experiment:
        return self._client.get_experiment(self.experiment_id)

    def metrics(self, name: str, group: str = "training") -> MetricSeries:
        """All values of one metric, as arrays: `steps, losses, _ = trial.metrics("loss")`."""
        return self._client.get_metrics(self.id, name, group)

    def metric_names(self) -> dict[str, list[str]]:
        """The names of its metrics, by group."""
        return self._client._ask_about("det_client_list_metric_names", self.id)

    def iter_metrics(self, group: str | None = None) -> Iterator[TrialMetrics]:
        """Its reports, in the order they were made; None: of all groups."""
        return read_reports(self._client._connection, self.id, group)

    def iter_training_metrics(self) -> Iterator[TrialMetrics]:
        return self.iter_metrics("training")

    def iter_validation_metrics(self) -> Iterator[TrialMetrics]:
        return self.iter_metrics("validation")

    def trace(self) -> dict[str, Any]:
        """Where its time went, in the Trace Event format: for json.dump(), and then Perfetto."""
        return self._client._ask_about("det_client_get_trace", self.id)

    def dataframe(self, group: str | None = None) -> Any:
        """A pandas.DataFrame with a row for each report, and a column for each metric."""
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
        """Lines of its log. `follow` waits for more, until its process has left. The last five
        choose some; of containers, streams and sources nothing is known."""
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
        """By a CheckpointSortBy, else from the oldest to the newest."""
        return ordered(self._client.list_checkpoints(self.id), sort_by, order_by, max_results)

    def top_checkpoint(
        self, sort_by: str | None = None, smaller_is_better: bool | None = None
    ) -> Checkpoint:
        """The one with the best validation metric `sort_by`, by default `searcher.metric`."""
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
    """The complete checkpoints with the best values of a validation metric; at least one."""
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
    """`checkpoint`: the one to take from the trial, None where it has none."""

    trial: Trial
    checkpoint: Checkpoint | None


class Experiment(Steered):
    id: Fact[int] = Fact("id")
    name: Fact[str] = Fact("name")
    state: Fact[ExperimentState] = Fact("state", ExperimentState)
    running: Fact[int | None] = Fact("running", doc="How many trials have a process that is alive.")
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
    error: Fact[str | None] = Fact("error", doc="Why the search failed.")

    _target = "EXPERIMENT"

    def _read(self) -> dict[str, Any]:
        entry = self._client._ask_about("det_client_get_experiment", self._entry["id"])
        return {**entry, "trials": len(entry["trials"])}

    def _look(self) -> None:
        self._update()  # without its trials, which may be many

    def _update(self, **changes: Any) -> None:
        self._entry.update(self._client.update_experiment(self.id, **changes))

    def set_name(self, name: str) -> None:
        self._update(name=name)

    def set_notes(self, notes: str) -> None:
        self._update(notes=notes)

    def set_labels(self, labels: Iterable[str]) -> None:
        if isinstance(labels, str):
            raise TypeError(f"labels must be several texts, not one: {labels!r}")
        self._update(tags=list(labels))

    def add_label(self, label: str) -> None:
        self._update()
        self.set_labels([*self.labels, label])

    def remove_label(self, label: str) -> None:
        self._update()
        self.set_labels([kept for kept in self.labels if kept != label])

    def archive(self) -> None:
        """Leaves it out of lists. It must be over."""
        self._update(archived=True)

    def unarchive(self) -> None:
        self._update(archived=False)

    def delete(self) -> dict[str, Any]:
        """For good, with its checkpoints. It must be over."""
        return self._client._ask_about("det_client_delete_experiment", self.id)

    def list_trials(
        self,
        sort_by: str | None = None,
        order_by: str = OrderBy.ASC,
        *,
        best_first: bool = False,
        **filters: Any,
    ) -> Iterator[Trial]:
        """Its trials; `sort_by` a TrialSortBy, which reads all of them first, as those of
        Client.list_trials() do not."""
        sort_by = None if sort_by is None else TrialSortBy(sort_by)
        descending = OrderBy(order_by) is OrderBy.DESC and sort_by is None
        found = self._client.list_trials(
            self.id, best_first=best_first, descending=descending, **filters
        )
        return found if sort_by is None else Listing(ordered(found, sort_by, order_by, None))

    def get_trials(self, sort_by: str | None = None, order_by: str = OrderBy.ASC) -> list[Trial]:
        return list(self.list_trials(sort_by, order_by))

    def await_first_trial(self, interval: float = 0.1, timeout: float | None = None) -> Trial:
        """Waits until there is a trial."""
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
        """The trial with the best validation by `searcher.metric`, or None."""
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
        """Those of all its trials; by a CheckpointSortBy, else trial by trial."""
        found = (one for trial in self.list_trials() for one in trial.list_checkpoints())
        return ordered(found, sort_by, order_by, max_results)

    def top_checkpoint(
        self, sort_by: str | None = None, smaller_is_better: bool | None = None
    ) -> Checkpoint:
        """The one with the best validation metric `sort_by`, by default `searcher.metric`."""
        return self.top_n_checkpoints(1, sort_by, smaller_is_better)[0]

    def top_n_checkpoints(
        self, limit: int, sort_by: str | None = None, smaller_is_better: bool | None = None
    ) -> list[Checkpoint]:
        metric = sort_by or self.searcher_metric
        return best_of(self.get_trials(), metric, smaller_is_better, self, limit)

    def hparam_importance(self) -> list[dict[str, Any]]:
        """How much each hyperparameter has to do with the metric, the most important first."""
        answer = self._client._ask_about("det_client_hparam_importance", self.id)
        return answer["hparams"]  # type: ignore[no-any-return]

    def collect_garbage(self, dry_run: bool = False) -> dict[str, Any]:
        """Deletes the checkpoints that its configuration does not keep."""
        return self._client._ask_about("det_client_collect_garbage", self.id, int(dry_run))

    def dataframe(self) -> Any:
        """A pandas.DataFrame with a row for each trial; hyperparameters are `hparams.NAME`."""
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
