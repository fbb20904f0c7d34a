"""Callbacks of Keras that look at validations in place of epochs."""

from __future__ import annotations

from typing import Any, ClassVar

from detcore.keras._tensorflow import tf
from detcore.keras.callbacks._callback import Callback


class OverValidations(Callback):
    """The base before the callback of Keras. It keeps some attributes as its state."""

    _skip_epoch_end_check = True
    _state: ClassVar[tuple[str, ...]]

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
        # Releases of Keras have different attributes.
        return {name: getattr(self, name) for name in self._state if hasattr(self, name)}

    def load_state(self, state: dict[str, Any]) -> None:
        unknown = sorted(state.keys() - set(self._state))
        if unknown:
            raise ValueError(
                f"the checkpoint has {', '.join(unknown)} of {type(self).__name__}, which this "
                "release does not know"
            )
        for name, value in state.items():
            setattr(self, name, value)


class EarlyStopping(OverValidations, tf.keras.callbacks.EarlyStopping):  # type: ignore[misc]
    """Stops a trial that no longer improves, as in Keras, with validations in place of epochs.

    Checkpoints keep its state. `min_validation_period` of the configuration sets how often it
    looks.
    """

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
        # Keras does not look at `wait` if a value is the best so far and misses the baseline.
        # Without this code, a trial that improves too slowly is never stopped.
        missed = (logs or {}).get(self.monitor) is not None and self.wait > 0
        if missed and self.wait >= self.patience and validation > 0:
            self.stopped_epoch = validation
            self.model.stop_training = True


class ReduceLROnPlateau(OverValidations, tf.keras.callbacks.ReduceLROnPlateau):  # type: ignore[misc]
    """Lowers the learning rate on a plateau, as in Keras, with validations in place of epochs.

    Checkpoints keep its state. They keep the learning rate with the optimizer.
    """

    _state = ("best", "cooldown_counter", "test_end_count", "wait")
