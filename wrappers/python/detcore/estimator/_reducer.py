"""Reduces metrics of a validation in Python, over the batches of all ranks."""

from __future__ import annotations

import abc
import functools
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from detcore.estimator import _ranks
from detcore.trial._tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Callable

    from detcore.core import DistributedContext

# In the graph of a validation: the values of earlier metrics, for their order.
_VALUES = "detcore_metric_values"


class MetricReducer(abc.ABC):
    """Makes one value of a validation from the batches of all ranks. Derive your reducer from it.

    Each rank reduces its batches first. Then the results of all ranks are reduced. Make a reducer
    in the model function, so that each validation has a new one.
    """

    @abc.abstractmethod
    def accumulate(self, metric: Any) -> Any:
        """Takes a batch of this rank, and returns the result of all batches so far."""

    @abc.abstractmethod
    def cross_slot_reduce(self, per_slot_metrics: list[Any]) -> Any:
        """Returns the value of the validation. It is called on every rank.

        Args:
            per_slot_metrics: The last results of accumulate(), by rank. None for a rank without a
                batch.
        """


class _OfAllBatches(MetricReducer):
    """Keeps the batches for a function of all of them."""

    def __init__(self, reduce: Callable[[list[Any]], Any]) -> None:
        self._reduce = reduce
        self._batches: list[Any] = []

    def accumulate(self, metric: Any) -> list[Any]:
        self._batches.append(metric)
        return self._batches

    def cross_slot_reduce(self, per_slot_metrics: list[Any]) -> Any:
        ranks = (batches for batches in per_slot_metrics if batches is not None)
        return self._reduce(list(itertools.chain.from_iterable(ranks)))


def make_metric(
    distributed: DistributedContext,
    note_failure: Callable[[BaseException], None],
    metric: Any,
    reducer: MetricReducer | Callable[[list[Any]], Any],
    numpy_dtype: Any,
) -> tuple[Any, Any]:
    """Returns the value, for after the last batch, and the update, for each batch.

    TensorFlow keeps only the text of a reducer's exception. `note_failure` gets the exception.
    """
    _check(metric)
    if not isinstance(reducer, MetricReducer):
        if not callable(reducer):
            raise TypeError(f"a reducer is a MetricReducer or a function, not {reducer!r}")
        reducer = _OfAllBatches(reducer)
    dtype = np.dtype(numpy_dtype)
    accumulated: list[Any] = [None]

    def accumulate(*arrays: Any) -> None:
        batch = tf.nest.pack_sequence_as(metric, arrays)
        accumulated[0] = reducer.accumulate(tuple(batch) if isinstance(batch, list) else batch)

    def reduce() -> Any:
        of_ranks = _ranks.gather(distributed, accumulated[0])
        return np.array(reducer.cross_slot_reduce(of_ranks)).astype(dtype)

    kept = functools.partial(_noting_failures, note_failure)
    update = tf.compat.v1.py_func(kept(accumulate), tf.nest.flatten(metric), [])
    # All ranks gather the metrics in the same order.
    before = tf.compat.v1.get_collection(_VALUES)[-1:]
    with tf.control_dependencies(before):
        value = tf.compat.v1.py_func(kept(reduce), [], tf.as_dtype(dtype))
    tf.compat.v1.add_to_collection(_VALUES, value)
    return value, update


def _noting_failures(
    note_failure: Callable[[BaseException], None], call: Callable[..., Any]
) -> Callable[..., Any]:
    def kept(*arguments: Any) -> Any:
        try:
            return call(*arguments)
        except BaseException as failure:
            note_failure(failure)
            raise

    return kept


def _check(metric: Any) -> None:
    if tf.is_tensor(metric):
        return
    if not isinstance(metric, (list, tuple, dict)):
        raise TypeError(
            "a metric is a tensor, a list of tensors or a dict of tensors, not a "
            f"{type(metric).__name__}"
        )
    named = metric.items() if isinstance(metric, dict) else enumerate(metric)
    for name, tensor in named:
        if isinstance(metric, dict) and not isinstance(name, str):
            raise TypeError(f"the tensors of a metric have names, and {name!r} is not a name")
        if not tf.is_tensor(tensor):
            raise TypeError(
                f"element {name!r} of a metric is a tensor, not a {type(tensor).__name__}"
            )
