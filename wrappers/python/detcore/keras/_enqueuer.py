"""Reads batches of a Sequence ahead, in order, by threads or processes."""

from __future__ import annotations

import collections
import concurrent.futures
import multiprocessing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Enqueuer:
    """Reads a `tf.keras.utils.Sequence`.

    With `workers` < 1 the consuming thread reads. Else `workers` threads read, or processes with
    `use_multiprocessing`. They prepare at most `max_queue_size` batches.
    """

    def __init__(
        self, sequence: Any, *, workers: int, use_multiprocessing: bool, max_queue_size: int
    ) -> None:
        if workers > 0 and max_queue_size < 1:
            raise ValueError(f"max_queue_size must be above 0, not {max_queue_size}")
        self._sequence = sequence
        self._workers = workers
        self._use_multiprocessing = use_multiprocessing
        self._max_queue_size = max_queue_size
        self._pool: concurrent.futures.Executor | None = None
        #: The exception of reading a batch. TensorFlow keeps only its text.
        self.failure: BaseException | None = None

    def data(self, epochs: Iterable[list[int]]) -> Iterator[Any]:
        """Yields the batches of these indices. After each epoch it calls the Sequence's
        on_epoch_end()."""
        try:
            for epoch in epochs:
                yield from self._read(epoch)
                self._sequence.on_epoch_end()
                if self._use_multiprocessing:
                    self.stop()  # new processes see the changes of on_epoch_end()
        except GeneratorExit:
            raise
        except concurrent.futures.BrokenExecutor:
            self.failure = ValueError(
                "a process that read batches of the Sequence died; memory may have run out, or "
                "the Sequence may not be used in other processes: try use_multiprocessing=False"
            )
            raise self.failure from None
        except BaseException as failure:
            self.failure = failure
            raise
        finally:
            self.stop()

    def stop(self) -> None:
        """Ends threads and processes. A second call does nothing."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)

    def _read(self, epoch: list[int]) -> Iterator[Any]:
        if self._workers < 1:
            for index in epoch:
                yield self._sequence[index]
            return
        pool, read = self._start()
        waiting: collections.deque[concurrent.futures.Future[Any]] = collections.deque()
        for index in epoch:
            waiting.append(pool.submit(read, index))
            if len(waiting) == self._max_queue_size:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _start(self) -> Any:
        if self._use_multiprocessing:
            if self._pool is None:
                # Processes start by fork, because most Sequences cannot be pickled.
                self._pool = concurrent.futures.ProcessPoolExecutor(
                    self._workers,
                    multiprocessing.get_context("fork"),
                    _set_sequence,
                    (self._sequence,),
                )
            return self._pool, _read_in_process
        if self._pool is None:
            self._pool = concurrent.futures.ThreadPoolExecutor(self._workers)
        return self._pool, self._sequence.__getitem__


_sequence: Any = None


def _set_sequence(sequence: Any) -> None:
    global _sequence
    _sequence = sequence


def _read_in_process(index: int) -> Any:
    return _sequence[index]
