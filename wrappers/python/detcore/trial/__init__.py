"""Runs trials: the common part of detcore.keras and detcore.estimator.

run() trains a trial in your own program. The rest is the context of trials, the order of their
data, and the workloads that they do.
"""

from detcore.trial._context import TrialContext
from detcore.trial._environment import Environment, ExperimentConfig
from detcore.trial._errors import (
    CheckFailedError,
    InvalidDataTypeException,
    InvalidExperimentException,
)
from detcore.trial._run import run, test_one_batch
from detcore.trial._sequencer import Sequencer
from detcore.trial._trial import Trial, TrialController
from detcore.trial._workloads import Workload, WorkloadKind, WorkloadSource

__all__ = [
    "CheckFailedError",
    "Environment",
    "ExperimentConfig",
    "InvalidDataTypeException",
    "InvalidExperimentException",
    "Sequencer",
    "Trial",
    "TrialContext",
    "TrialController",
    "Workload",
    "WorkloadKind",
    "WorkloadSource",
    "run",
    "test_one_batch",
]
