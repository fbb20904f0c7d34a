"""Callbacks that know of workloads."""

from __future__ import annotations

from typing import Any

from detcore.keras._tensorflow import tf


class Callback(tf.keras.callbacks.Callback):  # type: ignore[misc]
    """A `tf.keras.callbacks.Callback` that is also told of workloads and checkpoints, and whose
    state is kept in them.

    Differences from plain Keras: on_epoch_end comes when `records_per_epoch` of the experiment
    configuration are trained, with empty logs; what is to follow a validation belongs in
    on_test_end. EarlyStopping and ReduceLROnPlateau of Keras do not work in trials; those of this
    module do.
    """

    def get_state(self) -> Any:
        """What load_state() needs, for pickle; None: nothing."""
        return None

    def load_state(self, state: Any) -> None:
        """Takes what get_state() gave, after on_train_begin of a trial that goes on."""

    def on_train_workload_begin(
        self, total_batches_trained: int, batches_requested: int | None, logs: dict[str, Any]
    ) -> None:
        """Before the first batch of a workload; `logs` is empty."""

    def on_train_workload_end(self, total_batches_trained: int, logs: dict[str, Any]) -> None:
        """After the last batch of a workload, with its metrics."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """On the chief, after a checkpoint is written and before it is stored: files that are put
        into `checkpoint_dir` become part of it."""
