"""Drives an experiment by a search method, and makes each decision exactly once."""

from __future__ import annotations

import logging
import os
import pathlib
import pickle
import time
import uuid
from typing import Any

from detcore import _abi
from detcore.client import Client
from detcore.client._metrics import NUMBERS
from detcore.errors import ConflictError, NotFoundError, StateError, UnavailableError
from detcore.search._method import SearcherState, SearchMethod
from detcore.search._operations import ExitedReason, Operation, Progress
from detcore.search._state_directory import StateDirectory

_log = logging.getLogger("detcore.search")
_REASON = "EXITED_REASON_"
# Python sees a signal when a call is over. No call takes longer than this.
_SLICE = 0.5  # seconds


class SearchRunner:
    """Reads events, asks the method, and posts its answers.

    It keeps the method's state together with its answer before it posts the answer. The post also
    acknowledges the events. A program that was killed resumes from what it kept. It posts the
    answer again, and the master rejects it if the first post had arrived.
    """

    def __init__(
        self,
        search_method: SearchMethod,
        searcher_dir: str | os.PathLike[str],
        client: Client | None = None,
    ) -> None:
        if not isinstance(search_method, SearchMethod):
            raise TypeError(f"search_method must be a SearchMethod, not {search_method!r}")
        self.search_method = search_method
        self.state: SearcherState = SearcherState()
        self._directory = StateDirectory(searcher_dir)
        self._given_client = client
        self._experiment_id: int | None = None
        self._answer: list[dict[str, Any]] | None = None  # kept, and perhaps not posted yet
        self._restored = False

    @property
    def searcher_dir(self) -> pathlib.Path:
        """The directory of this search."""
        return self._directory.path

    def _restore(self) -> None:
        found = self._directory.read()
        if found is None:
            return
        runner, place = found
        try:
            self.state.from_dict(runner["searcher_state"])
            self._experiment_id = runner["experiment_id"]
            self._answer = runner["answer"]
        except (AttributeError, KeyError, TypeError, ValueError) as failure:
            raise self._directory.damaged(f"the state of the runner in {place}") from failure
        self._restored = self._answer is not None
        try:
            self.search_method.load_method_state(place)
        except (EOFError, OSError, pickle.UnpicklingError) as failure:
            raise self._directory.damaged(f"the state of the method in {place}") from failure

    def _keep(self) -> None:
        runner = {
            "experiment_id": self._experiment_id,
            "searcher_state": self.state.to_dict(),
            "answer": self._answer,
        }
        self._directory.save(runner, self.search_method.save_method_state)

    def _drive(self, client: Client, experiment_id: int) -> None:
        """Drives the experiment until it is over, or until _is_over() leaves it."""
        if self._experiment_id not in (None, experiment_id):
            raise StateError(
                f"running the search in '{self.searcher_dir}': it is that of experiment "
                f"{self._experiment_id}, not of {experiment_id}: take another directory",
                code=_abi.DET_E_STATE,
            )
        self._experiment_id = experiment_id
        while True:
            is_heard = self._answer is None or self._post(client, experiment_id, self._answer)
            events = client.search_events(experiment_id, _SLICE if is_heard else 0)
            if events and "experimentInactive" in events[-1]:
                if self._is_over(str(events[-1]["experimentInactive"]["state"])):
                    return
                continue
            new = [event for event in events if int(event["id"]) > self.state.last_event_id]
            if new and is_heard:
                self._decide(new)
            else:
                self._look_after(is_heard)

    def _decide(self, events: list[dict[str, Any]]) -> None:
        operations = [operation for event in events for operation in self._answers_to(event)]
        operations.append(Progress(self.search_method.progress(self.state)))
        self._answer = [operation.to_json() for operation in operations]
        self.state.last_event_id = int(events[-1]["id"])
        self._keep()

    def _post(self, client: Client, experiment_id: int, answer: list[dict[str, Any]]) -> bool:
        """Posts an answer. False: nobody runs the experiment now who could take it."""
        try:
            refused = client.post_operations(experiment_id, self.state.last_event_id, answer)
            if refused is not None:
                _log.error("operations of experiment %d: %s", experiment_id, refused)
        except UnavailableError:
            return False
        except NotFoundError as failure:
            if not self._restored:
                raise ConflictError(
                    f"deciding the search of experiment {experiment_id}: another program does so "
                    f"as well ({failure}); end one of them",
                    code=_abi.DET_E_CONFLICT,
                ) from failure
        self._answer = None
        self._restored = False
        return True

    def _answers_to(self, event: dict[str, Any]) -> list[Operation]:
        said = self._handle(event)
        if isinstance(said, (list, tuple)) and all(isinstance(each, Operation) for each in said):
            return list(said)
        (kind,) = event.keys() - {"id"}
        raise TypeError(
            f"{type(self.search_method).__name__} must answer {kind} with a list of operations, "
            f"not {said!r:.80}"
        )

    def _handle(self, event: dict[str, Any]) -> list[Operation]:
        """Returns the method's operations for one event."""
        (kind,) = event.keys() - {"id"}
        body = event[kind]
        if kind == "initialOperations":
            return self.search_method.initial_operations(self.state)
        trial = uuid.UUID(body["requestId"])
        if kind == "trialCreated":
            self.state.trials_created.add(trial)
            self.state.trial_progress[trial] = 0.0
            return self.search_method.on_trial_created(self.state, trial)
        if kind == "trialProgress":
            self.state.trial_progress[trial] = float(body["partialUnits"])
            return []
        if kind == "validationCompleted":
            metric, length = body["metric"], int(body["validateAfterLength"])
            number = NUMBERS.get(metric, metric) if isinstance(metric, str) else metric
            return self.search_method.on_validation_completed(self.state, trial, number, length)
        if kind == "trialExitedEarly":
            self.state.failures.add(trial)
            self.state.trial_progress.pop(trial, None)
            reason = ExitedReason(body.get("exitedReason", _REASON + "ERRORED")[len(_REASON) :])
            return self.search_method.on_trial_exited_early(self.state, trial, reason)
        if kind == "trialClosed":
            self.state.trials_closed.add(trial)
            return self.search_method.on_trial_closed(self.state, trial)
        _log.info("an unknown event is ignored: %s", kind)
        return []

    def _is_over(self, state: str) -> bool:
        """Returns True if the runner should stop because the experiment is not active."""
        if state in ("COMPLETED", "CANCELED", "ERROR"):
            self.state.experiment_completed = state == "COMPLETED"
            self.state.experiment_failed = state == "ERROR"
            self._keep()
            return True
        time.sleep(_SLICE)  # it may be activated
        return False

    def _look_after(self, is_heard: bool) -> None:
        """Does work while nothing happens. `is_heard` is False if nobody runs the experiment."""
        if not is_heard:
            time.sleep(_SLICE)  # it may be resumed


class ExperimentSearchRunner(SearchRunner):
    """Drives an experiment that `det run` runs elsewhere.

    A later start with the same `searcher_dir` resumes the search. The directory is for this search
    alone.
    """

    def run(self, experiment_id: int) -> int:
        """Drives the experiment until it is over, and returns its id. It waits while the experiment
        is paused."""
        with self._directory.locked():
            self._restore()
            if self._given_client is not None:
                self._drive(self._given_client, experiment_id)
            else:
                with Client() as client:
                    self._drive(client, experiment_id)
        return experiment_id
