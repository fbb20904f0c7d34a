"""Records, stops, resumes and searches over training runs, on one machine or many."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if sys.version_info < (3, 9):  # noqa: UP036  which an older Python says in other words
    raise ImportError(
        f"detcore needs Python 3.9 or newer, and {sys.executable} is "
        f"{sys.version_info[0]}.{sys.version_info[1]}: run the program with a newer one"
    )

from detcore.errors import Error, InvalidHP

if TYPE_CHECKING:
    from detcore import client, core, search, storage, trial
    from detcore.core._info import ClusterInfo, TrialInfo, get_cluster_info
    from detcore.trial._context import TrialContext

__version__ = "0.1.0"
__all__ = [
    "ClusterInfo",
    "Error",
    "InvalidHP",
    "TrialContext",
    "TrialInfo",
    "client",
    "core",
    "get_cluster_info",
    "search",
    "storage",
    "trial",
]

_MODULES = {"client", "core", "keras", "search", "storage", "trial"}
_ELSEWHERE = {
    "ClusterInfo": "detcore.core._info",
    "TrialContext": "detcore.trial._context",
    "TrialInfo": "detcore.core._info",
    "get_cluster_info": "detcore.core._info",
}


def __getattr__(name: str) -> Any:
    # A program does not wait for modules that it does not use.
    if name in _MODULES:
        return importlib.import_module("detcore." + name)
    if name in _ELSEWHERE:
        return getattr(importlib.import_module(_ELSEWHERE[name]), name)
    raise AttributeError(f"module 'detcore' has no attribute {name!r}")
