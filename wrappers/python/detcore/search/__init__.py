"""Runs searches that your own program decides.

A SearchMethod gets events and answers with operations. LocalSearchRunner starts `det run`, and
carries events and operations between them. ExperimentSearchRunner does so for an experiment that
runs already. detcore.search.optuna has a method that asks Optuna. See docs/python-client.md.
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
