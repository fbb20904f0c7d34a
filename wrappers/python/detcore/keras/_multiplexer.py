"""One callback of Keras that turns its batches into workloads."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Protocol

from detcore.keras import _callback_states
from detcore.keras._metrics import numbers
from detcore.keras._tensorflow import tf
from detcore.keras.callbacks import Callback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclasses.dataclass
class _Progress:
    epoch: int = 0
    want_epoch_begin: bool = True
    #: The batches of this epoch that were trained.
    epoch_batches: int = 0
    latest_training_metrics: dict[str, Any] = dataclasses.field(default_factory=dict)
    total_batches: int = 0


class Workloads(Protocol):
    """The work between two batches, which a Controller does."""

    def next_training(self) -> int: ...
    def average_training(self, batches: list[dict[str, Any]]) -> dict[str, Any]: ...
    def end_training(self, batches: list[dict[str, Any]], averages: dict[str, Any]) -> None: ...
    def request_stop(self) -> None: ...


class Multiplexer(tf.keras.callbacks.Callback):  # type: ignore[misc]
    """Calls the trial's callbacks, all of them at each point, in this order:

        on_train_begin, load_state,
        { on_epoch_begin?, on_train_workload_begin?, on_train_batch_begin, on_train_batch_end,
          on_epoch_end?, on_train_workload_end?, [on_test_*], [get_state, on_checkpoint_end] }*,
        on_train_end

    An epoch has `batches_per_epoch` batches. The epochs of Keras never end.
    """

    _supports_tf_logs = True  # tensors become numbers at the end of a workload

    def __init__(
        self,
        callbacks: Sequence[Any],
        batches_per_epoch: int | None,
        params: dict[str, Any],
        controller: Workloads,
        is_chief: bool = True,
    ) -> None:
        super().__init__()
        self._given = list(callbacks)
        self._callbacks = [
            callback
            for callback in self._given
            if is_chief or not getattr(callback, "_chief_worker_only", False)
        ]
        self._batches_per_epoch = batches_per_epoch
        self._controller = controller
        self._progress = _Progress()
        self._restored: dict[str, Any] | None = None
        self._requested = 0
        self._batch_logs: list[dict[str, Any]] = []
        #: The batches of the current validation, or the last one.
        self.tested = 0
        self._hooks = {
            name: list(_hooks(self._callbacks, name))
            for name in (f"{mode}_batch_{end}" for mode in _MODES for end in ("begin", "end"))
        }
        for callback in self._callbacks:
            callback.set_params(params)

    def set_model(self, model: Any) -> None:
        super().set_model(model)
        for callback in self._callbacks:
            callback.set_model(model)

    def restore(self, state: dict[str, Any]) -> None:
        """Keeps the state until after on_train_begin, which resets the callbacks."""
        self._restored = state

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._call("on_train_begin", {})
        if self._restored is not None:
            self._load_state(self._restored)
        self._requested = self._controller.next_training()

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        progress = self._progress
        if progress.want_epoch_begin:
            progress.want_epoch_begin = False
            self._call("on_epoch_begin", progress.epoch, {})
        if not self._batch_logs:
            self._tell("on_train_workload_begin", progress.total_batches, self._requested, {})
        self._call_batch("train_batch_begin", progress.epoch_batches, {})

    def on_train_batch_end(self, batch: int, logs: dict[str, Any]) -> None:
        progress = self._progress
        logs = self._call_batch("train_batch_end", progress.epoch_batches, logs)
        self._batch_logs.append(logs)
        progress.total_batches += 1
        progress.epoch_batches += 1
        if progress.epoch_batches == self._batches_per_epoch:
            self._call("on_epoch_end", progress.epoch, {})
            progress.epoch += 1
            progress.epoch_batches = 0
            progress.want_epoch_begin = True
        if len(self._batch_logs) == self._requested:
            self._end_workload()
        # It comes before fit() looks, which would leave in the middle of a workload.
        self.check_stop()

    def _end_workload(self) -> None:
        batches = [numbers(logs) for logs in self._batch_logs]
        self._batch_logs = []
        averages = self._controller.average_training(batches)
        self._progress.latest_training_metrics = averages
        self._tell("on_train_workload_end", self._progress.total_batches, averages)
        self.check_stop()
        self._controller.end_training(batches, averages)
        self._requested = self._controller.next_training()

    def check_stop(self) -> None:
        """Stops the trial after the current workload, if a callback stopped training."""
        if self.model.stop_training:
            self.model.stop_training = False
            self._controller.request_stop()

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.tested = 0
        self._call("on_test_begin", {})

    def on_test_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._call_batch("test_batch_begin", batch, {})

    def on_test_batch_end(self, batch: int, logs: dict[str, Any]) -> None:
        self.tested += 1
        self._call_batch("test_batch_end", batch, logs)

    def end_test(self, metrics: dict[str, Any]) -> None:
        """Calls on_test_end when the metrics of all ranks are known. That is later than in
        Keras."""
        self._call("on_test_end", metrics)
        self.check_stop()

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._call("on_predict_begin", {})

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        self._call("on_predict_end", {})

    def on_predict_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._call_batch("predict_batch_begin", batch, {})

    def on_predict_batch_end(self, batch: int, logs: dict[str, Any]) -> None:
        self._call_batch("predict_batch_end", batch, logs)

    def end_checkpoint(self, path: str) -> None:
        self._tell("on_checkpoint_end", path)
        self.check_stop()

    def end(self) -> None:
        """Calls on_train_end when nothing more is to do."""
        self._call("on_train_end", {})

    def get_state(self) -> dict[str, Any]:
        states = _callback_states.get(self._given)
        return {"self": dataclasses.asdict(self._progress), "callbacks": states}

    def _load_state(self, state: dict[str, Any]) -> None:
        self._progress = _Progress(**state["self"])
        _callback_states.load(self._given, state["callbacks"], self._callbacks)

    def _call(self, name: str, *arguments: Any) -> None:
        for callback in self._callbacks:
            getattr(callback, name)(*arguments)

    def _tell(self, name: str, *arguments: Any) -> None:
        for callback in self._callbacks:
            if isinstance(callback, Callback):
                getattr(callback, name)(*arguments)

    def _call_batch(self, name: str, batch: int, logs: dict[str, Any]) -> dict[str, Any]:
        """Calls the callbacks. Tensors become numbers for the first one that wants numbers.

        It returns `logs` in that form.
        """
        as_numbers = not logs
        for hook, takes_tensors in self._hooks[name]:
            if not takes_tensors and not as_numbers:
                logs, as_numbers = numbers(logs), True
            hook(batch, logs)
        return logs


_MODES = ("train", "test", "predict")


def _hooks(callbacks: Sequence[Any], name: str) -> Iterator[tuple[Callable[..., None], bool]]:
    """Yields the hooks that do something, and True for those that take tensors."""
    end = name.rpartition("_")[2]
    for callback in callbacks:
        names = [f"on_{name}"] + [f"on_batch_{end}"] * name.startswith("train")
        if not all(getattr(getattr(callback, n), "_is_default", False) for n in names):
            yield getattr(callback, f"on_{name}"), getattr(callback, "_supports_tf_logs", False)
