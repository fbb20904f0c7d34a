"""Which batches a rank is fed with, in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detcore.trial._errors import CheckFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator


def epochs(
    length: int, rank: int, size: int, *, shuffle: bool = False, seed: int = 0, skip: int = 0
) -> Iterator[list[int]]:
    """For each epoch of `length` batches the indices of those that `rank` of `size` trains.

    The epochs of all ranks are one stream, of which each rank takes every size-th batch: where the
    ranks do not divide the length, they start the next epoch where this one ended. Shuffled anew
    each epoch, the same way on every rank. The first `skip` batches of this rank are left out.
    """
    if length < size:
        raise CheckFailedError(
            f"{length} batches are too few for {size} ranks: each needs one; make the batches "
            "smaller or use fewer slots"
        )
    return _epochs(length, rank, size, shuffle, seed, skip)


def _epochs(
    length: int, rank: int, size: int, shuffle: bool, seed: int, skip: int
) -> Iterator[list[int]]:
    random = np.random.RandomState(seed)
    order = np.arange(length)
    offset = rank
    while True:
        if shuffle:
            random.shuffle(order)
        mine = order[offset::size]
        if skip < len(mine):
            yield mine[skip:].tolist()
        skip = max(skip - len(mine), 0)
        offset = (offset - length) % size
