"""Makes the masks of Dropout continue after a restart as in an undisturbed trial.

Operations of TensorFlow 1 draw them from a state that ends with the session. Here they follow from
the number of the batch.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tensorflow.python.framework import func_graph, random_seed
from tensorflow.python.ops import nn_ops

from detcore.trial._tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Iterator

_v1 = tf.compat.v1
_BATCH = "detcore_batch"


@contextlib.contextmanager
def by_batch() -> Iterator[None]:
    """Replaces the random operations of Dropout while the graph of a training is made."""
    given = nn_ops.random_ops
    nn_ops.random_ops = _ByBatch(given)
    try:
        yield
    finally:
        nn_ops.random_ops = given


def batch_of_graph() -> Any:
    """Returns the tensor that takes the number of the batch. None: the graph has no Dropout."""
    return next(iter(_v1.get_collection(_BATCH)), None)


class _ByBatch:
    """The operations of random numbers in the form that Dropout uses."""

    def __init__(self, given: Any) -> None:
        self._given = given

    def __getattr__(self, name: str) -> Any:
        return getattr(self._given, name)

    def random_uniform(self, shape: Any, *, dtype: Any, seed: Any = None) -> Any:
        graph = _v1.get_default_graph()
        # In a loop each turn needs a separate mask, and the batch is the same.
        inside = isinstance(graph, func_graph.FuncGraph) or graph._get_control_flow_context()
        of_graph, of_operation = random_seed.get_seed(seed)
        if inside or of_graph is None:
            return self._given.random_uniform(shape, dtype=dtype, seed=seed)
        key = tf.constant((of_graph << 31) + of_operation, tf.int64)
        return tf.random.stateless_uniform(shape, tf.stack([key, _batch()]), dtype=dtype)


def _batch() -> Any:
    if batch_of_graph() is None:
        number = _v1.placeholder_with_default(tf.constant(0, tf.int64), [])
        _v1.add_to_collection(_BATCH, number)
    return batch_of_graph()
