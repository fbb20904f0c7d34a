"""Decides which batches a rank trains, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detcore._trial import Sampler
from detcore.errors import InvalidArgumentError
from detcore.trial._errors import CheckFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator


def epochs(
    length: int, rank: int, size: int, *, shuffle: bool = False, seed: int = 0, skip: int = 0
) -> Iterator[list[int]]:
    """Yields for each epoch the indices of the batches of this rank, in the order of Sampler.

    An epoch has `length` batches over all ranks. The first `skip` batches of this rank are left
    out.
    """
    try:
        return _epochs(Sampler(length, rank, size, shuffle, seed, skip))
    except InvalidArgumentError as refusal:
        raise CheckFailedError(str(refusal)) from None


def _epochs(sampler: Sampler) -> Iterator[list[int]]:
    while True:
        if batches := list(sampler.epoch()):
            yield batches
