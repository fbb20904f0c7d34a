"""Logs of Keras as metrics to report."""

from __future__ import annotations

from typing import Any

import numpy as np

# Older releases of Keras say these about the batch.
_OF_THE_BATCH = ("batch", "size")


def numbers(logs: dict[str, Any]) -> dict[str, Any]:
    """Waits for tensors to be computed; scalars become numbers of Python."""
    return {name: _number(value) for name, value in logs.items() if name not in _OF_THE_BATCH}


def _number(value: Any) -> Any:
    if hasattr(value, "numpy"):
        value = value.numpy()
    is_scalar = isinstance(value, (np.ndarray, np.generic)) and np.ndim(value) == 0
    return value.item() if is_scalar else value
