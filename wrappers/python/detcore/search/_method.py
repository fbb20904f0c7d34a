"""The search method that a user writes."""

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
    """What is known of all trials. The runner keeps it."""

    failures: set[uuid.UUID] = dataclasses.field(default_factory=set)
    trial_progress: dict[uuid.UUID, float] = dataclasses.field(default_factory=dict)
    trials_closed: set[uuid.UUID] = dataclasses.field(default_factory=set)
    trials_created: set[uuid.UUID] = dataclasses.field(default_factory=set)
    last_event_id: int = 0
    experiment_completed: bool = False
    experiment_failed: bool = False

    def to_dict(self) -> dict[str, Any]:
        texts = {str(trial): value for trial, value in self.trial_progress.items()}
        sets = {
            name: sorted(str(trial) for trial in getattr(self, name))
            for name in ("failures", "trials_closed", "trials_created")
        }
        return {**dataclasses.asdict(self), "trial_progress": texts, **sets}

    def from_dict(self, d: dict[str, Any]) -> None:
        """Becomes what to_dict() was called of."""
        progress = {uuid.UUID(trial): value for trial, value in d["trial_progress"].items()}
        sets = {
            name: {uuid.UUID(trial) for trial in d[name]}
            for name in ("failures", "trials_closed", "trials_created")
        }
        self.__init__(**{**d, "trial_progress": progress, **sets})  # type: ignore[misc]


class SearchMethod(abc.ABC):
    """Decides a search: each call tells what happened, and answers what is to be done. All calls
    are made by one thread, in the order in which things happened. A call may be made a second time
    after the program was killed: then what it did the first time was taken back."""

    @abc.abstractmethod
    def initial_operations(self, searcher_state: SearcherState) -> list[Operation]: ...

    @abc.abstractmethod
    def on_trial_created(
        self, searcher_state: SearcherState, request_id: uuid.UUID
    ) -> list[Operation]: ...

    @abc.abstractmethod
    def on_validation_completed(
        self, searcher_state: SearcherState, request_id: uuid.UUID, metric: Any, train_length: int
    ) -> list[Operation]:
        """`metric` is what the trial completed its operation with, `train_length` its length."""

    @abc.abstractmethod
    def on_trial_closed(
        self, searcher_state: SearcherState, request_id: uuid.UUID
    ) -> list[Operation]: ...

    @abc.abstractmethod
    def on_trial_exited_early(
        self, searcher_state: SearcherState, request_id: uuid.UUID, exited_reason: ExitedReason
    ) -> list[Operation]: ...

    @abc.abstractmethod
    def progress(self, searcher_state: SearcherState) -> float:
        """From 0 to 1."""

    def save_method_state(self, path: pathlib.Path) -> None:
        """Writes what load_method_state() needs into the directory `path`; by default all
        attributes, pickled."""
        try:
            text = pickle.dumps(vars(self))
        except Exception as failure:
            raise TypeError(
                f"{type(self).__name__} has attributes that cannot be pickled ({failure}): give it "
                "save_method_state() and load_method_state() of its own"
            ) from failure
        (path / _FILE).write_bytes(text)

    def load_method_state(self, path: pathlib.Path) -> None:
        """Reads what save_method_state() wrote, in another process."""
        vars(self).update(pickle.loads((path / _FILE).read_bytes()))
