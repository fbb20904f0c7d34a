"""Saving and restoring."""

from __future__ import annotations

import contextlib
import ctypes
import enum
import os
from collections.abc import Callable, Mapping
from ctypes import byref
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, Union

from detcore import _abi
from detcore._capi import (
    Callbacks,
    as_path,
    call,
    encoded,
    handle,
    library,
    new_struct,
    required,
    text,
)
from detcore._interruptible import interruptible
from detcore._json import encode
from detcore._owned import Owned
from detcore.core._progress import Progress, cancellable, follow
from detcore.core._tensors import CBuffers, Tensors, tensors_of, write
from detcore.core._ticket import SaveTicket
from detcore.errors import Error, StateError

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

    from detcore.core._core import Core

Path = Union[str, "os.PathLike[str]"]
Selector = Callable[[str], bool]
_T = TypeVar("_T")


class DownloadMode(enum.Enum):
    """How ranks share a download."""

    #: All ranks in step; one download per machine.
    LocalWorkersShareDownload = "LOCAL_WORKERS_SHARE_DOWNLOAD"
    #: This rank alone, for itself.
    NoSharedDownload = "NO_SHARED_DOWNLOAD"


_MODES = {
    DownloadMode.LocalWorkersShareDownload: _abi.DET_DOWNLOAD_MODE_LOCAL_WORKERS_SHARE,
    DownloadMode.NoSharedDownload: _abi.DET_DOWNLOAD_MODE_NO_SHARED,
}


class CheckpointEntry(NamedTuple):
    """A checkpoint of this trial."""

    storage_id: str
    steps_completed: int
    #: When the master was told, in microseconds since 1970 (UTC); 0 where it does not say.
    time_us: int
    #: Bytes of all files.
    size: int


class _Upload(NamedTuple):
    ckpt_dir: Path | None
    metadata: Mapping[str, Any] | None
    shard: bool
    selector: Selector | None
    progress: Callable[[Progress], object] | None


