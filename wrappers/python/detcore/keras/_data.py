"""Checks the data that data loaders of a trial return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

import numpy as np

from detcore.keras._arrays import Arrays
from detcore.keras._sequence_adapter import SequenceAdapter
from detcore.keras._tensorflow import tf
from detcore.trial import InvalidDataTypeException, InvalidExperimentException

if TYPE_CHECKING:
    from detcore.keras._context import TFKerasTrialContext

_Array = np.ndarray[Any, Any]
ArrayLike = Union[_Array, "list[_Array]", "dict[str, _Array]"]
InputData = Union[
    tf.keras.utils.Sequence, tf.data.Dataset, SequenceAdapter, "tuple[ArrayLike, ...]"
]

_FORMS = """a trial is fed with one of
  (x, y) or (x, y, sample_weight), of NumPy arrays or of lists or dicts of such;
  a tf.data.Dataset that context.wrap_dataset() returned;
  a tf.keras.utils.Sequence."""


def adapt(data: Any, batch_size: int) -> Any:
    """Returns `data` as Arrays, Dataset, Sequence or SequenceAdapter.

    It raises InvalidDataTypeException for any other form.
    """
    if isinstance(data, (tf.data.Dataset, tf.keras.utils.Sequence, SequenceAdapter, Arrays)):
        return data
    if not isinstance(data, tuple) or len(data) not in (2, 3):
        size = f" of {len(data)}" if isinstance(data, tuple) else ""
        raise InvalidDataTypeException(
            type(data), f"a data loader gave a {type(data).__name__}{size}; {_FORMS}"
        )
    for part, name in zip(data, ("x", "y")):
        _check_arrays(part, name)
    return Arrays(data[0], data[1], data[2] if len(data) == 3 else None, batch_size)


def _check_arrays(part: Any, name: str) -> None:
    if isinstance(part, dict):
        arrays = list(part.values())
    elif isinstance(part, (list, tuple)):
        arrays = list(part)
    else:
        arrays = [part]
    if not all(isinstance(array, np.ndarray) for array in arrays):
        raise InvalidDataTypeException(
            type(part), f"{name} is no NumPy array, nor a list or dict of such; {_FORMS}"
        )


def check_wrapped(context: TFKerasTrialContext, *datas: Any) -> None:
    """Checks that a Dataset went through wrap_dataset(). Without it, all ranks would train the same
    data."""
    is_fed = context.experimental.is_fed(context._dataset_wrapped)
    if any(isinstance(data, tf.data.Dataset) for data in datas) and not is_fed:
        raise InvalidExperimentException(
            "a tf.data.Dataset must pass through context.wrap_dataset() as soon as it is made, "
            "which gives ranks their shares"
        )
