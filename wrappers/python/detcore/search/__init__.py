"""Searches that a program of one's own decides: see docs/python-client.md.

A SearchMethod is told what happens and answers what is to be done; LocalSearchRunner starts `det
run` and carries the two between them, ExperimentSearchRunner does so for an experiment that runs
already. detcore.search.optuna is a method that asks Optuna.
"""

from detcore.search._local import LocalSearchRunner
from detcore.search._method import SearcherState, SearchMethod
from detcore.search._operations import (
    Close,
    Create,
    ExitedReason,
    Operation,
    Progress,
    Shutdown,
    ValidateAfter,
)
from detcore.search._runner import ExperimentSearchRunner, SearchRunner

__all__ = [
    "Close",
    "Create",
    "ExitedReason",
    "ExperimentSearchRunner",
    "LocalSearchRunner",
    "Operation",
    "Progress",
    "SearchMethod",
    "SearchRunner",
    "SearcherState",
    "Shutdown",
    "ValidateAfter",
]
