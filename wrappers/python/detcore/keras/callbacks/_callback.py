"""The base class of callbacks that see workloads."""

from __future__ import annotations

from typing import Any

from detcore.keras._tensorflow import tf


class Callback(tf.keras.callbacks.Callback):  # type: ignore[misc]
    """A `tf.keras.callbacks.Callback` that also sees workloads and checkpoints.

    Checkpoints keep its state. It differs from plain Keras:

    - on_epoch_end comes after `records_per_epoch` records of the configuration, with empty logs.
    - Work after a validation belongs in on_test_end.
    - EarlyStopping and ReduceLROnPlateau of Keras do not work in trials. Use those of this module.
    """

    def get_state(self) -> Any:
        """Returns the state for load_state(). It is pickled. None: no state."""
        return None

    def load_state(self, state: Any) -> None:
        """Takes the state from get_state(), after on_train_begin of a trial that resumes."""

    def on_train_workload_begin(
        self, total_batches_trained: int, batches_requested: int | None, logs: dict[str, Any]
    ) -> None:
        """Called before the first batch of a workload. `logs` is empty."""

    def on_train_workload_end(self, total_batches_trained: int, logs: dict[str, Any]) -> None:
        """Called after the last batch of a workload, with its metrics."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """Called on the chief when a checkpoint is written and not stored yet.

        Files that you put into `checkpoint_dir` become part of it.
        """
