"""What every kind of trial is."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from detcore.core import DistributedContext
from detcore.trial._context import TrialContext

if TYPE_CHECKING:
    from detcore.core import Context
    from detcore.trial._workloads import WorkloadSource


class TrialController(Protocol):
    """Trains a trial: made from its class on every rank, it does what the workloads ask for."""

    def __init__(
        self,
        trial_class: Any,
        context: Any,
        core: Context,
        workloads: WorkloadSource,
    ) -> None: ...

    def run(self) -> None:
        """Until there are no more workloads."""
        ...


class Trial(abc.ABC):
    """The base of TFKerasTrial, EstimatorTrial and the trials of other frameworks, which say by two
    attributes what a trial of theirs is given, and what trains it."""

    trial_context_class: ClassVar[type[TrialContext]] = TrialContext
    trial_controller_class: ClassVar[type[TrialController] | None] = None

    @staticmethod
    def _join_ranks() -> DistributedContext:
        """How the processes that train it meet."""
        return DistributedContext.from_env()

    @abc.abstractmethod
    def __init__(self, context: Any) -> None: ...
