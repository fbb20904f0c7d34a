"""A trial: one training, in one run or several."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from detcore import _abi
from detcore._arguments import only_defaults
from detcore.client._checkpoint import Checkpoint, validations
from detcore.client._logs import LogLine, filter_of, iter_logs
from detcore.client._metrics import MetricSeries, TrialMetrics, frame, read_reports
from detcore.client._record import Fact, number, ordered, time
from detcore.client._states import LogLevel, OrderBy, TrialState
from detcore.client._steered import Steered
from detcore.errors import NotFoundError

if TYPE_CHECKING:
    import datetime

    from detcore.client._experiment import Experiment


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