class CheckpointStore:
    """A checkpoint that is being written."""

    def __init__(self, store: Owned, callbacks: Callbacks) -> None:
        self._store = store
        self._callbacks = callbacks
        #: The empty directory to write files into.
        self.path: pathlib.Path = as_path(library.det_checkpoint_writer_path(store.address))
        #: The id that the checkpoint will have.
        self.storage_id: str = library.det_checkpoint_writer_id(store.address).decode()
        #: Follows the save of store_async() once the `with` block is left.
        self.ticket: SaveTicket = SaveTicket(self.storage_id)

    def write_tensors(
        self,
        tensors: Mapping[str, Any],
        name: str = "model.safetensors",
        *,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """Writes arrays, or parts of tensors as TensorPart, into the file `name`: arrays of NumPy,
        PyTorch and others, also on CUDA devices, and all that has the buffer protocol. With
        `shard` all ranks in step, each with what it has, perhaps nothing."""
        write(self._store, self._callbacks, name, tensors, metadata)


class CheckpointRestore:
    """A checkpoint that is being read."""

    def __init__(self, restore: Owned) -> None:
        self._restore = restore
        #: The directory to read files from.
        self.path: pathlib.Path = as_path(library.det_checkpoint_reader_path(restore.address))

    def tensors(self, name: str = "model.safetensors") -> Tensors:
        """The tensors of the file `name`, or of the files of all ranks that wrote them."""
        return tensors_of(self._restore, name)


class CheckpointContext:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._view = core.view("checkpoint")

    def upload(
        self,
        ckpt_dir: Path | None,
        metadata: Mapping[str, Any] | None = None,
        *,
        shard: bool = False,
        selector: Selector | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> str:
        """Stores the contents of a directory as a new checkpoint and returns its storage id."""
        return self._upload(
            lambda *given: text("det_checkpoint_upload", *given),
            _Upload(ckpt_dir, metadata, shard, selector, progress),
        )

    def upload_async(
        self,
        ckpt_dir: Path | None,
        metadata: Mapping[str, Any] | None = None,
        *,
        shard: bool = False,
        selector: Selector | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> SaveTicket:
        """As upload(), but returns once ckpt_dir may be changed: once it is copied, of which
        `progress` is told. The rest goes on in the background. What fails there the ticket tells,
        else the next save, else the end of the context."""

        def begin(*given: Any) -> Owned:
            address = handle("det_checkpoint_upload_async", *given)
            return Owned(address, "det_checkpoint_ticket_free", self._core)

        owned = self._upload(begin, _Upload(ckpt_dir, metadata, shard, selector, progress))
        storage_id = library.det_checkpoint_ticket_id(owned.address).decode()
        return SaveTicket(storage_id).follow(owned)

    def _upload(self, begin: Callable[..., _T], given: _Upload) -> _T:
        folder = _folder(given.ckpt_dir, given.shard)
        facts = _metadata(given.metadata, given.shard)

        callbacks = Callbacks()
        options = _store_options(callbacks, given.shard, given.selector, given.progress)
        return cancellable(callbacks, lambda: begin(self._view, folder, facts, byref(options)))

    def limit_saves(
        self, *, in_flight: int = 2, limit_bytes: int = 0, refuse_when_full: bool = False
    ) -> None:
        """How many asynchronous saves may be under way, and how many bytes they may hold back
        together (0: no limit). One that finds no room waits, or raises BusyError."""
        limits = new_struct(_abi.det_save_limits)
        limits.in_flight = in_flight
        limits.limit_bytes = limit_bytes
        limits.refuse_when_full = 1 if refuse_when_full else 0
        call("det_checkpoint_limit_saves", self._view, byref(limits))

    def stage_saves(self, directory: Path | None, limit_bytes: int = 0) -> None:
        """Saves of one rank wait in a directory of this machine (memory, or a disk of its own) till
        they are stored, and are kept there as long as `limit_bytes` are enough. None ends that."""
        folder = encoded(directory, "directory")
        options = new_struct(_abi.det_staging_options)
        options.directory = folder
        options.limit_bytes = limit_bytes
        interruptible(lambda: call("det_checkpoint_stage_saves", self._view, byref(options)))

    @contextlib.contextmanager
    def store_path(
        self,
        metadata: Mapping[str, Any] | None = None,
        *,
        shard: bool = False,
        progress: Callable[[Progress], object] | None = None,
    ) -> Iterator[tuple[pathlib.Path, str]]:
        """A directory to write into, and the storage id it will have: leaving the `with` block
        makes it a checkpoint, an exception in it drops it."""
        with self.store(metadata, shard=shard, progress=progress) as store:
            yield store.path, store.storage_id

    @contextlib.contextmanager
    def store(
        self,
        metadata: Mapping[str, Any] | None = None,
        *,
        shard: bool = False,
        progress: Callable[[Progress], object] | None = None,
    ) -> Iterator[CheckpointStore]:
        """A checkpoint to write into, files and tensors: leaving the `with` block makes it visible,
        an exception in it drops it."""
        callbacks = Callbacks()
        with self._begun(metadata, shard, callbacks, progress) as store:
            yield CheckpointStore(store, callbacks)
        cancellable(callbacks, lambda: call("det_checkpoint_writer_commit", store.address))

    @contextlib.contextmanager
    def store_async(
        self,
        metadata: Mapping[str, Any] | None = None,
        *,
        shard: bool = False,
        progress: Callable[[Progress], object] | None = None,
    ) -> Iterator[CheckpointStore]:
        """As store(), but leaving the `with` block does not wait: nothing is copied, and nobody may
        write to the directory any more. The `ticket` of the store follows the save from there."""
        callbacks = Callbacks()
        with self._begun(metadata, shard, callbacks, progress) as store:
            written = CheckpointStore(store, callbacks)
            yield written

        def commit() -> Owned:
            address = handle("det_checkpoint_writer_commit_async", store.address)
            return Owned(address, "det_checkpoint_ticket_free", self._core)

        written.ticket.follow(cancellable(callbacks, commit))

    @contextlib.contextmanager
    def _begun(
        self,
        metadata: Mapping[str, Any] | None,
        shard: bool,
        callbacks: Callbacks,
        progress: Callable[[Progress], object] | None,
    ) -> Iterator[Owned]:
        facts = _metadata(metadata, shard)
        options = _store_options(callbacks, shard, None, progress)

        def begin() -> Owned:
            address = handle("det_checkpoint_writer_begin", self._view, facts, byref(options))
            return Owned(address, "det_checkpoint_writer_free", self._core, callbacks)

        store = interruptible(begin)
        try:
            yield store
        except BaseException:
            with contextlib.suppress(Error):  # what happened in the block is what is to be mended
                interruptible(lambda: call("det_checkpoint_writer_abort", store.address))
            raise

    def download(
        self,
        storage_id: str,
        ckpt_dir: Path,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Selector | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> None:
        """Copies a checkpoint into a directory, made if absent, and verifies it."""
        name, folder = required(storage_id, "storage_id"), required(ckpt_dir, "ckpt_dir")
        callbacks = Callbacks()
        options = _download_options(callbacks, download_mode, selector, progress)
        cancellable(
            callbacks,
            lambda: call("det_checkpoint_download", self._view, name, folder, byref(options)),
        )

    @contextlib.contextmanager
    def restore_path(
        self,
        storage_id: str,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Selector | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> Iterator[pathlib.Path]:
        """A directory to read a checkpoint from, until the `with` block is left."""
        with self.restore(
            storage_id, download_mode, selector=selector, progress=progress
        ) as restore:
            yield restore.path

    @contextlib.contextmanager
    def restore(
        self,
        storage_id: str,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Selector | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> Iterator[CheckpointRestore]:
        """A checkpoint to read from, files and tensors, until the `with` block is left."""
        name = required(storage_id, "storage_id")
        callbacks = Callbacks()
        options = _download_options(callbacks, download_mode, selector, progress)

        def begin() -> Owned:
            address = handle("det_checkpoint_reader_open", self._view, name, byref(options))
            return Owned(address, "det_checkpoint_reader_free", self._core, callbacks)

        restore = cancellable(callbacks, begin)
        try:
            yield CheckpointRestore(restore)
        finally:
            restore.release()

    def save_state(self, steps_completed: int, arrays: Mapping[str, Any]) -> str:
        """Saves arrays of NumPy, PyTorch and others as a checkpoint, in one call, and returns its
        storage id. In a job of several ranks all ranks in step: what they have under one name must
        be the same."""
        state = CBuffers(arrays, to_fill=False)
        return interruptible(
            lambda: text("det_state_save", self._view, steps_completed, state.array, state.count)
        )

    def load_state(self, arrays: Mapping[str, Any], storage_id: str | None = None) -> int:
        """Fills arrays with what save_state() has stored, and returns its steps. Without an id, of
        the checkpoint that this run begins with: 0 where there is none, and nothing is filled."""
        state = CBuffers(arrays, to_fill=True)
        name = None if storage_id is None else required(storage_id, "storage_id")
        steps = ctypes.c_int64()
        interruptible(
            lambda: call("det_state_load", self._view, name, state.array, state.count, byref(steps))
        )
        return steps.value

    def delete(self, storage_id: str) -> None:
        """Deletes a checkpoint; one that is not there counts as deleted."""
        name = required(storage_id, "storage_id")
        interruptible(lambda: call("det_checkpoint_delete", self._view, name))

    def get_metadata(self, storage_id: str) -> dict[str, Any]:
        """The metadata of a checkpoint."""
        import json

        name = required(storage_id, "storage_id")
        found: dict[str, Any] = json.loads(
            interruptible(lambda: text("det_checkpoint_get_metadata", self._view, name))
        )
        return found

    def list(self) -> list[CheckpointEntry]:
        """The checkpoints of this trial, of all its runs, that can be restored: the one of the most
        steps first."""
        owned = interruptible(
            lambda: Owned(handle("det_checkpoint_list", self._view), "det_checkpoint_entries_free")
        )
        entries = owned.address
        return [
            CheckpointEntry(
                library.det_checkpoint_entries_id(entries, index).decode(),
                library.det_checkpoint_entries_steps_completed(entries, index),
                library.det_checkpoint_entries_time_us(entries, index),
                library.det_checkpoint_entries_size(entries, index),
            )
            for index in range(library.det_checkpoint_entries_count(entries))
        ]


def _folder(ckpt_dir: Path | None, shard: bool) -> bytes | None:
    folder = encoded(ckpt_dir, "ckpt_dir")
    if folder is None and not shard:
        raise StateError(
            "uploading a checkpoint: ckpt_dir is None, which only one of several ranks may "
            "say, with shard=True",
            code=_abi.DET_E_STATE,
        )
    return folder


def _metadata(metadata: Mapping[str, Any] | None, shard: bool) -> bytes | None:
    if metadata is None:  # of several ranks others may say it
        return None if shard else b"{}"
    if not isinstance(metadata, Mapping):
        raise TypeError(f"metadata must be a dict, not {type(metadata).__name__}")
    return encode(dict(metadata), "metadata")


def _store_options(
    callbacks: Callbacks,
    shard: bool,
    selector: Selector | None,
    progress: Callable[[Progress], object] | None,
) -> _abi.det_checkpoint_options:
    options = new_struct(_abi.det_checkpoint_options)
    options.shard = 1 if shard else 0
    _set_callbacks(options, callbacks, selector, progress)
    return options


def _download_options(
    callbacks: Callbacks,
    mode: DownloadMode,
    selector: Selector | None,
    progress: Callable[[Progress], object] | None,
) -> _abi.det_download_options:
    options = new_struct(_abi.det_download_options)
    options.mode = _MODES[DownloadMode(mode)]
    _set_callbacks(options, callbacks, selector, progress)
    return options


def _set_callbacks(
    options: Any,
    callbacks: Callbacks,
    selector: Selector | None,
    progress: Callable[[Progress], object] | None,
) -> None:
    if selector is not None:
        if not callable(selector):
            raise TypeError(f"selector must be a callable, not {type(selector).__name__}")
        select = selector
        options.selector = callbacks.wrap(
            _abi.det_checkpoint_selector, lambda path, _: 1 if select(os.fsdecode(path)) else 0
        )
    follow(options, callbacks, progress)
