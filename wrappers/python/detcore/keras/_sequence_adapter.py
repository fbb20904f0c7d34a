"""The old way to return a Sequence with options of fit()."""

from __future__ import annotations

from typing import Any


class SequenceAdapter:
    """A `tf.keras.utils.Sequence` with options to read it. It is deprecated.

    Return the Sequence itself, and give the options to `context.configure_fit()`. Options of
    validation data are ignored.
    """

    def __init__(
        self,
        sequence: Any,
        use_multiprocessing: bool = False,
        workers: int = 1,
        max_queue_size: int = 10,
    ) -> None:
        self.sequence = sequence
        self.use_multiprocessing = use_multiprocessing
        self.workers = workers
        self.max_queue_size = max_queue_size
