"""Stores, reads, copies and deletes checkpoints without a run and without a master."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from ctypes import byref
from typing import Any, Union

from detcore._capi import Callbacks, call, handle, required, text
from detcore._interruptible import interruptible
from detcore._json import encode
from detcore._owned import Owned
from detcore.core._checkpoint import (
    DownloadMode,
    Path,
    Selector,
    _download_options,
    _store_options,
)
from detcore.core._progress import Progress, cancellable

Location = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Follow = Callable[[Progress], object]


class Storage:
    """A place of checkpoints: a directory, or a bucket.

    No master gets a report of these calls. To delete a checkpoint that a master knows, use
    detcore.client.

    Args:
        location: A directory, a URI, or a `checkpoint_storage` dict. URIs are s3://bucket/prefix,
            gs://bucket/prefix and azure://container/prefix.
    """

    def __init__(self, location: Location) -> None:
        if isinstance(location, Mapping):
            where = encode(dict(location), "location")
        else:
            where = required(location, "location")
        self._owned = interruptible(
            lambda: Owned(handle("det_storage_open", where), "det_storage_free")
        )

    @classmethod
    def _given(cls, owned: Owned) -> Storage:
        made = cls.__new__(cls)
        made._owned = owned
        return made

    def config(self) -> dict[str, Any]:
        """Returns the `checkpoint_storage` dict that opens this storage again, without
        credentials."""
        found: dict[str, Any] = json.loads(text("det_storage_get_config", self._owned.address))
        return found

    def upload(
        self,
        ckpt_dir: Path,
        metadata: Mapping[str, Any] | None = None,
        *,
        selector: Selector | None = None,
        progress: Follow | None = None,
    ) -> str:
        """Stores the contents of a directory as a new checkpoint. It blocks until that is durable.

        Args:
            ckpt_dir: The directory.
            metadata: Facts to keep with the checkpoint, as `metadata.json`.
            selector: Gets the path of each file, and returns True to take it. None takes all.
            progress: Receives the progress.

        Returns:
            The storage id of the checkpoint.
        """
        folder = required(ckpt_dir, "ckpt_dir")
        facts = None if metadata is None else encode(dict(metadata), "metadata")
        callbacks = Callbacks()
        options = _store_options(callbacks, False, selector, progress)
        return cancellable(
            callbacks,
            lambda: text("det_storage_upload", self._owned.address, folder, facts, byref(options)),
        )

    def download(
        self,
        storage_id: str,
        ckpt_dir: Path,
        *,
        selector: Selector | None = None,
        progress: Follow | None = None,
    ) -> None:
        """Copies a checkpoint into a directory, and verifies it. It makes a missing directory. It
        blocks."""
        folder = required(ckpt_dir, "ckpt_dir")
        self._transfer("det_storage_download", storage_id, folder, selector, progress)

    def list(self, storage_id: str) -> dict[str, int]:
        """Returns the size in bytes of each file of a checkpoint. The name of a directory ends in
        /."""
        name = required(storage_id, "storage_id")
        found = interruptible(lambda: text("det_storage_list", self._owned.address, name))
        resources: dict[str, int] = json.loads(found)["resources"]
        return resources

    def verify(self, storage_id: str, *, progress: Follow | None = None) -> None:
        """Compares all files of a checkpoint with the stored checksums. It blocks.

        Raises:
            CorruptError: A file is missing or damaged. The message names it.
        """
        self._transfer("det_storage_verify", storage_id, None, None, progress)

    def copy(self, storage_id: str, to: Storage, *, progress: Follow | None = None) -> None:
        """Copies a checkpoint to another storage, under the same id. It blocks."""
        self._transfer("det_storage_copy", storage_id, to._owned.address, None, progress)

    def delete(self, storage_id: str) -> None:
        """Deletes a checkpoint. A missing one counts as deleted. It blocks."""
        name = required(storage_id, "storage_id")
        interruptible(lambda: call("det_storage_delete", self._owned.address, name))

    def _transfer(
        self,
        function: str,
        storage_id: str,
        target: bytes | int | None,
        selector: Selector | None,
        progress: Follow | None,
    ) -> None:
        name = required(storage_id, "storage_id")
        callbacks = Callbacks()
        options = _download_options(callbacks, DownloadMode.NoSharedDownload, selector, progress)
        arguments: list[bytes | int] = [name] if target is None else [name, target]
        cancellable(
            callbacks,
            lambda: call(function, self._owned.address, *arguments, byref(options)),
        )
