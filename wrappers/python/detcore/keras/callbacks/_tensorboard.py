"""Writes Keras' files for TensorBoard."""

from __future__ import annotations

import logging
from typing import Any

from detcore.keras._tensorflow import tf
from detcore.keras.callbacks._callback import Callback

_log = logging.getLogger("detcore.keras")


class TensorBoard(tf.keras.callbacks.TensorBoard, Callback):  # type: ignore[misc]
    """Writes files for TensorBoard, as in Keras, with training workloads in place of epochs.

    The files are in the trial's directory for TensorBoard. A `log_dir` is ignored.
    """

    _skip_epoch_end_check = True

    def __init__(self, *arguments: Any, **options: Any) -> None:
        if "log_dir" in options:
            log_dir = options.pop("log_dir")
            _log.warning(
                "TensorBoard(log_dir=%s): files go to the directory of the trial instead", log_dir
            )
        super().__init__(*arguments, **options)
        self.workload_end_count = 0

    def _write_below(self, path: Any) -> None:
        """Sets the directory. It is called before training begins."""
        self.log_dir = str(path)

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        pass

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        pass

    def on_train_workload_begin(
        self, total_batches_trained: int, batches_requested: int | None, logs: dict[str, Any]
    ) -> None:
        super().on_epoch_begin(self.workload_end_count, logs)

    def on_train_workload_end(self, total_batches_trained: int, logs: dict[str, Any]) -> None:
        super().on_epoch_end(self.workload_end_count, logs)
        self.workload_end_count += 1

    def get_state(self) -> dict[str, Any]:
        return {"workload_end_count": self.workload_end_count}

    def load_state(self, state: dict[str, Any]) -> None:
        self.workload_end_count = state["workload_end_count"]
