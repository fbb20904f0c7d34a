"""A lower learning rate when validation gets no better."""

from __future__ import annotations

from typing import Any

from detcore.keras._tensorflow import tf
from detcore.keras.callbacks import _attributes
from detcore.keras.callbacks._callback import Callback

_STATE = ("best", "cooldown_counter", "test_end_count", "wait")


class ReduceLROnPlateau(tf.keras.callbacks.ReduceLROnPlateau, Callback):  # type: ignore[misc]
    """As that of Keras, with validations in place of epochs, and with its state kept in
    checkpoints; the learning rate itself is kept with the optimizer."""

    _skip_epoch_end_check = True

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.test_end_count = 0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        super().on_train_begin(logs)
        self.test_end_count = 0

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        pass

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        super().on_epoch_end(self.test_end_count, logs)
        self.test_end_count += 1

    def get_state(self) -> dict[str, Any]:
        return _attributes.get(self, _STATE)

    def load_state(self, state: dict[str, Any]) -> None:
        _attributes.load(self, _STATE, state)
