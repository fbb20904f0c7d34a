"""Averages and gathers by name, as horovod.tensorflow does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf
from detcore.core import DistributedContext

if TYPE_CHECKING:
    from collections.abc import Callable

Average = "average"


class Compression:
    """What travels is cast to these."""

    none = None
    fp16 = tf.float16


_ranks: list[DistributedContext] = []
# Of each graph: all ranks are to do what is in it in one order, which Horovod's own thread sees to.
_last: dict[int, tuple[Any, Any]] = {}


def init() -> None:
    if not _ranks:
        _ranks.append(DistributedContext.from_env())


def rank() -> int:
    return _ranks[0].rank


def size() -> int:
    return _ranks[0].size


def allreduce(tensor: Any, *, op: str, compression: Any, name: str, ignore_name_scope: bool) -> Any:
    assert op == Average and ignore_name_scope
    sent = tensor if compression is None else tf.cast(tensor, compression)
    result = _in_order(lambda all_: np.mean(all_, 0, all_[0].dtype), sent, name)
    result.set_shape(tensor.shape)
    return tf.cast(result, tensor.dtype)


def allgather(tensor: Any, *, name: str, ignore_name_scope: bool) -> Any:
    assert ignore_name_scope
    result = _in_order(np.concatenate, tensor, name)
    result.set_shape([None, *tensor.shape[1:]])
    return result


def _in_order(work: Callable[[list[Any]], Any], tensor: Any, name: str) -> Any:
    def call(value: Any) -> Any:
        names, values = zip(*_ranks[0].allgather((name, value)))
        assert set(names) == {name}, f"ranks are at {names}"
        return work(list(values))

    if tf.executing_eagerly():
        return tf.convert_to_tensor(call(tensor.numpy()))
    graph = tf.compat.v1.get_default_graph()
    before = _last.get(id(graph))
    with tf.control_dependencies([before[1]] if before else []):
        result = tf.numpy_function(call, [tensor], tensor.dtype)
    _last[id(graph)] = graph, result
    return result
