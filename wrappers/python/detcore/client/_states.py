"""The states of things, and what lists can be ordered by."""

from __future__ import annotations

import enum
from typing import Any


class _Text(str, enum.Enum):
    """A word of the library. One of a release newer than this package is UNSPECIFIED."""

    @classmethod
    def _missing_(cls, value: object) -> Any:
        return cls.__members__.get("UNSPECIFIED")

    def __str__(self) -> str:
        return str(self.value)


class _State(_Text):
    @property
    def is_terminal(self) -> bool:
        """Whether it is over: nothing will change it any more."""
        return self.value in {"COMPLETED", "CANCELED", "ERROR", "DELETED"}


class ExperimentState(_State):
    UNSPECIFIED = "UNSPECIFIED"
    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    STOPPING_COMPLETED = "STOPPING_COMPLETED"
    STOPPING_CANCELED = "STOPPING_CANCELED"
    STOPPING_KILLED = "STOPPING_KILLED"
    STOPPING_ERROR = "STOPPING_ERROR"
    COMPLETED = "COMPLETED"
    CANCELED = "CANCELED"
    ERROR = "ERROR"
    DELETING = "DELETING"
    DELETE_FAILED = "DELETE_FAILED"
    DELETED = "DELETED"
    # Of masters over HTTP only.
    QUEUED = "QUEUED"
    PULLING = "PULLING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"


class TrialState(_State):
    UNSPECIFIED = "UNSPECIFIED"
    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    STOPPING_COMPLETED = "STOPPING_COMPLETED"
    STOPPING_CANCELED = "STOPPING_CANCELED"
    STOPPING_KILLED = "STOPPING_KILLED"
    STOPPING_ERROR = "STOPPING_ERROR"
    COMPLETED = "COMPLETED"
    CANCELED = "CANCELED"
    ERROR = "ERROR"
    # Of masters over HTTP only.
    QUEUED = "QUEUED"
    PULLING = "PULLING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"


class CheckpointState(_State):
    UNSPECIFIED = "UNSPECIFIED"
    ACTIVE = "ACTIVE"
    COMPLETED = "COMPLETED"
    PARTIALLY_DELETED = "PARTIALLY_DELETED"
    DELETED = "DELETED"
    ERROR = "ERROR"


class LogLevel(_Text):
    UNSPECIFIED = "unspecified"
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class OrderBy(_Text):
    ASC = "asc"
    ASCENDING = "asc"
    DESC = "desc"
    DESCENDING = "desc"

    @classmethod
    def _missing_(cls, value: object) -> Any:
        return cls.ASC if value is None else None


class ExperimentSortBy(_Text):
    ID = "id"
    NAME = "name"
    STATE = "state"
    START_TIME = "start_time"
    END_TIME = "end_time"
    PROGRESS = "progress"


class TrialSortBy(_Text):
    ID = "id"
    STATE = "state"
    START_TIME = "start_time"
    END_TIME = "end_time"
    BEST_VALIDATION_METRIC = "best_metric"
    BATCHES_PROCESSED = "steps_completed"
    RESTARTS = "restarts"


class CheckpointSortBy(_Text):
    UUID = "uuid"
    STATE = "state"
    TRIAL_ID = "trial_id"
    BATCH_NUMBER = "steps_completed"
    END_TIME = "report_time"
    SEARCHER_METRIC = "searcher_metric"
