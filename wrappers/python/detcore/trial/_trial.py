"""The base of all kinds of trials."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from detcore.core import DistributedContext
from detcore.trial._context import TrialContext

if TYPE_CHECKING:
    from detcore.core import Context
    from detcore.trial._workloads import WorkloadSource


class TrialController(Protocol):
    """Trains a trial. Each rank makes one from the trial's class, and it does the workloads."""

    def __init__(
        self,
        trial_class: Any,
        context: Any,
        core: Context,
        workloads: WorkloadSource,
    ) -> None: ...

    def run(self) -> None:
        """Runs until no workload is left."""
        ...


class Trial(abc.ABC):
    """The base of TFKerasTrial, EstimatorTrial and the trials of other frameworks.

    Two attributes of a framework's class name the context that its trials get, and the controller
    that trains them.
    """

    trial_context_class: ClassVar[type[TrialContext]] = TrialContext
    trial_controller_class: ClassVar[type[TrialController] | None] = None

    @staticmethod
    def _join_ranks() -> DistributedContext:
        """Joins the processes that train the trial."""
        return DistributedContext.from_env()

    @abc.abstractmethod
    def __init__(self, context: Any) -> None: ...
