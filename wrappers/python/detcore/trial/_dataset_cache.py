"""Makes datasets once, keeps them in files, and lets all ranks and later trials read them."""

from __future__ import annotations

import functools
import itertools
import logging
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from detcore._trial_cache import CachedDataset, DatasetWriter, open_dataset
from detcore.errors import InvalidArgumentError
from detcore.storage import Storage
from detcore.trial._dataset_records import read_records, write_records
from detcore.trial._errors import CheckFailedError

if TYPE_CHECKING:
    from detcore.trial._context import TrialContext

Make = Callable[..., Any]
Opened = Union[CachedDataset, DatasetWriter]
_log = logging.getLogger("detcore.trial")


class CachedDatasetError(InvalidArgumentError, AssertionError):
    """The dataset cannot be cached, or cannot be read from its cache, in this way."""


class DatasetCaching:
    """Caches datasets of tf.data that are slow to make: `context.experimental`."""

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
        records.

        Your function is called only if no file has the records of this id and version yet. The
        decorated function returns this rank's share of the records. All ranks have equal shares. A
        share begins after the batches that the trial has trained. Each new iterator is the next
        epoch.

        Repeat, batch and augment the returned dataset. Use the decorator for one dataset in a
        trial. Do not pass that dataset through wrap_dataset().

        Args:
            dataset_id: The name of the dataset in the cache.
            dataset_version: The version. Change it when the data changes.
            shuffle: True: shuffle by the trial's seed.
            skip_shuffle_at_epoch_end: True: use the same order in every epoch.
        """

        def use() -> dict[str, int]:
            if self._train_cached:
                raise CheckFailedError(
                    "cache_train_dataset is for one dataset, and has made one; a second one "
                    "would not continue at its place when the trial resumes"
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
        """Decorates a function that makes the validation data, as cache_train_dataset() does for
        training.

        The returned dataset always has all records of this rank's share, from the beginning and in
        the same order. You may use the decorator several times.
        """
        return self._cached(
            dataset_id,
            dataset_version + "_val",
            lambda: {"shuffle": int(shuffle), "same_order": 1},
        )

    def is_fed(self, wrapped: bool) -> bool:
        """Returns True if each rank has its share of the training data. `wrapped`: by
        wrap_dataset()."""
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
                make_now = functools.partial(make, *arguments, **options)
                try:
                    place = _place(self._context.get_experiment_config())
                    dataset = _open(place, dataset_id, version, make_now)
                    return _epochs(dataset, chosen)
                except InvalidArgumentError as refusal:
                    raise CachedDatasetError(str(refusal)) from None

            return decorated

        return decorate


class _Place(NamedTuple):
    """The place where datasets are cached."""

    directory: pathlib.Path
    bucket: Storage | None

    def open(self, dataset_id: str, version: str, timeout: float | None = None) -> Opened:
        return open_dataset(self.directory, dataset_id, version, timeout, self.bucket)


def _place(config: dict[str, Any]) -> _Place:
    """Returns the place that `data_layer` of the configuration names."""
    layer = {name: value for name, value in (config.get("data_layer") or {}).items() if value}
    kind = layer.pop("type", "shared_fs")
    if kind == "shared_fs":
        return _Place(_directory(layer, "container_storage_path"), None)
    if kind not in ("s3", "gcs"):
        raise CachedDatasetError(
            f"data_layer.type is {kind!r}: datasets are cached in a directory (shared_fs) or in a "
            "bucket (s3 or gcs)"
        )
    local = _directory(layer, "local_cache_container_path")
    layer.pop("local_cache_host_path", None)
    layer["prefix"] = layer.pop("bucket_directory_path", "").strip("/")
    bucket = Storage({"type": kind, **layer})
    # The directory has copies of one bucket only, and no dataset of shared_fs.
    return _Place(local / "local_cache" / f"{kind}-{layer.get('bucket')}" / layer["prefix"], bucket)


def _directory(layer: dict[str, Any], name: str) -> pathlib.Path:
    return pathlib.Path(layer.pop(name, "~/data/determined")).expanduser()


def _open(place: _Place, dataset_id: str, version: str, make: Make) -> CachedDataset:
    try:
        opened = place.open(dataset_id, version, timeout=0)
    except TimeoutError:
        _log.info("waiting for another process, which writes the dataset %r", dataset_id)
        opened = place.open(dataset_id, version)
    while isinstance(opened, DatasetWriter):
        _log.info("writing the dataset %r, version %r, to %s", dataset_id, version, place.directory)
        try:
            write_records(opened, make)
        finally:
            opened.close()
        opened = place.open(dataset_id, version)
    return opened


def _epochs(dataset: CachedDataset, options: dict[str, int]) -> Any:
    """Returns a tf.data.Dataset. Each of its iterators goes through the next epoch."""
    length = len(dataset.reader(**{**options, "offset": 0}))
    offset = options.pop("offset", 0)
    later = itertools.count(offset // length + 1)
    offsets = itertools.chain([offset], (epoch * length for epoch in later))
    return read_records(dataset, lambda: dataset.reader(offset=next(offsets), **options))
