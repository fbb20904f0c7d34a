"""What event files for TensorBoard say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from detcore.trial._tensorflow import tf

if TYPE_CHECKING:
    import pathlib


class Scalar(NamedTuple):
    #: Of its file, below the folder that was read.
    folder: str
    tag: str
    step: int
    value: float


def scalars(folder: pathlib.Path) -> list[Scalar]:
    """Of all files below `folder`, as both versions of TensorFlow write them, in order."""
    return sorted(
        Scalar(str(path.parent.relative_to(folder)), value.tag, event.step, number)
        for path in folder.rglob("*tfevents*")
        for event in tf.compat.v1.train.summary_iterator(str(path))
        for value in event.summary.value
        if (number := _number(value)) is not None
    )


def _number(value: Any) -> float | None:
    if value.HasField("simple_value"):
        return float(value.simple_value)
    if value.HasField("tensor"):
        held = tf.make_ndarray(value.tensor)
        return float(held) if held.shape == () and held.dtype.kind == "f" else None
    return None
