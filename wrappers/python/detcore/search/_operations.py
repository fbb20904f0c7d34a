"""The operations with which a search method answers."""

from __future__ import annotations

import abc
import dataclasses
import enum
import json
import math
import uuid
from typing import Any

from detcore import _abi
from detcore._arguments import real
from detcore._json import encode
from detcore.errors import UnsupportedError


class Operation(abc.ABC):
    """One request of a search method."""

    @abc.abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Returns the operation in the form of det_client_post_operations()."""


@dataclasses.dataclass(frozen=True)
class Create(Operation):
    """Creates a trial.

    Args:
        request_id: Your own id for the trial: uuid.uuid4().
        hparams: The hyperparameters of the trial.
        checkpoint: Must be None.
    """

    request_id: uuid.UUID
    hparams: dict[str, Any]
    checkpoint: None = None

    def __post_init__(self) -> None:
        if self.checkpoint is not None:
            raise UnsupportedError(
                f"creating trial {self.request_id}: no search starts a trial from a checkpoint; "
                "name the checkpoint by a hyperparameter, and restore it in the trial",
                code=_abi.DET_E_UNSUPPORTED,
            )

    def to_json(self) -> dict[str, Any]:
        what = f"the hyperparameters of trial {self.request_id}"
        hparams = encode(self.hparams, what).decode()
        json.loads(hparams, parse_constant=lambda constant: _refuse(what, constant))
        return {"createTrial": {"requestId": _text(self.request_id), "hyperparams": hparams}}


@dataclasses.dataclass(frozen=True)
class ValidateAfter(Operation):
    """Trains a trial up to `length`, counted from its beginning, and validates."""

    request_id: uuid.UUID
    length: int

    def to_json(self) -> dict[str, Any]:
        length = real(self.length, "the length of ValidateAfter")
        if not 1 <= length < 2**63 or int(length) != length:
            raise ValueError(f"length must be a whole number from 1, not {self.length!r}")
        where = {"requestId": _text(self.request_id), "length": str(int(length))}
        return {"trialOperation": {"validateAfter": where}}


@dataclasses.dataclass(frozen=True)
class Close(Operation):
    """Ends a trial as soon as its earlier operations are done."""

    request_id: uuid.UUID

    def to_json(self) -> dict[str, Any]:
        return {"closeTrial": {"requestId": _text(self.request_id)}}


@dataclasses.dataclass(frozen=True)
class Progress(Operation):
    """Reports the progress of the search, from 0 to 1."""

    progress: float

    def to_json(self) -> dict[str, Any]:
        progress = real(self.progress, "the progress of a search")
        if not math.isfinite(progress):
            raise ValueError(f"progress must be a number from 0 to 1, not {self.progress}")
        return {"setSearcherProgress": {"progress": progress}}


@dataclasses.dataclass(frozen=True)
class Shutdown(Operation):
    """Ends the search, and with it the experiment.

    Its state is then COMPLETED.

    Args:
        cancel: True: the state is CANCELED.
        failure: True: the state is ERROR.
    """

    cancel: bool = False
    failure: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"shutDown": {"cancel": self.cancel, "failure": self.failure}}


class ExitedReason(enum.Enum):
    """The reason for which a trial left before its work was done."""

    ERRORED = "ERRORED"
    INVALID_HP = "INVALID_HP"
    USER_REQUESTED_STOP = "USER_REQUESTED_STOP"
    USER_CANCELED = "USER_CANCELED"


def _refuse(what: str, constant: str) -> None:
    raise ValueError(f"{what} must be finite numbers, not {constant}")


def _text(request_id: uuid.UUID) -> str:
    if not isinstance(request_id, uuid.UUID):
        raise TypeError(f"request_id must be a uuid.UUID, not {request_id!r}")
    return str(request_id)
