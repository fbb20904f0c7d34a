"""Sums gradients of a trial's optimizers over its ranks."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from detcore._trial_gradients import GradientAggregator
from detcore.core._arrays import memory_of
from detcore.trial._same_variables import check_same
from detcore.trial._tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detcore.core import DistributedContext
    from detcore.trial import ExperimentConfig

# TensorFlow uses memory of NumPy directly if it begins at a multiple of this. Else it copies.
_ALIGNMENT = 64
_MIB = 1 << 20


class Gradients:
    """The sums over the ranks of a trial, as `optimizations` of the configuration sets them."""

    def __init__(self, distributed: DistributedContext, config: ExperimentConfig) -> None:
        self._distributed = distributed
        #: The ranks whose gradients are summed. None: this rank alone.
        self._ranks: DistributedContext | None = distributed
        given = config.get_optimizations_config()
        self.frequency = int(given.get("aggregation_frequency", 1))
        self._options = {
            "aggregation_frequency": self.frequency,
            "average_aggregated_gradients": bool(given.get("average_aggregated_gradients", True)),
            "gradient_compression": bool(given.get("gradient_compression", False)),
            "tensor_fusion_threshold": int(given.get("tensor_fusion_threshold", 64)) * _MIB,
        }
        self._positions: dict[Any, int] = {}
        self._exchanges: dict[int, _Exchange] = {}
        #: The exception of a sum over ranks. TensorFlow keeps only its text.
        self.failure: BaseException | None = None

    def sum(
        self, gradients: Sequence[Any], variables: Sequence[Any], number: int = 0
    ) -> tuple[list[Any], Any]:
        """Returns the gradients that all ranks apply instead, and True if they apply them now.

        All ranks call it in step, also while TensorFlow makes the graph of the first batch.
        `number` is for several sums of the same variables in one batch.
        """
        try:
            return self._sum(self._position(gradients, variables, number), gradients, variables)
        except Exception as failure:
            self.failure = failure
            raise

    def close(self) -> None:
        """Frees the job. Graphs live on, and they refer to the sums."""
        for exchange in self._exchanges.values():
            exchange.close()

    def _position(self, gradients: Sequence[Any], variables: Sequence[Any], number: int) -> int:
        """Returns the position of such gradients among all sums, the same on all ranks."""
        # One rank alone may make its graph again, for example for a shorter batch.
        sparse = tuple(isinstance(gradient, tf.IndexedSlices) for gradient in gradients)
        key = (number, tuple(id(variable) for variable in variables), sparse)
        if key not in self._positions:
            check_same(self._distributed, variables)
            self._positions[key] = len(self._positions)
        return self._positions[key]

    def _sum(
        self, position: int, gradients: Sequence[Any], variables: Sequence[Any]
    ) -> tuple[list[Any], Any]:
        if position not in self._exchanges:
            made = _Exchange(self._ranks, gradients, variables, self._options)
            self._exchanges[position] = made
        exchange = self._exchanges[position]
        parts = exchange.parts(gradients)
        if tf.executing_eagerly():
            results = exchange(*[part.numpy() for part in parts])
        else:
            call = self._keep_failure(exchange.__call__)
            results = tf.numpy_function(call, parts, exchange.types)
        return exchange.gradients(results), results[-1]

    def _keep_failure(self, work: Any) -> Any:
        @functools.wraps(work)
        def call(*given: Any) -> Any:
            try:
                return work(*given)
            except BaseException as failure:
                self.failure = failure
                raise

        return call


class _Exchange:
    """The sums of one optimizer's gradients.

    A sparse gradient is sent whole, with a mark for each row. So the sum has each row that any rank
    had.
    """

    def __init__(
        self,
        distributed: DistributedContext | None,
        gradients: Sequence[Any],
        variables: Sequence[Any],
        options: dict[str, Any],
    ) -> None:
        self._shapes = [tuple(variable.shape.as_list()) for variable in variables]
        self._sparse = [n for n, g in enumerate(gradients) if isinstance(g, tf.IndexedSlices)]
        dtypes = [gradient.dtype.as_numpy_dtype for gradient in gradients]
        dtypes += [np.float32] * len(self._sparse)
        shapes = self._shapes + [self._shapes[index][:1] for index in self._sparse]
        self._results = [_aligned(shape, dtype) for shape, dtype in zip(shapes, dtypes)]
        self._written = [memory_of(result, "a sum", to_fill=True) for result in self._results]
        self._aggregator = GradientAggregator(
            distributed,
            [(result.size, result.dtype.name) for result in self._results],
            sparse=self._sparse,
            **options,
        )
        #: The dtypes of the results of a call.
        self.types = [*dtypes[: len(self._shapes)], *[np.int64] * len(self._sparse), np.bool_]

    def parts(self, gradients: Sequence[Any]) -> list[Any]:
        """Returns tensors: the gradients, then the rows of the sparse ones."""
        dense = list(gradients)
        marks = []
        for index in self._sparse:
            slices, rows = gradients[index], self._shapes[index][0]
            dense[index] = tf.math.unsorted_segment_sum(slices.values, slices.indices, rows)
            ones = tf.ones_like(slices.indices, tf.float32)
            marks.append(tf.math.unsorted_segment_max(ones, slices.indices, rows))
        # For a row that no rank has, the largest number is the lowest possible one.
        return dense + [tf.maximum(mark, 0) for mark in marks]

    def __call__(self, *parts: Any) -> list[Any]:
        """Returns the sums, then the rows of sparse ones, then if they are applied now.

        The results use memory that the next call writes to.
        """
        for index in reversed(range(len(parts))):  # in the order of a backward pass
            self._aggregator.add(index, parts[index], self._written[index])
        is_applied = self._aggregator.step()
        results = self._results[: len(self._shapes)]
        rows = [np.flatnonzero(marks) for marks in self._results[len(self._shapes) :]]
        for index, of in zip(self._sparse, rows):
            results[index] = results[index][of]
        return [*results, *rows, np.bool_(is_applied)]

    def close(self) -> None:
        self._aggregator.close()

    def gradients(self, results: Sequence[Any]) -> list[Any]:
        """Converts the results of __call__() back to gradients."""
        sums: list[Any] = [tf.convert_to_tensor(result) for result in results[: len(self._shapes)]]
        for number, index in enumerate(self._sparse):
            shape = self._shapes[index]
            sums[index].set_shape([None, *shape[1:]])
            rows = tf.reshape(results[len(self._shapes) + number], [-1])
            sums[index] = tf.IndexedSlices(sums[index], rows, tf.constant(shape, tf.int64))
        for index, shape in enumerate(self._shapes):
            if index not in self._sparse:
                sums[index].set_shape(shape)
        return sums


def override_in_place(optimizer: Any, **methods: Any) -> None:
    """Replaces methods of an optimizer in place. Its class still appears to be the same."""
    base = type(optimizer)
    kept = {name: getattr(base, name) for name in ("__doc__", "__module__", "__qualname__")}
    derived = types.new_class(base.__name__, (base,), {}, lambda own: own.update(kept, **methods))
    object.__setattr__(optimizer, "__class__", derived)


def _aligned(shape: tuple[int, ...], dtype: Any) -> Any:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)
