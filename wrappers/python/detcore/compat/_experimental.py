"""The names of `determined.experimental`: `client`, and the parts of it that have this name too."""

from __future__ import annotations

from detcore.client import Checkpoint, TrialSortBy
from detcore.compat import missing
from detcore.compat._client import Determined, ExperimentReference, TrialOrderBy, TrialReference
from detcore.trial import test_one_batch

__all__ = [
    "Checkpoint",
    "Determined",
    "ExperimentReference",
    "TrialOrderBy",
    "TrialReference",
    "TrialSortBy",
    "test_one_batch",
]
__path__: list[str] = []

__getattr__ = missing("determined.experimental", [*__all__, "client"])
