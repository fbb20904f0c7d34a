"""Makes optimizers apply the gradients of all ranks."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from detcore.trial._gradients import override_in_place
from detcore.trial._tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Callable

    from detcore.trial._gradients import Gradients

_v1 = tf.compat.v1
# In the graph of a training: the flags that the sums are applied, for their order.
_SUMS = "detcore_gradient_sums"
_IS_DISTRIBUTED = "_is_distributed"


def distribute(optimizer: Any, gradients: Callable[[], Gradients | None]) -> Any:
    """Changes an optimizer in place, so that it applies the sums of all ranks.

    For a function that makes an optimizer, it returns a function that makes a changed one.
    `gradients` returns the sums for the graph in work. None: nothing is trained in that graph.
    """
    if isinstance(optimizer, _v1.train.Optimizer):
        # Code that clips gradients between the two must see the sums.
        _override(optimizer, gradients, compute_gradients=_compute, apply_gradients=_apply)
    elif hasattr(optimizer, "apply_gradients"):
        _override(optimizer, gradients, apply_gradients=_apply)
    elif callable(optimizer):
        return lambda: distribute(optimizer(), gradients)
    else:
        raise TypeError(
            "wrap_optimizer() takes an optimizer, or a function that makes one, not a "
            f"{type(optimizer).__name__}"
        )
    return optimizer


def _override(optimizer: Any, gradients: Callable[[], Gradients | None], **methods: Any) -> None:
    if hasattr(optimizer, _IS_DISTRIBUTED):  # it was changed before
        return
    base = type(optimizer)

    def method(name: str) -> Any:
        def call(self: Any, *arguments: Any, **options: Any) -> Any:
            plain = functools.partial(getattr(base, name), self)
            of_graph = gradients()
            if of_graph is None:
                return plain(*arguments, **options)
            return methods[name](self, plain, of_graph, *arguments, **options)

        return call

    override_in_place(
        optimizer, **{_IS_DISTRIBUTED: True}, **{name: method(name) for name in methods}
    )


def _compute(optimizer: Any, plain: Any, gradients: Gradients, *given: Any, **options: Any) -> Any:
    sums, is_applied = _sum(gradients, plain(*given, **options))
    _v1.add_to_collection(_computed_by(optimizer), is_applied)
    return sums


def _apply(
    optimizer: Any, plain: Any, gradients: Gradients, pairs: Any, *given: Any, **options: Any
) -> Any:
    pairs = list(pairs)
    computed = _v1.get_collection(_computed_by(optimizer))
    if computed:
        is_applied = computed[-1]
    else:
        pairs, is_applied = _sum(gradients, pairs)

    def apply() -> Any:
        return plain(pairs, *given, **options)

    def skip() -> Any:
        step = given[0] if given else options.get("global_step")
        if not isinstance(optimizer, _v1.train.Optimizer):
            step = optimizer.iterations
        return tf.no_op() if step is None else _v1.assign_add(step, 1)

    if gradients.frequency == 1:
        return apply()
    return tf.cond(is_applied, _done(apply), _done(skip)).op


def _computed_by(optimizer: Any) -> str:
    return f"{_SUMS}/{id(optimizer)}"


def _sum(gradients: Gradients, pairs: Any) -> tuple[list[Any], Any]:
    """Sums for one optimizer after another, in the same order on all ranks."""
    own = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
    variables = [variable for _, variable in own]
    before = _v1.get_collection(_SUMS)
    with tf.control_dependencies(before[-1:]):
        sums, is_applied = gradients.sum([gradient for gradient, _ in own], variables, len(before))
    _v1.add_to_collection(_SUMS, is_applied)
    left = iter(sums)
    return [(None if g is None else next(left), v) for g, v in pairs], is_applied


def _done(work: Any) -> Any:
    """Converts the result of both branches to one kind of tensor."""

    def call() -> Any:
        with tf.control_dependencies([work()]):
            return tf.constant(True)

    return call
