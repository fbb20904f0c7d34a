"""Converts Python values to the JSON that the library takes."""

from __future__ import annotations

import enum
import json
import operator
from collections.abc import Mapping
from typing import Any


def encode(value: Any, what: str) -> bytes:
    """Converts a value to JSON. `what` names the value in errors.

    It takes dicts, sequences, text, numbers, enums (their names), UUIDs, times and bytes (as
    UTF-8). It also takes scalars, arrays and tensors of any framework, as numbers and nested lists.
    """
    try:
        return json.dumps(value, default=_plain).encode()
    except _NotJson as refused:
        raise TypeError(f"{what} cannot hold {refused}") from None
    except (TypeError, ValueError, RecursionError) as failure:
        # The encoder's own message: a key that is not text, or a value that contains itself.
        kind = TypeError if isinstance(failure, TypeError) else ValueError
        raise kind(f"{what} cannot be JSON: {failure}") from None


def encode_each(values: Mapping[str, Any], what: str) -> bytes:
    """Converts a dict to JSON. Errors name the value by its key."""
    try:
        return encode(values, what)
    except (TypeError, ValueError):
        for name, value in values.items():
            encode(value, f"{what} {name!r}")
        raise


class _NotJson(Exception):
    pass


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.name
    if hasattr(value, "isoformat"):  # dates and times
        return value.isoformat()
    if type(value).__name__ == "UUID":  # its module is slow to import
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return value.decode()
    if isinstance(value, Mapping):
        return dict(value)
    if not is_complex(value):
        for convert in (_listed, operator.index, _real):
            try:
                found = convert(value)
            except Exception:  # a framework may raise anything if the value does not fit
                continue
            if type(found) is not type(value):  # NumPy's long double returns itself
                return found
    raise _NotJson(f"a {type(value).__name__}: {value!r:.80}")


def is_complex(value: Any) -> bool:
    """Returns True for a complex number of NumPy, which would give its real part as a float."""
    return _kind(value) == "c"


def _kind(value: Any) -> str:
    return getattr(getattr(value, "dtype", None), "kind", "")


def _listed(value: Any) -> Any:
    if _kind(value) == "M":  # times in some units give an int
        return value.astype(str).tolist()
    return value.tolist() if hasattr(value, "tolist") else value.numpy().tolist()


def _real(value: Any) -> float:
    return float(value.__float__())
