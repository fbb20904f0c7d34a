"""A search method for tests, and a program that runs it: deciding.py DIRECTORY [DELAY]."""

from __future__ import annotations

import sys
import time
import uuid
from pathlib import Path
from typing import Any

from detcore import search
from experiments import QUICK, trial

TRIALS = 4
CONFIG = {
    "name": "decided",
    "searcher": {"name": "custom", "metric": "loss"},
    "max_restarts": 100,
}


class Halving(search.SearchMethod):
    """Trains all to 2, and the better half of them to 4."""

    def __init__(self, delay: float = 0) -> None:
        self.delay = delay
        self.metrics: dict[uuid.UUID, float] = {}
        self.heard: list[str] = []

    def initial_operations(self, searcher_state: search.SearcherState) -> list[search.Operation]:
        self.heard.append("initial")
        operations: list[search.Operation] = []
        for number in range(TRIALS):
            trial = uuid.uuid4()
            operations.append(search.Create(trial, {"x": number / TRIALS}))
            operations.append(search.ValidateAfter(trial, 2))
        return self._slowly(operations)

    def on_trial_created(
        self, searcher_state: search.SearcherState, request_id: uuid.UUID
    ) -> list[search.Operation]:
        self.heard.append("created")
        return []

    def on_validation_completed(
        self,
        searcher_state: search.SearcherState,
        request_id: uuid.UUID,
        metric: Any,
        train_length: int,
    ) -> list[search.Operation]:
        self.heard.append(f"validated {train_length}")
        self.metrics[request_id] = metric
        if train_length == 2 and metric < 0.5:
            return self._slowly([search.ValidateAfter(request_id, 4)])
        return self._slowly([search.Close(request_id)])

    def on_trial_closed(
        self, searcher_state: search.SearcherState, request_id: uuid.UUID
    ) -> list[search.Operation]:
        self.heard.append("closed")
        over = len(searcher_state.trials_closed) == TRIALS
        return self._slowly([search.Shutdown()] if over else [])

    def on_trial_exited_early(
        self,
        searcher_state: search.SearcherState,
        request_id: uuid.UUID,
        exited_reason: search.ExitedReason,
    ) -> list[search.Operation]:
        self.heard.append(f"exited {exited_reason.value}")
        return []

    def progress(self, searcher_state: search.SearcherState) -> float:
        return len(searcher_state.trials_closed) / TRIALS

    def _slowly(self, operations: list[search.Operation]) -> list[search.Operation]:
        time.sleep(self.delay)
        return operations


if __name__ == "__main__":
    method = Halving(float(sys.argv[2]) if len(sys.argv) > 2 else 0)
    runner = search.LocalSearchRunner(method, Path(sys.argv[1]), slots=2)
    print("experiment", runner.run(CONFIG, command=trial(QUICK)))
