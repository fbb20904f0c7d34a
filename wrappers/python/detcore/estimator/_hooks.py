"""The hooks that turn the batches of a training into workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from detcore.estimator import _dropout
from detcore.trial import CheckFailedError
from detcore.trial._tensorflow import tf

if TYPE_CHECKING:
    from detcore.estimator._context import EstimatorContext

_v1 = tf.compat.v1


class StopHook(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """Stops the trial after the current workload, if an earlier hook stopped training."""

    def __init__(self, context: EstimatorContext) -> None:
        self._context = context

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if run_context.stop_requested:
            run_context._stop_requested = False
            if not self._context.get_stop_requested():
                self._context.set_stop_requested(True)


class Workloads(Protocol):
    """The work between two batches, which a Controller does."""

    session: Any

    def next_training(self) -> int | None: ...
    def end_training(self, batches: list[dict[str, float]]) -> None: ...


class ControlHook(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """Counts the batches of a workload, and lets the next workloads run between two batches."""

    def __init__(self, controller: Workloads, context: EstimatorContext) -> None:
        self._controller = controller
        self._context = context
        self._batches: list[Any] = []
        self._requested: int | None = None
        self._tags: list[str] = []
        self._fetches: Any = None
        self._done = context.env.steps_completed
        self._batch: Any = None

    def begin(self) -> None:
        scalars = list(_scalars())
        self._tags = [tag for tag, _ in scalars]
        # One fetch in single precision, as in summaries. Each fetch takes a session as long as a
        # small operation.
        self._fetches = tf.stack([tf.cast(tensor, tf.float32) for _, tensor in scalars])
        self._batch = _dropout.batch_of_graph()
        self._requested = self._controller.next_training()

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._controller.session = session
        if self._requested is None:  # the next workload needs a session
            self._requested = self._controller.next_training()

    def before_run(self, run_context: Any) -> Any:
        feeds = None if self._batch is None else {self._batch: self._done}
        return _v1.train.SessionRunArgs(self._fetches, feeds)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if not self._context._optimizer_wrapped:
            raise CheckFailedError(
                "the optimizer did not pass through context.wrap_optimizer(): do so as soon as it "
                "is made, and train with what that returns"
            )
        self._done += 1
        self._batches.append(run_values.results)
        if len(self._batches) == self._requested:
            batches = [self._metrics(values) for values in self._batches]
            self._batches = []
            self._controller.end_training(batches)
            self._requested = self._controller.next_training()

    def _metrics(self, values: Any) -> dict[str, float]:
        metrics = dict(zip(self._tags, values.tolist()))
        if "loss_1" in metrics and "loss" not in metrics:  # the second tensor of that name
            metrics["loss"] = metrics["loss_1"]
        return metrics


def _scalars() -> Any:
    """Returns the tags and the values of the graph's scalar summaries.

    To fetch values is faster than to write and read a summary.
    """
    for summary in _v1.get_collection(_v1.GraphKeys.SUMMARIES):
        operation = summary.op
        if operation.type == "ScalarSummary":
            tag = tf.get_static_value(operation.inputs[0])
            if tag is not None and tag.ndim == 0:
                yield tag.item().decode(), operation.inputs[1]
