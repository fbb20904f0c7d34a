"""Exchanges values and variables between the ranks of a trial."""

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
    """Another rank reported that the hyperparameters are invalid."""


def gather(distributed: DistributedContext, value: Any) -> list[Any]:
    """Returns the values of all ranks, which call it in step. RefusedElsewhere if one calls
    refuse()."""
    given = distributed.allgather([value])
    if any(one is None for one in given):
        raise RefusedElsewhere("another rank found the hyperparameters invalid in a validation")
    return [value for [value] in given]


def refuse(distributed: DistributedContext, refusal: InvalidHP) -> None:
    """Takes the place of the next gather(), for which the other ranks wait."""
    if not isinstance(refusal, RefusedElsewhere):
        distributed.allgather(None)


def average(distributed: DistributedContext, metrics: dict[str, Any]) -> dict[str, Any]:
    """Returns the means over ranks, which call it in step. Equal integers stay integers."""
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
    """Gives all ranks the untrained variables of rank 0. All ranks call it in step.

    An example are the moving means of a batch normalization, which depend on the data of each rank.
    A checkpoint has those of rank 0. So training after it is the same with and without a restart.
    """
    if distributed.size > 1:
        trained = {id(one) for one in session.graph.get_collection(_KEYS.TRAINABLE_VARIABLES)}
        untrained = [one for one in _variables(session) if id(one) not in trained]
        _broadcast(distributed, session, untrained)


def _variables(session: Any) -> list[Any]:
    variables = session.graph.get_collection(_KEYS.GLOBAL_VARIABLES)
    return [one for one in variables if one.dtype.base_dtype != tf.string]


def _broadcast(distributed: DistributedContext, session: Any, variables: list[Any]) -> None:
    """Broadcasts the values of rank 0. The variables are known to be the same on all ranks."""
    values = [np.array(value) for value in session.run(variables)]
    names = map(str, range(len(values)))
    broadcast_arrays(distributed, dict(zip(names, values)))
    if distributed.rank > 0:
        initializers = [variable.initializer for variable in variables]
        # Values are fed to existing operations, because a graph that runs cannot grow.
        places = [operation.inputs[1] for operation in initializers]
        session.run(initializers, dict(zip(places, values)))
