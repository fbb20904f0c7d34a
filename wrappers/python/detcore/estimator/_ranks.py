"""What the ranks of a trial agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from detcore._trial_gradients import average_metrics, broadcast_arrays
from detcore.errors import InvalidHP
from detcore.trial._same_variables import check_same
from detcore.trial._tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Callable

    from detcore.core import DistributedContext

_KEYS = tf.compat.v1.GraphKeys


class RefusedElsewhere(InvalidHP):
    """Another rank found the hyperparameters invalid, and said so."""


def gather(distributed: DistributedContext, value: Any) -> list[Any]:
    """Of all ranks in step. RefusedElsewhere: one called refuse() instead."""
    given = distributed.allgather([value])
    if any(one is None for one in given):
        raise RefusedElsewhere("another rank found the hyperparameters invalid in a validation")
    return [value for [value] in given]


def refuse(distributed: DistributedContext, refusal: InvalidHP) -> None:
    """Instead of the next gather(), which the others are at or come to."""
    if not isinstance(refusal, RefusedElsewhere):
        distributed.allgather(None)


def average(distributed: DistributedContext, metrics: dict[str, Any]) -> dict[str, Any]:
    """Over ranks, all in step. Integers that are equal on all of them stay integers."""
    if distributed.size == 1:
        return metrics
    averages = average_metrics(distributed, metrics)
    for name, value in metrics.items():
        if isinstance(value, int) and averages[name] == value:
            averages[name] = value
    return averages


class Broadcast(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """Gives all ranks the variables of rank 0, as soon as they have values."""

    def __init__(self, distributed: DistributedContext, done: Callable[[], None]) -> None:
        self._distributed = distributed
        self._done = done

    def after_create_session(self, session: Any, coord: Any) -> None:
        variables = _variables(session)
        check_same(self._distributed, variables)
        _broadcast(self._distributed, session, variables)
        self._done()


def share_untrained(distributed: DistributedContext, session: Any) -> None:
    """Gives all ranks those variables of rank 0 that are not trained, such as the moving means of a
    batch normalization, which follow from what each rank has seen: they are what a checkpoint has,
    so that what comes behind it is as behind a restart. All ranks in step."""
    if distributed.size > 1:
        trained = {id(one) for one in session.graph.get_collection(_KEYS.TRAINABLE_VARIABLES)}
        untrained = [one for one in _variables(session) if id(one) not in trained]
        _broadcast(distributed, session, untrained)


def _variables(session: Any) -> list[Any]:
    variables = session.graph.get_collection(_KEYS.GLOBAL_VARIABLES)
    return [one for one in variables if one.dtype.base_dtype != tf.string]


def _broadcast(distributed: DistributedContext, session: Any, variables: list[Any]) -> None:
    """The values of rank 0; the variables are known to be the same on all ranks."""
    values = [np.array(value) for value in session.run(variables)]
    names = map(str, range(len(values)))
    broadcast_arrays(distributed, dict(zip(names, values)))
    if distributed.rank > 0:
        initializers = [variable.initializer for variable in variables]
        # What they assign is fed, since a graph that runs cannot grow.
        places = [operation.inputs[1] for operation in initializers]
        session.run(initializers, dict(zip(places, values)))
