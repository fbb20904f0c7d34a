"""The workloads of a trial, one after another."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from detcore.errors import InvalidHP


class WorkloadKind(enum.Enum):
    """The kind of a workload."""

    RUN_STEP = 1
    COMPUTE_VALIDATION_METRICS = 2
    CHECKPOINT_MODEL = 3


class Workload(NamedTuple):
    """One piece of work for a trial."""

    kind: WorkloadKind
    #: The batches to train; 0 for the other kinds.
    num_batches: int
    #: The batches that were trained before it.
    total_batches_processed: int
    step_id: int = 0


class WorkloadSource(Protocol):
    """The source of a trial's workloads.

    Answer each workload before you ask for the next one: with its result, or with the InvalidHP
    that ended it.
    """

    def next(self) -> Workload | None:
        """Returns the next workload. None: there is nothing more to do."""
        ...

    def respond(self, response: dict[str, Any] | InvalidHP) -> None:
        """Answers the current workload."""

    def state(self) -> dict[str, int]:
        """Returns the state for a checkpoint, or {}."""
        ...

    def load_state(self, state: dict[str, int]) -> None:
        """Takes the state from a checkpoint."""
