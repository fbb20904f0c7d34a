"""The states of experiments, trials and checkpoints, and the orders of lists."""

from __future__ import annotations

import enum
from typing import Any


class _Text(str, enum.Enum):
    """A word of the library. A word that only a newer release has becomes UNSPECIFIED."""

    @classmethod
    def _missing_(cls, value: object) -> Any:
        return cls.__members__.get("UNSPECIFIED")

    def __str__(self) -> str:
        return str(self.value)


class _State(_Text):
    @property
    def is_terminal(self) -> bool:
        """True if it is over and never changes again."""
        return self.value in {"COMPLETED", "CANCELED", "ERROR", "DELETED"}


class ExperimentState(_State):
    """The state of an experiment."""

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
    # Only masters over HTTP have these.
    QUEUED = "QUEUED"
    PULLING = "PULLING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"


class TrialState(_State):
    """The state of a trial."""

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
    # Only masters over HTTP have these.
    QUEUED = "QUEUED"
    PULLING = "PULLING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"


class CheckpointState(_State):
    """The state of a checkpoint."""

    UNSPECIFIED = "UNSPECIFIED"
    ACTIVE = "ACTIVE"
    COMPLETED = "COMPLETED"
    PARTIALLY_DELETED = "PARTIALLY_DELETED"
    DELETED = "DELETED"
    ERROR = "ERROR"


class LogLevel(_Text):
    """The level of a line of a log."""

    UNSPECIFIED = "unspecified"
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class OrderBy(_Text):
    """The order of a list: ascending or descending."""

    ASC = "asc"
    ASCENDING = "asc"
    DESC = "desc"
    DESCENDING = "desc"

    @classmethod
    def _missing_(cls, value: object) -> Any:
        return cls.ASC if value is None else None


class ExperimentSortBy(_Text):
    """The attribute by which a list of experiments is sorted."""

    ID = "id"
    NAME = "name"
    STATE = "state"
    START_TIME = "start_time"
    END_TIME = "end_time"
    PROGRESS = "progress"


class TrialSortBy(_Text):
    """The attribute by which a list of trials is sorted."""

    ID = "id"
    STATE = "state"
    START_TIME = "start_time"
    END_TIME = "end_time"
    BEST_VALIDATION_METRIC = "best_metric"
    BATCHES_PROCESSED = "steps_completed"
    RESTARTS = "restarts"


class CheckpointSortBy(_Text):
    """The attribute by which a list of checkpoints is sorted."""

    UUID = "uuid"
    STATE = "state"
    TRIAL_ID = "trial_id"
    BATCH_NUMBER = "steps_completed"
    END_TIME = "report_time"
    SEARCHER_METRIC = "searcher_metric"
