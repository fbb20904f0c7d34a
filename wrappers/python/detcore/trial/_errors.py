"""Exceptions of trials."""

from __future__ import annotations


class InvalidExperimentException(BaseException):
    """The experiment has a mistake, so it cannot be trained.

    Handlers of `Exception` do not catch it. It is for the author of the experiment.
    """


class InvalidDataTypeException(InvalidExperimentException):
    """The trial returned data of a kind that it cannot be fed with."""

    def __init__(self, typ: type, message: str) -> None:
        super().__init__(f"Invalid data type ({typ.__name__}): {message}")


class CheckFailedError(Exception):
    """A trial breaks a rule. For example, it did not wrap its model."""
