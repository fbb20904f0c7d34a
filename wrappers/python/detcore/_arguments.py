"""Numbers that callers give, and what is said of anything else."""

from __future__ import annotations

import operator
from typing import Any

from detcore import _abi
from detcore.errors import UnsupportedError


def integer(value: Any, what: str) -> int:
    """An int, or what has one, such as a scalar of NumPy; True and False are none."""
    if "bool" not in type(value).__name__ and hasattr(type(value), "__index__"):
        try:
            return operator.index(value)
        except TypeError:  # an array of several
            pass
    raise TypeError(f"{what} must be an int, not {type(value).__name__}: {value!r:.80}")


def real(value: Any, what: str) -> float:
    """A float, or what has one: an int, a scalar of NumPy, a tensor of one element."""
    if "bool" not in type(value).__name__ and hasattr(type(value), "__float__"):
        try:
            return float(value)
        except (OverflowError, TypeError, ValueError):  # beyond a double, or several numbers
            pass
    raise TypeError(f"{what} must be a number, not {type(value).__name__}: {value!r:.80}")


def only_defaults(function: str, **given: Any) -> None:
    """Refuses what an argument of determined asks for, where nothing here could do it."""
    for name, value in given.items():
        if value is not None and value != [] and value != ():
            raise UnsupportedError(
                f"{function}: {name} is {value!r:.80}, for which there is nothing in detcore; "
                "leave it out",
                code=_abi.DET_E_UNSUPPORTED,
            )
