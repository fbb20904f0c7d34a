"""What a trial layer is asked to do, one workload after another."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from detcore.errors import InvalidHP


class WorkloadKind(enum.Enum):
    RUN_STEP = 1
    COMPUTE_VALIDATION_METRICS = 2
    CHECKPOINT_MODEL = 3


class Workload(NamedTuple):
    kind: WorkloadKind
    #: To train; 0 for the other kinds.
    num_batches: int
    #: Trained before it.
    total_batches_processed: int
    step_id: int = 0


class WorkloadSource(Protocol):
    """Where workloads come from. Each is answered before the next is asked for, with what became
    of it, or with the InvalidHP that it ended with."""

    def next(self) -> Workload | None:
        """None: there is nothing more to do."""
        ...

    def respond(self, response: dict[str, Any] | InvalidHP) -> None: ...

    def state(self) -> dict[str, int]:
        """What belongs into a checkpoint, {} for nothing."""
        ...

    def load_state(self, state: dict[str, int]) -> None: ...
