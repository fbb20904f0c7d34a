"""Converts and checks the options of core.init() for the library."""

from __future__ import annotations

import operator
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from detcore._arguments import integer
from detcore._capi import encoded
from detcore._json import encode

_LOG_LEVELS = {10: "DEBUG", 20: "INFO", 30: "WARNING", 40: "ERROR", 50: "ERROR"}


def text(value: Any, what: str) -> str | None:
    """Returns text, or a path as text, for JSON."""
    given = encoded(value, what)
    return None if given is None else os.fsdecode(given)


def name_of_program(config: Any) -> str | None:
    """Returns the name of the script, if nothing else names a new experiment.

    The library itself would only see python3.
    """
    script = sys.argv[0] if sys.argv else ""
    if script in ("", "-", "-c", "-m") or os.environ.get("DET_EXPERIMENT_CONFIG"):
        return None
    if isinstance(config, str) or (isinstance(config, Mapping) and config.get("name") is not None):
        return None
    name = os.path.basename(script)
    return name[:-3] if name.endswith(".py") else name


def optional_integer(value: Any, what: str) -> int | None:
    return None if value is None else integer(value, what)


def json_object(value: Any, what: str) -> str | None:
    """Returns a dict as JSON. The value may be JSON text already."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} must be a dict, not {type(value).__name__}: {value!r:.80}")
    return encode(dict(value), what).decode()


def storage(value: Any) -> str | None:
    if isinstance(value, Mapping):
        if "type" not in value:
            raise KeyError("checkpoint_storage is a dict without 'type'")
        return json_object(value, "checkpoint_storage")
    return text(value, "checkpoint_storage")


def log_level(value: Any) -> str:
    """Returns the name of a level, which may be a number of Python's logging."""
    name = _LOG_LEVELS.get(value) if isinstance(value, int) else value
    if not isinstance(name, str) or name.upper() not in _LOG_LEVELS.values():
        raise ValueError(
            f"the level must be DEBUG, INFO, WARNING or ERROR, or one of logging, not {value!r:.80}"
        )
    return name.upper()


def signals(values: Any) -> list[int]:
    try:
        return [operator.index(value) for value in values]
    except TypeError:
        raise TypeError(
            "preempt_signals must be a list of signals, such as [signal.SIGTERM], "
            f"not {values!r:.80}"
        ) from None


# faulthandler reserves those of errors, and no program can handle the other two.
_NOT_FOR_STACKS = {"SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGKILL", "SIGSEGV", "SIGSTOP"}


def stack_trace_signal(value: Any) -> int | None:
    if value is None:
        return None
    number = integer(value, "stack_trace_signal")
    if number not in signal.valid_signals() or signal.Signals(number).name in _NOT_FOR_STACKS:
        raise ValueError(f"stack_trace_signal must be one such as SIGUSR1, or None, not {value!r}")
    return number
