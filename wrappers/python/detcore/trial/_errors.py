"""What trial layers refuse."""

from __future__ import annotations


class InvalidExperimentException(BaseException):
    """The experiment cannot be trained as it is written. Handlers of `Exception` let it pass, as
    those of trials always did: it is for the one who wrote the experiment."""


class InvalidDataTypeException(InvalidExperimentException):
    """Data of a kind that a trial cannot be fed with."""

    def __init__(self, typ: type, message: str) -> None:
        super().__init__(f"Invalid data type ({typ.__name__}): {message}")


class CheckFailedError(Exception):
    """A trial breaks a rule of its contract, such as forgetting to wrap its model."""
