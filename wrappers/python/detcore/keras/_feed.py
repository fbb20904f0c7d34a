"""Feeds fit() and evaluate() with the data of a trial."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

from detcore.keras import _data
from detcore.keras._arrays import Arrays
from detcore.keras._enqueuer import Enqueuer
from detcore.keras._sequence_adapter import SequenceAdapter
from detcore.keras._tensorflow import tf
from detcore.trial import CheckFailedError
from detcore.trial._sampler import epochs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detcore.keras._context import TFKerasTrialContext

_log = logging.getLogger("detcore.keras")


def _check_enough(what: str, data: Any, ranks: int) -> None:
    """Checks that every rank has a batch in each epoch. A Dataset is only known after it is
    read."""
    if not isinstance(data, tf.data.Dataset) and len(data) < ranks:
        raise CheckFailedError(
            f"the {what} data have {len(data)} batches for {ranks} ranks: give more data, a "
            "smaller global_batch_size, or fewer slots_per_trial"
        )


class Feed:
    """Feeds each rank with its share of the batches.

    Arrays and Sequences are divided by index. The trial divides a Dataset.
    """

    def __init__(self, context: TFKerasTrialContext, training: Any, validation: Any) -> None:
        if isinstance(training, SequenceAdapter):
            context.configure_fit(
                use_multiprocessing=training.use_multiprocessing,
                workers=training.workers,
                max_queue_size=training.max_queue_size,
            )
            training = training.sequence
        if isinstance(validation, SequenceAdapter):
            validation = validation.sequence
        _data.check_wrapped(context, training, validation)
        _check_enough("training", training, context.distributed.size)
        _check_enough("validation", validation, context.distributed.size)
        self._context = context
        self._training = training
        self._validation = validation
        self._enqueuers: list[Enqueuer] = []
        self._validation_set: Any = None  # it is slow to make, and is read many times

    def training(self) -> Any:
        """Returns endless data. Arrays and Sequences resume at their place. A Dataset begins
        anew."""
        options, ranks = self._context._fit, self._context.distributed
        if isinstance(self._training, tf.data.Dataset):
            if options.shuffle:
                _log.warning(
                    "shuffle=True, which is the default, is ignored for a tf.data.Dataset: "
                    "shuffle the Dataset itself"
                )
            return self._training.repeat()
        order = epochs(
            len(self._training),
            ranks.rank,
            ranks.size,
            shuffle=options.shuffle,
            seed=self._context.env.trial_seed,
            skip=self._context.env.steps_completed,
        )
        if isinstance(self._training, Arrays):
            return self._training.of_epochs(order)
        return self._enqueuer(self._training).data(order)

    @contextlib.contextmanager
    def validation(self) -> Iterator[tuple[Any, int | None]]:
        """Yields the data, and the number of batches to evaluate. None: all."""
        limit = 1 if self._context.env.test_mode else None
        if isinstance(self._validation, tf.data.Dataset):
            yield self._validation, limit or self._context._fit.validation_steps
            return
        ranks = self._context.distributed
        indices = list(range(ranks.rank, len(self._validation), ranks.size))
        if isinstance(self._validation, Arrays):
            if self._validation_set is None:
                self._validation_set = self._validation.of_indices(indices)
            yield self._validation_set, limit or len(indices)
            return
        enqueuer = self._enqueuer(self._validation)
        try:
            yield enqueuer.data([indices]), limit or len(indices)
        finally:
            enqueuer.stop()

    def _enqueuer(self, sequence: Any) -> Enqueuer:
        options = self._context._fit
        enqueuer = Enqueuer(
            sequence,
            workers=options.workers,
            use_multiprocessing=options.use_multiprocessing,
            max_queue_size=options.max_queue_size,
        )
        self._enqueuers = [*self._enqueuers[:1], enqueuer]  # that of training, and the latest
        return enqueuer

    @property
    def failure(self) -> BaseException | None:
        """The exception of a Sequence."""
        return next((e.failure for e in self._enqueuers if e.failure is not None), None)

    def close(self) -> None:
        for enqueuer in self._enqueuers:
            enqueuer.stop()
