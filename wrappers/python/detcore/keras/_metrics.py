"""Converts logs of Keras to metrics that can be reported."""

from __future__ import annotations

from typing import Any

import numpy as np

# Older releases of Keras log these facts about the batch.
_OF_THE_BATCH = ("batch", "size")


def numbers(logs: dict[str, Any]) -> dict[str, Any]:
    """Waits until tensors are computed, and converts scalars to numbers of Python."""
    return {name: _number(value) for name, value in logs.items() if name not in _OF_THE_BATCH}


def _number(value: Any) -> Any:
    if hasattr(value, "numpy"):
        value = value.numpy()
    is_scalar = isinstance(value, (np.ndarray, np.generic)) and np.ndim(value) == 0
    return value.item() if is_scalar else value
