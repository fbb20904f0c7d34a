"""Stopping when validation gets no better."""

from __future__ import annotations

from typing import Any

from detcore.keras._tensorflow import tf
from detcore.keras.callbacks._over_validations import OverValidations


class EarlyStopping(OverValidations, tf.keras.callbacks.EarlyStopping):  # type: ignore[misc]
    """As that of Keras, with validations in place of epochs, and with its state kept in
    checkpoints. `min_validation_period` of the configuration says how often it looks."""

    _state = (
        "baseline",
        "best",
        "best_epoch",
        "best_weights",
        "restore_best_weights",
        "stopped_epoch",
        "test_end_count",
        "wait",
    )

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        validation = self.test_end_count
        super().on_test_end(logs)
        # Keras does not look at `wait` where a value is the best so far and misses the baseline:
        # without this an improvement that is too slow is never stopped.
        missed = (logs or {}).get(self.monitor) is not None and self.wait > 0
        if missed and self.wait >= self.patience and validation > 0:
            self.stopped_epoch = validation
            self.model.stop_training = True
