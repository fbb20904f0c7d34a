"""The base class of search methods."""

from __future__ import annotations

import abc
import dataclasses
import pathlib
import pickle
import uuid
from typing import Any

from detcore.search._operations import ExitedReason, Operation

_FILE = "method.pickle"


@dataclasses.dataclass
class SearcherState:
    """The facts about all trials of a search. The runner keeps it up to date."""

    failures: set[uuid.UUID] = dataclasses.field(default_factory=set)
    trial_progress: dict[uuid.UUID, float] = dataclasses.field(default_factory=dict)
    trials_closed: set[uuid.UUID] = dataclasses.field(default_factory=set)
    trials_created: set[uuid.UUID] = dataclasses.field(default_factory=set)
    last_event_id: int = 0
    experiment_completed: bool = False
    experiment_failed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Returns the state as a dict that JSON can hold."""
        texts = {str(trial): value for trial, value in self.trial_progress.items()}
        sets = {
            name: sorted(str(trial) for trial in getattr(self, name))
            for name in ("failures", "trials_closed", "trials_created")
        }
        return {**dataclasses.asdict(self), "trial_progress": texts, **sets}

    def from_dict(self, d: dict[str, Any]) -> None:
        """Takes the state from a dict of to_dict()."""
        progress = {uuid.UUID(trial): value for trial, value in d["trial_progress"].items()}
        sets = {
            name: {uuid.UUID(trial) for trial in d[name]}
            for name in ("failures", "trials_closed", "trials_created")
        }
        self.__init__(**{**d, "trial_progress": progress, **sets})  # type: ignore[misc]


class SearchMethod(abc.ABC):
    """Decides a search: derive your method from it. Each call reports an event and returns
    operations.

    One thread makes all calls, in the order of the events. After a kill of the program, a call may
    come a second time. The effects of the first call are then undone.
    """

    @abc.abstractmethod
    def initial_operations(self, searcher_state: SearcherState) -> list[Operation]:
        """Returns the first operations of the search."""

    @abc.abstractmethod
    def on_trial_created(
        self, searcher_state: SearcherState, request_id: uuid.UUID
    ) -> list[Operation]:
        """Returns operations after a trial was created."""

    @abc.abstractmethod
    def on_validation_completed(
        self, searcher_state: SearcherState, request_id: uuid.UUID, metric: Any, train_length: int
    ) -> list[Operation]:
        """Returns operations after a trial completed one.

        Args:
            searcher_state: The facts about all trials.
            request_id: The trial.
            metric: The metric with which the trial completed the operation.
            train_length: The length of the operation.
        """

    @abc.abstractmethod
    def on_trial_closed(
        self, searcher_state: SearcherState, request_id: uuid.UUID
    ) -> list[Operation]:
        """Returns operations after a trial was closed."""

    @abc.abstractmethod
    def on_trial_exited_early(
        self, searcher_state: SearcherState, request_id: uuid.UUID, exited_reason: ExitedReason
    ) -> list[Operation]:
        """Returns operations after a trial left before its work was done."""

    @abc.abstractmethod
    def progress(self, searcher_state: SearcherState) -> float:
        """Returns the progress of the search, from 0 to 1."""

    def save_method_state(self, path: pathlib.Path) -> None:
        """Writes the method's state into the directory `path`. By default it pickles all
        attributes."""
        try:
            text = pickle.dumps(vars(self))
        except Exception as failure:
            raise TypeError(
                f"{type(self).__name__} has attributes that cannot be pickled ({failure}): define "
                "save_method_state() and load_method_state() in it"
            ) from failure
        (path / _FILE).write_bytes(text)

    def load_method_state(self, path: pathlib.Path) -> None:
        """Reads the state that save_method_state() wrote, perhaps in another process."""
        vars(self).update(pickle.loads((path / _FILE).read_bytes()))
