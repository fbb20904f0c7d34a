"""Keeps the validations so far, as `model.history`."""

from __future__ import annotations

from typing import Any

from detcore.keras.callbacks._callback import Callback


class History(Callback):
    """Keeps the values of every validation by name, in `history`."""

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[Any]] = {}

    def set_model(self, model: Any) -> None:
        super().set_model(model)
        model.history = self

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)

    def get_state(self) -> dict[str, list[Any]]:
        return self.history

    def load_state(self, state: dict[str, list[Any]]) -> None:
        self.history = state
