"""Converts numbers that callers give, and rejects other values."""

from __future__ import annotations

import operator
from typing import Any

from detcore import _abi
from detcore.errors import UnsupportedError


def integer(value: Any, what: str) -> int:
    """Returns an int. It takes anything that has one, such as a scalar of NumPy, but no True or
    False."""
    if "bool" not in type(value).__name__ and hasattr(type(value), "__index__"):
        try:
            return operator.index(value)
        except TypeError:  # an array of several numbers
            pass
    raise TypeError(f"{what} must be an int, not {type(value).__name__}: {value!r:.80}")


def real(value: Any, what: str) -> float:
    """Returns a float. It takes an int, a scalar of NumPy, or a tensor of one element."""
    if "bool" not in type(value).__name__ and hasattr(type(value), "__float__"):
        try:
            return float(value)
        except (OverflowError, TypeError, ValueError):  # beyond a double, or several numbers
            pass
    raise TypeError(f"{what} must be a number, not {type(value).__name__}: {value!r:.80}")


def only_defaults(function: str, **given: Any) -> None:
    """Rejects arguments of determined that detcore cannot honour."""
    for name, value in given.items():
        if value is not None and value != [] and value != ():
            raise UnsupportedError(
                f"{function}: {name} is {value!r:.80}, which detcore does not support; "
                "leave it out",
                code=_abi.DET_E_UNSUPPORTED,
            )
