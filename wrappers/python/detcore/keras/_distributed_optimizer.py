"""Makes optimizers apply the gradients of all ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from detcore.keras import _optimizer_weights
from detcore.keras._tensorflow import tf
from detcore.trial._gradients import override_in_place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detcore.trial._gradients import Gradients


def distribute(optimizers: Sequence[Any], in_use: Any, gradients: Gradients) -> None:
    """Makes each of `optimizers` apply the sums of `gradients`. `in_use` is the model's
    optimizer."""
    outer = in_use if isinstance(in_use, (list, tuple)) else [in_use]
    for optimizer in optimizers:
        # An optimizer that scales the loss must see values of any rank that are not finite.
        wrapped = [one for one in outer if getattr(one, "inner_optimizer", None) is optimizer]
        for one in wrapped or [optimizer]:
            _make_distributed(one, gradients)


def _make_distributed(optimizer: Any, gradients: Gradients) -> None:
    """Changes the optimizer in place, for all who have it. Its class appears to be the same."""
    base = type(optimizer)

    def apply_gradients(self: Any, grads_and_vars: Any, *arguments: Any, **options: Any) -> Any:
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        variables = [variable for _, variable in pairs]
        sums, is_applied = gradients.sum([gradient for gradient, _ in pairs], variables)

        def apply() -> Any:
            return base.apply_gradients(self, zip(sums, variables), *arguments, **options)

        if gradients.frequency == 1:
            return apply()
        if tf.executing_eagerly():
            return apply() if is_applied else self.iterations.assign_add(1)
        with tf.init_scope():
            _optimizer_weights.build(self, variables)
        return tf.cond(is_applied, _counted(self, apply), _counted(self, _skip(self)))

    converted = tf.autograph.experimental.do_not_convert(apply_gradients)
    override_in_place(optimizer, apply_gradients=converted)


def _skip(optimizer: Any) -> Any:
    return lambda: optimizer.iterations.assign_add(1)


def _counted(optimizer: Any, work: Any) -> Any:
    """Converts the result of both branches to one kind of tensor."""

    def call() -> Any:
        work()
        return tf.identity(optimizer.iterations)

    return call
