"""The old way of giving a Sequence with options of fit()."""

from __future__ import annotations

from typing import Any


class SequenceAdapter:
    """A `tf.keras.utils.Sequence` and how it is read. Deprecated: return the Sequence itself, and
    give the options to `context.configure_fit()`. Those of validation data are not looked at."""

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
