"""Saves that go on in the background."""

from __future__ import annotations

import enum
from ctypes import byref, c_int32, sizeof
from typing import TYPE_CHECKING

from detcore import _abi
from detcore._capi import call, milliseconds
from detcore._interruptible import interruptible
from detcore.core._progress import Progress
from detcore.errors import StateError

if TYPE_CHECKING:
    from detcore._owned import Owned


class SaveState(enum.Enum):
    """How far an asynchronous save is."""

    #: For earlier ones.
    Waiting = "WAITING"
    #: On a rank that is not the chief, also once its part is done.
    Saving = "SAVING"
    #: Durable, visible, and the master knows of it or will.
    Saved = "SAVED"
    #: Nothing is visible.
    Failed = "FAILED"
    #: Nothing is left.
    Cancelled = "CANCELLED"


_STATES = {
    _abi.DET_TICKET_WAITING: SaveState.Waiting,
    _abi.DET_TICKET_SAVING: SaveState.Saving,
    _abi.DET_TICKET_SAVED: SaveState.Saved,
    _abi.DET_TICKET_FAILED: SaveState.Failed,
    _abi.DET_TICKET_CANCELLED: SaveState.Cancelled,
}


class SaveTicket:
    """Follows a save that goes on in the background; the save goes on without it, too."""

    def __init__(self, storage_id: str) -> None:
        #: The storage id that the checkpoint has or will have.
        self.storage_id = storage_id
        self._owned: Owned | None = None

    def follow(self, owned: Owned) -> SaveTicket:
        """What it follows has begun. For the package's own use."""
        self._owned = owned
        return self

    def _handle(self) -> Owned:
        if self._owned is None:
            raise StateError(
                f"following checkpoint {self.storage_id}: its save begins where the `with` block "
                "of store_async() is left",
                code=_abi.DET_E_STATE,
            )
        return self._owned

    @property
    def state(self) -> SaveState:
        """How far it is, as this rank knows."""
        state = c_int32()
        call("det_checkpoint_ticket_poll", self._handle().address, byref(state), None)
        return _STATES[state.value]

    @property
    def progress(self) -> Progress:
        """How far the work in the background is, on this rank."""
        now = _abi.det_progress(sizeof(_abi.det_progress))
        call("det_checkpoint_ticket_poll", self._handle().address, None, byref(now))
        return Progress(now.bytes, now.total_bytes, now.files, now.total_files)

    def wait(self, timeout: float | None = None) -> None:
        """Waits until it is saved, for `timeout` seconds at most; None: without limit. Raises what
        the save failed with. For a save of all ranks all of them in step."""
        limit, owned = milliseconds(timeout, "timeout"), self._handle()
        interruptible(lambda: call("det_checkpoint_ticket_wait", owned.address, limit))

    def cancel(self) -> None:
        """Ends the save and leaves nothing of it; StateError where it was saved before. For a save
        of all ranks all of them in step."""
        owned = self._handle()
        interruptible(lambda: call("det_checkpoint_ticket_cancel", owned.address))
