"""Keeps data sets in files, so that one rank makes them and all ranks and later trials read
them."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_size_t, c_void_p
from typing import TYPE_CHECKING, Any

from detcore import _abi
from detcore._capi import call, encoded, handle, library, milliseconds, new_struct, required
from detcore._interruptible import interruptible
from detcore._owned import Owned
from detcore.core._arrays import Memory, memory_of

if TYPE_CHECKING:
    import os

    from detcore.storage import Storage


class CachedDataset:
    """A complete data set: records of bytes, which `metadata` describes."""

    def __init__(self, owned: Owned) -> None:
        self._owned = owned
        self.metadata: str = library.det_trial_cache_metadata(owned.address).decode()
        self.largest: int = library.det_trial_cache_largest(owned.address)

    def __len__(self) -> int:
        return int(library.det_trial_cache_count(self._owned.address))

    def reader(self, **options: int) -> DatasetReader:
        """Opens a reader. The options are those of det_trial_cache_reader_options.

        They are `shard` and `shards`, `offset`, `shuffle` and `seed`, `same_order` and
        `drop_remainder`.
        """
        given = new_struct(_abi.det_trial_cache_reader_options)
        for name, value in options.items():
            setattr(given, name, value)
        made = handle("det_trial_cache_reader_create", self._owned.address, byref(given))
        return DatasetReader(Owned(made, "det_trial_cache_reader_free"))


class DatasetReader:
    """Reads one shard, epoch after epoch. One thread may use it at a time."""

    def __init__(self, owned: Owned) -> None:
        self._owned = owned

    def __len__(self) -> int:
        return int(library.det_trial_cache_reader_length(self._owned.address))

    def next(self, buffer: Any, sizes: Any) -> int:
        """Reads the next records into an array of bytes, and the size of each into an array of
        uint64.

        It reads all records that fit, and returns their number. It returns 0 at the end of an
        epoch. The next call begins the next epoch.
        """
        into, each = _bytes(buffer, to_fill=True), _sizes(sizes, to_fill=True)
        count = c_size_t()
        arguments = into.address, into.shape[0], _pointer(each), each.shape[0], byref(count)
        call("det_trial_cache_reader_next", self._owned.address, *arguments)
        return count.value


class DatasetWriter:
    """Writes a data set. Without commit() nothing of it remains. One thread may use it at a
    time."""

    def __init__(self, owned: Owned) -> None:
        self._owned = owned

    def add(self, records: Any, sizes: Any) -> None:
        """Adds records: their bytes one after the other, and an array of uint64 with the size of
        each."""
        memory, each = _bytes(records, to_fill=False), _sizes(sizes, to_fill=False)
        total = sum(memoryview(sizes))
        if total != memory.shape[0]:
            raise ValueError(
                f"the sizes give {total} bytes, and the records have {memory.shape[0]}"
            )
        arguments = memory.address, _pointer(each), each.shape[0]
        call("det_trial_cache_writer_add", self._owned.address, *arguments)

    def commit(self, metadata: str) -> None:
        """Makes the data set readable for all others. It waits for the disk."""
        text, owned = encoded(metadata, "metadata"), self._owned
        interruptible(lambda: call("det_trial_cache_writer_commit", owned.address, text))

    def close(self) -> None:
        """Drops records that are not committed, so that another process can begin anew."""
        self._owned.release()


def open_dataset(
    directory: str | os.PathLike[str],
    id: str,
    version: str,
    timeout: float | None = None,
    bucket: Storage | None = None,
) -> CachedDataset | DatasetWriter:
    """Opens a complete data set, or a writer if it does not exist yet.

    While another process writes it, it waits for at most `timeout` seconds, or without limit for
    None. Then it raises TimeoutError. With a `bucket`, the directory is for copies on this machine.
    """
    names = required(directory, "directory"), required(id, "id"), required(version, "version")
    limit = milliseconds(timeout, "timeout")
    return interruptible(lambda: _open(names, limit, bucket))


def _open(
    names: tuple[bytes, bytes, bytes], limit: int, bucket: Storage | None
) -> CachedDataset | DatasetWriter:
    cache, writer = c_void_p(), c_void_p()
    found = byref(cache), byref(writer)
    if bucket is None:
        call("det_trial_cache_open", *names, limit, *found)
    else:
        call("det_trial_cache_open_bucket", bucket._owned.address, *names, limit, *found)
    if cache.value:
        return CachedDataset(Owned(cache.value, "det_trial_cache_free"))
    return DatasetWriter(Owned(writer.value or 0, "det_trial_cache_writer_free"))


def _bytes(array: Any, to_fill: bool) -> Memory:
    return _of_dtype(memory_of(array, "records", to_fill), "U8")


def _sizes(array: Any, to_fill: bool) -> Memory:
    return _of_dtype(memory_of(array, "sizes", to_fill), "U64")


def _of_dtype(memory: Memory, dtype: str) -> Memory:
    if memory.dtype != dtype or len(memory.shape) != 1:
        raise TypeError(
            f"a row of {dtype} is needed, not {memory.dtype} with the shape {memory.shape}"
        )
    return memory


def _pointer(sizes: Memory) -> Any:
    return ctypes.cast(sizes.address, ctypes.POINTER(c_size_t))
