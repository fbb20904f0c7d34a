"""Decides the workloads of a run from its search and its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from detcore import _trial
from detcore.errors import InvalidHP
from detcore.trial._workloads import Workload, WorkloadKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from detcore.core import Context


class Sequencer:
    """A WorkloadSource that reports metrics and progress, and asks if the run should stop.

    All ranks call each method in step, except state().
    """

    def __init__(
        self, core: Context, global_batch_size: int, config: Mapping[str, Any] | None = None
    ) -> None:
        self._sequencer = _trial.Sequencer(core.train._core, global_batch_size, config)
        self._is_chief = core.distributed.rank == 0

    def next(self) -> Workload | None:
        given = self._sequencer.next()
        if given is None:
            return None
        kind = WorkloadKind(given.kind)
        return Workload(kind, given.batches, given.batches_done, given.step_id)

    def respond(self, response: dict[str, Any] | InvalidHP) -> None:
        if isinstance(response, InvalidHP):
            self._sequencer.respond_invalid_hparams()
        else:
            self._sequencer.respond(response)

    def state(self) -> dict[str, int]:
        return self._sequencer.state() if self._is_chief else {}

    def load_state(self, state: Mapping[str, int]) -> None:
        self._sequencer.load_state(state)
