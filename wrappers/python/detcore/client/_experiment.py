"""An experiment: a search over many trials, or one trial that was started by itself."""

from __future__ import annotations

import time as clock
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from detcore import _abi
from detcore.client._checkpoint import Checkpoint
from detcore.client._metrics import flattened, frame
from detcore.client._record import Fact, Listing, number, ordered, time
from detcore.client._states import ExperimentState, OrderBy, TrialSortBy
from detcore.client._steered import Steered
from detcore.client._trial import Trial, best_of
from detcore.errors import DetTimeoutError

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterator


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
