"""The workloads of test mode."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
from typing import TYPE_CHECKING, Any

from detcore import core
from detcore.errors import InvalidHP
from detcore.trial._workloads import Workload, WorkloadKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detcore.trial._environment import Environment

_log = logging.getLogger("detcore.trial")
_DONE = {
    WorkloadKind.RUN_STEP: "a batch was trained",
    WorkloadKind.COMPUTE_VALIDATION_METRICS: "a batch was validated with",
    WorkloadKind.CHECKPOINT_MODEL: "a checkpoint was saved",
}


class OneBatch:
    """A WorkloadSource with one workload of each kind, of one batch."""

    def __init__(self) -> None:
        self._left = list(WorkloadKind)

    def next(self) -> Workload | None:
        if not self._left:
            return None
        if (kind := self._left[0]) is WorkloadKind.RUN_STEP:
            return Workload(kind, num_batches=1, total_batches_processed=0, step_id=1)
        return Workload(kind, num_batches=0, total_batches_processed=1, step_id=1)

    def respond(self, response: dict[str, Any] | InvalidHP) -> None:
        if isinstance(response, InvalidHP):
            self._left.clear()
            raise response
        kind = self._left.pop(0)
        if kind is WorkloadKind.RUN_STEP:
            batches = response["metrics"]["batch_metrics"]
            assert len(batches) == 1, f"{len(batches)} batches were trained instead of one"
        _log.info("test mode: %s", _DONE[kind])

    def state(self) -> dict[str, int]:
        return {}

    def load_state(self, state: dict[str, int]) -> None:
        raise AssertionError("test mode starts from nothing")


@contextlib.contextmanager
def unkept_run(environment: Environment) -> Iterator[core.Context]:
    """Starts a run of which nothing is kept. InvalidHP leaves it, because no search can try other
    values."""
    refusal = None
    with (
        tempfile.TemporaryDirectory(prefix="detcore-test-") as folder,
        core.init(
            master=folder,
            checkpoint_storage=os.path.join(folder, "checkpoints"),
            config={**environment.experiment_config, "hyperparameters": environment.hparams},
            hparams=environment.hparams,
        ) as run,
    ):
        try:
            yield run
        except InvalidHP as raised:
            refusal = raised
    if refusal is not None:
        raise refusal
