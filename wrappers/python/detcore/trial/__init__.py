"""What the trial layers have in common: their context, their data's order, what they are asked."""

from detcore.trial._context import TrialContext
from detcore.trial._environment import Environment, ExperimentConfig
from detcore.trial._errors import (
    CheckFailedError,
    InvalidDataTypeException,
    InvalidExperimentException,
)
from detcore.trial._sequencer import Sequencer
from detcore.trial._workloads import Workload, WorkloadKind, WorkloadSource

__all__ = [
    "CheckFailedError",
    "Environment",
    "ExperimentConfig",
    "InvalidDataTypeException",
    "InvalidExperimentException",
    "Sequencer",
    "TrialContext",
    "Workload",
    "WorkloadKind",
    "WorkloadSource",
]
