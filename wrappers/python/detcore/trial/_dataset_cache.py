"""Datasets that are made once, kept in files, and read by all ranks and later trials."""

from __future__ import annotations

import functools
import itertools
import logging
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from detcore._trial_cache import CachedDataset, DatasetWriter, open_dataset
from detcore.errors import InvalidArgumentError
from detcore.trial._dataset_records import read_records, write_records
from detcore.trial._errors import CheckFailedError

if TYPE_CHECKING:
    from detcore.trial._context import TrialContext

Make = Callable[..., Any]
_log = logging.getLogger("detcore.trial")


class CachedDatasetError(InvalidArgumentError, AssertionError):
    """A dataset cannot be cached, or not be read from its cache, as it is asked for."""


class DatasetCaching:
    """What a context gives under `experimental` for datasets of tf.data that are slow to make."""

    def __init__(self, context: TrialContext) -> None:
        self._context = context
        self._train_cached = False

    def cache_train_dataset(
        self,
        dataset_id: str,
        dataset_version: str,
        shuffle: bool = False,
        skip_shuffle_at_epoch_end: bool = False,
    ) -> Callable[[Make], Make]:
        """Decorates a function that makes the training data: a finite tf.data.Dataset of single
        records. It is called where the records of that id and version are in no file yet. What the
        decorated function returns is this rank's share of them, as large as that of every other
        rank: it begins behind the batches that the trial has trained, and each new iterator is the
        next epoch, shuffled by the trial's seed where `shuffle` says so. Repeat, batch and augment
        it. Of one dataset in a trial; wrap_dataset() is not for it."""

        def use() -> dict[str, int]:
            if self._train_cached:
                raise CheckFailedError(
                    "cache_train_dataset is for one dataset, and made one already; a second one "
                    "would not go on where it stood when the trial is resumed"
                )
            self._train_cached = True
            done = self._context.env.steps_completed * self._context.get_per_slot_batch_size()
            return {
                "offset": done,
                "shuffle": int(shuffle),
                "same_order": int(skip_shuffle_at_epoch_end),
                "drop_remainder": 1,
            }

        return self._cached(dataset_id, dataset_version + "_train", use)

    def cache_validation_dataset(
        self, dataset_id: str, dataset_version: str, shuffle: bool = False
    ) -> Callable[[Make], Make]:
        """As cache_train_dataset(), for the validation data: always from the beginning, in the same
        order, with all records, and in as many places as one likes."""
        return self._cached(
            dataset_id,
            dataset_version + "_val",
            lambda: {"shuffle": int(shuffle), "same_order": 1},
        )

    def is_fed(self, wrapped: bool) -> bool:
        """Whether each rank has its share of the training data; `wrapped`: by wrap_dataset()."""
        if self._train_cached and wrapped:
            raise CheckFailedError(
                "cache_train_dataset and wrap_dataset() are both used: leave out wrap_dataset(), "
                "since ranks have their shares of a cached dataset already"
            )
        return self._train_cached or wrapped

    def _cached(
        self, dataset_id: str, version: str, use: Callable[[], dict[str, int]]
    ) -> Callable[[Make], Make]:
        def decorate(make: Make) -> Make:
            @functools.wraps(make)
            def decorated(*arguments: Any, **options: Any) -> Any:
                if not self._context.env.managed_training:
                    return make(*arguments, **options)
                job = self._context.distributed
                chosen = {"shard": job.rank, "shards": job.size, **use()}
                chosen["seed"] = self._context.get_trial_seed() % 2**32
                directory = _directory(self._context.get_experiment_config())
                make_now = functools.partial(make, *arguments, **options)
                try:
                    dataset = _open(directory, dataset_id, version, make_now)
                    return _epochs(dataset, chosen)
                except InvalidArgumentError as refusal:
                    raise CachedDatasetError(str(refusal)) from None

            return decorated

        return decorate


def _directory(config: dict[str, Any]) -> pathlib.Path:
    layer = config.get("data_layer") or {}
    kind = layer.get("type", "shared_fs")
    if kind != "shared_fs":
        raise CachedDatasetError(
            f"data_layer.type is {kind!r}: datasets are cached in a directory of this machine or "
            "of a shared file system; use shared_fs, with its container_storage_path"
        )
    path = layer.get("container_storage_path") or "~/data/determined"
    return pathlib.Path(path).expanduser()


def _open(directory: pathlib.Path, dataset_id: str, version: str, make: Make) -> CachedDataset:
    try:
        opened = open_dataset(directory, dataset_id, version, timeout=0)
    except TimeoutError:
        _log.info("waiting for another process, which writes the dataset %r", dataset_id)
        opened = open_dataset(directory, dataset_id, version)
    if isinstance(opened, DatasetWriter):
        _log.info("writing the dataset %r, version %r, to %s", dataset_id, version, directory)
        try:
            write_records(opened, make)
        finally:
            opened.close()
        opened = open_dataset(directory, dataset_id, version)
    assert isinstance(opened, CachedDataset), f"{directory} lost a dataset that was just written"
    return opened


def _epochs(dataset: CachedDataset, options: dict[str, int]) -> Any:
    """A tf.data.Dataset, each iterator of which goes through the next epoch."""
    length = len(dataset.reader(**{**options, "offset": 0}))
    offset = options.pop("offset", 0)
    later = itertools.count(offset // length + 1)
    offsets = itertools.chain([offset], (epoch * length for epoch in later))
    return read_records(dataset, lambda: dataset.reader(offset=next(offsets), **options))
