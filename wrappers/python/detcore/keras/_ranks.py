"""What the ranks of a trial agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from detcore._trial_gradients import broadcast_arrays
from detcore.keras._optimizer_weights import learning_rate_of, variables_of
from detcore.keras._tensorflow import tf
from detcore.trial import CheckFailedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detcore.core import DistributedContext
    from detcore.keras._context import TFKerasTrialContext


def check_same(distributed: DistributedContext, variables: Sequence[Any]) -> None:
    """That all ranks have such variables, in this order. All ranks in step."""
    own = [_described(variable) for variable in variables]
    chief, *others = distributed.allgather(own)
    for rank, theirs in enumerate(others, 1):
        for left, right in zip(chief, theirs):
            if left[1:] != right[1:]:
                raise _another_model(f"{_said(left)} on rank 0 is {_said(right)} on rank {rank}")
        if len(chief) != len(theirs):
            counts = f"{len(chief)} variables on rank 0 and {len(theirs)} on rank {rank}"
            more, at = (chief, 0) if len(chief) > len(theirs) else (theirs, rank)
            first = _said(more[min(len(chief), len(theirs))])
            raise _another_model(f"there are {counts}, such as {first} on rank {at} only")


class Broadcast(tf.keras.callbacks.Callback):  # type: ignore[misc]
    """Gives all ranks the weights of rank 0, and what its optimizers have: before training begins,
    or behind the first batch of a model that has no weights before it."""

    _supports_tf_logs = True

    def __init__(self, context: TFKerasTrialContext) -> None:
        super().__init__()
        self._context = context
        self._is_done = False

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        if self.model.built:
            self._broadcast()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        if not self._is_done:
            self._broadcast()

    def _broadcast(self) -> None:
        self._is_done = True
        distributed = self._context.distributed
        variables = list(self.model.variables)
        check_same(distributed, variables)
        for optimizer in self._context._optimizers():
            rate = learning_rate_of(optimizer)
            variables += variables_of(optimizer) + [rate] * (rate is not None)
        check_same(distributed, variables)
        values = [np.array(variable.numpy()) for variable in variables]
        # By number: a model that was built before, on one rank only, shifts the names of Keras.
        broadcast_arrays(distributed, {str(number): value for number, value in enumerate(values)})
        if distributed.rank > 0:
            for variable, value in zip(variables, values):
                variable.assign(value)


def _described(variable: Any) -> tuple[str, list[int], str]:
    return variable.name, list(variable.shape), variable.dtype.name


def _said(described: tuple[str, list[int], str]) -> str:
    name, shape, dtype = described
    return f"{name} ({dtype} {shape})"


def _another_model(why: str) -> CheckFailedError:
    return CheckFailedError(f"ranks train different models: {why}; build the same on all ranks")
