"""Prints the progress for configure_fit(verbose=True)."""

from __future__ import annotations

from typing import Any

from detcore.keras.callbacks._callback import Callback


class _Percent:
    """Gives a line for each new tenth of a whole."""

    def __init__(self, whole: int) -> None:
        self._whole = whole
        self._told = -10

    def line(self, done: int) -> str | None:
        percent = done * 100 // self._whole if self._whole else 100
        if percent - percent % 10 <= self._told:
            return None
        self._told = percent - percent % 10
        return f"{percent}% complete ({done}/{self._whole})"


class Progress(Callback):
    """Prints a line for every tenth of a workload. The length of a validation is known after the
    first."""

    _supports_tf_logs = True  # it seldom reads the logs

    def __init__(self) -> None:
        super().__init__()
        self._chief_worker_only = True
        self._total = 0
        self._done = 0
        self._training = _Percent(0)
        self._validation: _Percent | None = None
        self._tested = 0
        self._length_of_validation: int | None = None

    def on_train_workload_begin(
        self, total_batches_trained: int, batches_requested: int | None, logs: dict[str, Any]
    ) -> None:
        self._total = total_batches_trained
        self._done = 0
        self._training = _Percent(batches_requested or 0)
        self._tell_training({})

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._total += 1
        self._done += 1
        self._tell_training(logs)

    def _tell_training(self, logs: dict[str, Any] | None) -> None:
        line = self._training.line(self._done)
        if line:
            _print(f"total batches trained: {self._total}, workload {line}", logs)

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._tested = 0
        length = self._length_of_validation
        self._validation = _Percent(length) if length is not None else None
        self._tell_validation({})

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._tested += 1
        self._tell_validation(logs)

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        self._length_of_validation = self._tested

    def _tell_validation(self, logs: dict[str, Any] | None) -> None:
        line = self._validation.line(self._tested) if self._validation is not None else None
        if line:
            _print(f"validation after batch: {self._total}, validation {line}", logs)

    def get_state(self) -> dict[str, Any]:
        return {"validation_len": self._length_of_validation, "trained_total": self._total}

    def load_state(self, state: dict[str, Any]) -> None:
        self._length_of_validation = state["validation_len"]
        self._total = state["trained_total"]


def _print(line: str, logs: dict[str, Any] | None) -> None:
    metrics = {name: float(value) for name, value in (logs or {}).items()}
    print(f"{line}: {metrics}" if metrics else line, flush=True)
