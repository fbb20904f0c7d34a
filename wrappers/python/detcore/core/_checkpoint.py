"""Saves and restores checkpoints."""

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
    """Says how the ranks of a job share a download."""

    #: All ranks call in step. Each machine downloads once.
    LocalWorkersShareDownload = "LOCAL_WORKERS_SHARE_DOWNLOAD"
    #: This rank alone calls, and downloads for itself.
    NoSharedDownload = "NO_SHARED_DOWNLOAD"


_MODES = {
    DownloadMode.LocalWorkersShareDownload: _abi.DET_DOWNLOAD_MODE_LOCAL_WORKERS_SHARE,
    DownloadMode.NoSharedDownload: _abi.DET_DOWNLOAD_MODE_NO_SHARED,
}


class CheckpointEntry(NamedTuple):
    """One checkpoint of this trial, as CheckpointContext.list() returns it."""

    storage_id: str
    steps_completed: int
    #: The microseconds since 1970 (UTC) at which the master got the report. 0 if unknown.
    time_us: int
    #: The bytes of all files together.
    size: int


class _Upload(NamedTuple):
    ckpt_dir: Path | None
    metadata: Mapping[str, Any] | None
    shard: bool
    selector: Selector | None
    progress: Callable[[Progress], object] | None


class CheckpointStore:
    """A checkpoint that you are writing, as store() and store_async() return it."""

    def __init__(self, store: Owned, callbacks: Callbacks) -> None:
        self._store = store
        self._callbacks = callbacks
        #: The directory to write files into. It is empty at first.
        self.path: pathlib.Path = as_path(library.det_checkpoint_writer_path(store.address))
        #: The id that the checkpoint will have.
        self.storage_id: str = library.det_checkpoint_writer_id(store.address).decode()
        #: Follows the save of store_async(), as soon as you have left the `with` block.
        self.ticket: SaveTicket = SaveTicket(self.storage_id)

    def write_tensors(
        self,
        tensors: Mapping[str, Any],
        name: str = "model.safetensors",
        *,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """Writes arrays into a safetensors file of the checkpoint.

        With `shard=True` all ranks call it in step, each with its own arrays. A rank may have none.

        Args:
            tensors: Arrays by name, or TensorPart for parts of tensors. Arrays are those of NumPy,
                PyTorch and other packages, also on CUDA devices, and anything with the buffer
                protocol.
            name: The name of the file.
            metadata: Texts to keep in the file, by name.
        """
        write(self._store, self._callbacks, name, tensors, metadata)


class CheckpointRestore:
    """A checkpoint that you are reading, as restore() returns it."""

    def __init__(self, restore: Owned) -> None:
        self._restore = restore
        #: The directory to read files from.
        self.path: pathlib.Path = as_path(library.det_checkpoint_reader_path(restore.address))

    def tensors(self, name: str = "model.safetensors") -> Tensors:
        """Opens the tensors of one file, or of the files that all ranks wrote under this name."""
        return tensors_of(self._restore, name)


class CheckpointContext:
    """Saves, restores, lists and deletes checkpoints: `context.checkpoint`.

    A checkpoint becomes visible complete or not at all. Only the chief saves. With `shard=True` all
    ranks save in step, each with its own files, and the checkpoint has the files of all of them.

    Methods that save and read take these arguments:

    - `metadata`: facts to keep with the checkpoint. It must have "steps_completed".
    - `selector`: a function that gets the path of each file, and says if it takes part.
    - `progress`: a function that gets a Progress a few times a second. If it raises an exception,
      the call stops with that exception and leaves nothing.
    """

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
        """Stores the contents of a directory as a new checkpoint.

        The chief calls it, or all ranks in step with `shard`. It blocks until the checkpoint is
        durable.

        Args:
            ckpt_dir: The directory. None only with `shard`, on a rank without files.
            metadata: A dict with "steps_completed". With `shard` the dicts of all ranks are merged.
            shard: True if all ranks call it, each with its own files.
            selector: Chooses the files by path. None takes all.
            progress: Receives the progress.

        Returns:
            The storage id of the checkpoint, the same on all ranks.
        """
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
        """Stores the contents of a directory as a new checkpoint, in the background.

        It returns as soon as the files are copied. You may then change `ckpt_dir`. `progress`
        receives the progress of the copy. The arguments are those of upload().

        If the save fails later, the ticket raises the failure. If you do not ask the ticket, the
        next save raises it, or the end of the context.

        Returns:
            A ticket that follows the save.
        """

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
        """Limits the asynchronous saves that follow. Each rank calls it for itself.

        Args:
            in_flight: The greatest number of unfinished saves.
            limit_bytes: The greatest number of bytes of all unfinished saves together. 0: no limit.
            refuse_when_full: True: a save without room raises BusyError. False: it waits for room.
        """
        limits = new_struct(_abi.det_save_limits)
        limits.in_flight = in_flight
        limits.limit_bytes = limit_bytes
        limits.refuse_when_full = 1 if refuse_when_full else 0
        call("det_checkpoint_limit_saves", self._view, byref(limits))

    def stage_saves(self, directory: Path | None, limit_bytes: int = 0) -> None:
        """Makes saves of one rank in a directory of this machine first, and stores them from there.

        It is for buckets and slow file systems. Saves of all ranks (`shard`) are not staged. Copies
        stay there as long as `limit_bytes` allows, and later reads use them.

        Args:
            directory: A directory in memory (/dev/shm), or on a disk of this machine. None ends
                staging.
            limit_bytes: The greatest size of unfinished saves and kept copies together.
        """
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
        """Gives a directory to write a new checkpoint into.

        At the end of the `with` block the checkpoint is stored, as by upload(). An exception in the
        block drops it. The chief calls it, or all ranks in step with `shard`.

        Yields:
            The directory, and the storage id that the checkpoint will have.
        """
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
        """Gives a new checkpoint to write into: files, and tensors from memory.

        At the end of the `with` block the checkpoint becomes visible. An exception in the block
        drops it. The chief calls it, or all ranks in step with `shard`.
        """
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
        """Gives a new checkpoint to write into, as store() does, and saves it in the background.

        The end of the `with` block does not wait. Nothing is copied, so nobody may write to the
        directory after the block. The `ticket` of the store follows the save.
        """
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
            with contextlib.suppress(Error):  # the exception of the block counts
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
        """Copies a checkpoint into a directory, and verifies it. It makes a missing directory.

        By default all ranks call it in step, and each machine downloads once.
        """
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
        """Gives a directory to read a checkpoint from. It is valid until the end of the `with`
        block.

        By default all ranks call it in step, and each machine opens the checkpoint once. Only read
        the files: in a storage on a file system they are the checkpoint itself.
        """
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
        """Opens a checkpoint for reading: files, and tensors. It is valid until the end of the
        `with` block.

        By default all ranks call it in step, and each machine opens the checkpoint once.
        """
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
        """Saves arrays in memory as a checkpoint, in one call.

        In a job of several ranks all ranks call it in step. Arrays of one name must be the same on
        all of them. It blocks until the checkpoint is durable.

        Args:
            steps_completed: The steps since the beginning of the trial.
            arrays: Arrays of NumPy, PyTorch and other packages, by name.

        Returns:
            The storage id of the checkpoint.
        """
        state = CBuffers(arrays, to_fill=False)
        return interruptible(
            lambda: text("det_state_save", self._view, steps_completed, state.array, state.count)
        )

    def load_state(self, arrays: Mapping[str, Any], storage_id: str | None = None) -> int:
        """Fills arrays with the values that save_state() saved.

        Without `storage_id` it reads the checkpoint from which this run resumes. If the run starts
        from the beginning, it fills nothing and returns 0. In a job of several ranks all ranks call
        it in step.

        Returns:
            The steps of the checkpoint.
        """
        state = CBuffers(arrays, to_fill=True)
        name = None if storage_id is None else required(storage_id, "storage_id")
        steps = ctypes.c_int64()
        interruptible(
            lambda: call("det_state_load", self._view, name, state.array, state.count, byref(steps))
        )
        return steps.value

    def delete(self, storage_id: str) -> None:
        """Deletes a checkpoint. A missing one counts as deleted. Any rank may call it. It
        blocks."""
        name = required(storage_id, "storage_id")
        interruptible(lambda: call("det_checkpoint_delete", self._view, name))

    def get_metadata(self, storage_id: str) -> dict[str, Any]:
        """Returns the metadata of a checkpoint. Any rank may call it. It blocks for one request."""
        import json

        name = required(storage_id, "storage_id")
        found: dict[str, Any] = json.loads(
            interruptible(lambda: text("det_checkpoint_get_metadata", self._view, name))
        )
        return found

    def list(self) -> list[CheckpointEntry]:
        """Lists the checkpoints of this trial that can be restored, the one with the most steps
        first.

        It has those of all runs of the trial. Any rank that reaches the master may call it.
        """
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
            "uploading a checkpoint: ckpt_dir is None, which only a rank without files may give, "
            "with shard=True",
            code=_abi.DET_E_STATE,
        )
    return folder


def _metadata(metadata: Mapping[str, Any] | None, shard: bool) -> bytes | None:
    if metadata is None:  # another rank may give it
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
