"""Gives all ranks of a trial the same variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from detcore._trial_gradients import broadcast_arrays
from detcore.keras._optimizer_weights import assign, learning_rate_of, values_of, variables_of
from detcore.keras._tensorflow import tf
from detcore.trial._same_variables import check_same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detcore.core import DistributedContext
    from detcore.keras._context import TFKerasTrialContext


class Broadcast(tf.keras.callbacks.Callback):  # type: ignore[misc]
    """Gives all ranks the weights of rank 0 and the state of its optimizers.

    It does so before training begins, or after the first batch for a model that builds its weights
    there.
    """

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
        _broadcast(distributed, variables)


def share_untrained(distributed: DistributedContext, model: Any) -> None:
    """Gives all ranks the untrained variables of rank 0. All ranks call it in step.

    An example are the moving means of a BatchNormalization, which depend on the data of each rank.
    A checkpoint has those of rank 0. So training after it is the same with and without a restart.
    """
    if distributed.size > 1 and model.built:
        _broadcast(distributed, model.non_trainable_variables)


def _broadcast(distributed: DistributedContext, variables: Sequence[Any]) -> None:
    """Broadcasts the values of rank 0. The variables are known to be the same on all ranks."""
    variables = [variable for variable in variables if variable.dtype.base_dtype != tf.string]
    if not variables:
        return
    values = [np.array(value) for value in values_of(variables)]
    # Names are numbers: an earlier model on one rank only would shift the names of Keras.
    broadcast_arrays(distributed, {str(number): value for number, value in enumerate(values)})
    if distributed.rank > 0:
        assign(variables, values)
