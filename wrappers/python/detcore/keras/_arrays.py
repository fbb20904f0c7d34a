"""Makes batches from NumPy arrays."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from detcore.keras._tensorflow import tf
from detcore.trial import CheckFailedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# The number of indices that one call of Python gives. A call costs as much as a small batch.
_INDICES_AT_ONCE = 4096


class Arrays:
    """Arrays of the same number of rows, in batches of `batch_size` rows. The last may be shorter.

    `x` and `y` are arrays, or lists or dicts of arrays.
    """

    def __init__(self, x: Any, y: Any, sample_weight: Any, batch_size: int) -> None:
        self._rows = _rows(x)
        if _rows(y) != self._rows:
            raise CheckFailedError(
                f"x has {self._rows} rows and y {_rows(y)}; each row of x needs one of y"
            )
        if self._rows < batch_size:
            raise CheckFailedError(
                f"{self._rows} rows do not fill a batch of {batch_size}; make it smaller"
            )
        if sample_weight is not None and len(sample_weight) != self._rows:
            raise CheckFailedError(
                f"there are {len(sample_weight)} sample weights for {self._rows} rows; each row "
                "needs one"
            )
        self._batch_size = batch_size
        parts = (x, y) if sample_weight is None else (x, y, sample_weight)
        self._tensors = tuple(_structure(part) for part in parts)

    def __len__(self) -> int:
        return -(-self._rows // self._batch_size)

    def of_epochs(self, epochs: Iterable[list[int]]) -> Any:
        """Returns a tf.data.Dataset of the batches that endless `epochs` name. It can be read
        once."""
        indices = itertools.chain.from_iterable(epochs)

        def some() -> Iterator[Any]:
            while True:
                yield np.fromiter(itertools.islice(indices, _INDICES_AT_ONCE), np.int64)

        spec = tf.TensorSpec([None], tf.int64)
        return self._batches(tf.data.Dataset.from_generator(some, output_signature=spec).unbatch())

    def of_indices(self, indices: Iterable[int]) -> Any:
        """Returns a tf.data.Dataset of these batches."""
        return self._batches(tf.data.Dataset.from_tensor_slices(np.asarray(indices, np.int64)))

    def _batches(self, indices: Any) -> Any:
        def batch(index: Any) -> Any:
            start = index * self._batch_size
            return tf.nest.map_structure(
                lambda array: array[start : start + self._batch_size], self._tensors
            )

        return indices.map(batch).prefetch(tf.data.AUTOTUNE)


def _rows(part: Any) -> int:
    arrays = tf.nest.flatten(part)
    lengths = {len(array) for array in arrays}
    if len(lengths) != 1:
        raise CheckFailedError(f"arrays of one input have different lengths: {sorted(lengths)}")
    return int(lengths.pop())


def _structure(part: Any) -> Any:
    """Converts lists to the form that fit() takes. tf.data would make one tensor of a list."""
    if isinstance(part, list):
        part = tuple(part)
    return tf.nest.map_structure(_tensor, part)


def _tensor(array: Any) -> Any:
    array = np.asarray(array)
    floats = np.issubdtype(array.dtype, np.floating)
    return tf.convert_to_tensor(array, dtype=tf.keras.backend.floatx() if floats else None)
