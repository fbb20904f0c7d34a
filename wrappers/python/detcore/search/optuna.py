"""Lets any sampler and pruner of Optuna decide which trials `det run` makes and how long they
train.

    study = optuna.create_study(sampler=TPESampler(seed=1), pruner=MedianPruner())
    method = OptunaSearch(study, config["hyperparameters"], max_trials=50, max_length=16)
    LocalSearchRunner(method, "search").run(config)
    print(method.study.best_trial)
"""

from __future__ import annotations

import math
import numbers
import pathlib
import uuid
from collections.abc import Mapping
from typing import Any

try:
    import optuna
except ImportError as failure:
    raise ImportError(
        "detcore.search.optuna needs Optuna, which is not installed: pip install optuna"
    ) from failure

from detcore.search._method import SearcherState, SearchMethod
from detcore.search._operations import (
    Close,
    Create,
    ExitedReason,
    Operation,
    Shutdown,
    ValidateAfter,
)
from detcore.search._space import Space

_SEARCH = "detcore_search"  # an attribute of a trial that names its search
_FINISHED_BADLY = optuna.trial.TrialState.FAIL


class OptunaSearch(SearchMethod):
    """A search method that asks an Optuna study.

    The study decides if smaller is better. Set `searcher.smaller_is_better` to the same.

    After a restart of the program, `study` is the study of the kept state. With a storage it is
    that of the storage. Without one it is a copy from after the last decision.

    Args:
        study: The study, with its sampler and pruner.
        hyperparameters: The hyperparameters of the configuration.
        max_trials: The number of trials.
        max_length: The length to which a trial trains.
        period: The length between validations, after which the pruner may end the trial. By default
            a trial validates only at its end.
        max_concurrent_trials: The number of trials at a time. The number of slots is best, because
            a sampler that draws more at once has seen fewer results.
    """

    def __init__(
        self,
        study: optuna.Study,
        hyperparameters: Mapping[str, Any],
        *,
        max_trials: int,
        max_length: int,
        period: int | None = None,
        max_concurrent_trials: int = 4,
    ) -> None:
        if len(study.directions) != 1:
            raise ValueError(f"the study has {len(study.directions)} directions; a search has one")
        given = {
            "max_trials": max_trials,
            "max_length": max_length,
            "period": max_length if period is None else period,
            "max_concurrent_trials": max_concurrent_trials,
        }
        for name, value in given.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a whole number from 1, not {value!r}")
        self.study = study
        self.max_trials = max_trials
        self.max_length = max_length
        self.period: int = given["period"]
        self.max_concurrent_trials = max_concurrent_trials
        self.numbers: dict[uuid.UUID, int] = {}  # the study's number of each trial
        self._open: dict[uuid.UUID, optuna.trial.Trial] = {}
        self._space = Space(hyperparameters)
        self._search_id = uuid.uuid4().hex
        self._refused = 0

    def initial_operations(self, searcher_state: SearcherState) -> list[Operation]:
        return self._next_trials(searcher_state)

    def on_trial_created(
        self, searcher_state: SearcherState, request_id: uuid.UUID
    ) -> list[Operation]:
        return []

    def on_validation_completed(
        self,
        searcher_state: SearcherState,
        request_id: uuid.UUID,
        metric: Any,
        train_length: int,
    ) -> list[Operation]:
        if not isinstance(metric, numbers.Real) or math.isnan(metric):
            self._tell(request_id, None, _FINISHED_BADLY)
            return [Close(request_id)]
        trial = self._open[request_id]
        trial.report(float(metric), train_length)
        if train_length >= self.max_length:
            self._tell(request_id, float(metric), optuna.trial.TrialState.COMPLETE)
        elif trial.should_prune():
            self._tell(request_id, None, optuna.trial.TrialState.PRUNED)
        else:
            length = min(train_length + self.period, self.max_length)
            return [ValidateAfter(request_id, length)]
        return [Close(request_id)]

    def on_trial_closed(
        self, searcher_state: SearcherState, request_id: uuid.UUID
    ) -> list[Operation]:
        self._tell(request_id, None, _FINISHED_BADLY)  # unless the study has its result
        operations = self._next_trials(searcher_state)
        if operations or len(searcher_state.trials_closed) < len(self.numbers):
            return operations
        nothing = not self.study.get_trials(
            deepcopy=False, states=[optuna.trial.TrialState.COMPLETE]
        )
        return [Shutdown(failure=nothing)]

    def on_trial_exited_early(
        self, searcher_state: SearcherState, request_id: uuid.UUID, exited_reason: ExitedReason
    ) -> list[Operation]:
        self._tell(request_id, None, _FINISHED_BADLY)
        if exited_reason is ExitedReason.INVALID_HP:
            self._refused += 1  # another trial replaces it
        return []

    def progress(self, searcher_state: SearcherState) -> float:
        running = searcher_state.trials_created - searcher_state.trials_closed
        reached = sum(searcher_state.trial_progress.get(trial, 0.0) for trial in running)
        done = len(searcher_state.trials_closed) - self._refused + reached / self.max_length
        return min(max(done / self.max_trials, 0.0), 1.0)

    def load_method_state(self, path: pathlib.Path) -> None:
        super().load_method_state(path)
        known = set(self.numbers.values())
        # A storage kept the trials of a decision that a kill undid.
        for trial in self.study.get_trials(deepcopy=False):
            is_ours = trial.user_attrs.get(_SEARCH) == self._search_id
            if is_ours and trial.number not in known and not trial.state.is_finished():
                self.study.tell(trial.number, state=_FINISHED_BADLY)

    def _next_trials(self, searcher_state: SearcherState) -> list[Operation]:
        operations: list[Operation] = []
        while (
            len(self.numbers) - self._refused < self.max_trials
            and len(self.numbers) - len(searcher_state.trials_closed) < self.max_concurrent_trials
        ):
            trial = self.study.ask(self._space.distributions)
            request_id = uuid.uuid4()
            trial.set_user_attr(_SEARCH, self._search_id)
            trial.set_user_attr("request_id", str(request_id))
            self.numbers[request_id] = trial.number
            self._open[request_id] = trial
            operations.append(Create(request_id, self._space.hparams(trial.params)))
            operations.append(ValidateAfter(request_id, min(self.period, self.max_length)))
        return operations

    def _tell(
        self, request_id: uuid.UUID, value: float | None, state: optuna.trial.TrialState
    ) -> None:
        if request_id not in self._open:
            return
        # A storage kept the result from before a kill, and it stays.
        number = self._open.pop(request_id).number
        self.study.tell(number, value, state=state, skip_if_finished=True)
