"""Python values as the JSON that the library takes."""

from __future__ import annotations

import datetime
import enum
import json
import uuid
from typing import Any


def encode(value: Any, what: str) -> bytes:
    """JSON of dicts, sequences, text, numbers, enums (their names), UUIDs, times, bytes (as UTF-8),
    and arrays and tensors of any framework (nested lists). `what` names the value in errors."""
    try:
        return json.dumps(value, default=_plain).encode()
    except _NotJson as refused:
        raise TypeError(f"{what} cannot hold {refused}") from None
    except (TypeError, ValueError, RecursionError) as failure:
        # The encoder's own words: keys that are no text, what contains itself.
        kind = TypeError if isinstance(failure, TypeError) else ValueError
        raise kind(f"{what} cannot be JSON: {failure}") from None


class _NotJson(Exception):
    pass


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray)):
        return value.decode()
    for method in ("tolist", "numpy", "item"):  # arrays, tensors, scalars
        convert = getattr(value, method, None)
        if callable(convert):
            return convert()
    if hasattr(value, "__float__"):
        return float(value)
    raise _NotJson(f"a {type(value).__name__}: {value!r:.80}")
