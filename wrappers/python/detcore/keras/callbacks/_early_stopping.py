"""Stopping when validation gets no better."""

from __future__ import annotations

from typing import Any

from detcore.keras._tensorflow import tf
from detcore.keras.callbacks import _attributes
from detcore.keras.callbacks._callback import Callback

_STATE = (
    "baseline",
    "best",
    "best_epoch",
    "best_weights",
    "restore_best_weights",
    "stopped_epoch",
    "test_end_count",
    "wait",
)


class EarlyStopping(tf.keras.callbacks.EarlyStopping, Callback):  # type: ignore[misc]
    """As that of Keras, with validations in place of epochs, and with its state kept in
    checkpoints. `min_validation_period` of the configuration says how often it looks."""

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
        validation = self.test_end_count
        self.test_end_count += 1
        super().on_epoch_end(validation, logs)
        # Keras does not look at `wait` where a value is the best so far and misses the baseline:
        # without this an improvement that is too slow is never stopped.
        missed = (logs or {}).get(self.monitor) is not None and self.wait > 0
        if missed and self.wait >= self.patience and validation > 0:
            self.stopped_epoch = validation
            self.model.stop_training = True

    def get_state(self) -> dict[str, Any]:
        return _attributes.get(self, _STATE)

    def load_state(self, state: dict[str, Any]) -> None:
        _attributes.load(self, _STATE, state)
