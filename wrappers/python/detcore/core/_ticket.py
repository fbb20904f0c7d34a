"""Follows saves in the background."""

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
    """The state of an asynchronous save."""

    #: It waits for earlier saves.
    Waiting = "WAITING"
    #: It is under way. On ranks except the chief it stays so after their part is done.
    Saving = "SAVING"
    #: It is durable and visible. The master has the report, or will get it.
    Saved = "SAVED"
    #: It failed. Nothing is visible.
    Failed = "FAILED"
    #: It was cancelled. Nothing remains.
    Cancelled = "CANCELLED"


_STATES = {
    _abi.DET_TICKET_WAITING: SaveState.Waiting,
    _abi.DET_TICKET_SAVING: SaveState.Saving,
    _abi.DET_TICKET_SAVED: SaveState.Saved,
    _abi.DET_TICKET_FAILED: SaveState.Failed,
    _abi.DET_TICKET_CANCELLED: SaveState.Cancelled,
}


class SaveTicket:
    """Follows a save in the background. The save continues also without its ticket."""

    def __init__(self, storage_id: str) -> None:
        #: The storage id that the checkpoint has or will have.
        self.storage_id = storage_id
        self._owned: Owned | None = None

    def follow(self, owned: Owned) -> SaveTicket:
        """Gives the ticket the save that has begun. Only the package calls it."""
        self._owned = owned
        return self

    def _handle(self) -> Owned:
        if self._owned is None:
            raise StateError(
                f"following checkpoint {self.storage_id}: its save begins at the end of the `with` "
                "block of store_async()",
                code=_abi.DET_E_STATE,
            )
        return self._owned

    @property
    def state(self) -> SaveState:
        """The state of the save, as this rank knows it."""
        state = c_int32()
        call("det_checkpoint_ticket_poll", self._handle().address, byref(state), None)
        return _STATES[state.value]

    @property
    def progress(self) -> Progress:
        """The progress of the background work on this rank."""
        now = _abi.det_progress(sizeof(_abi.det_progress))
        call("det_checkpoint_ticket_poll", self._handle().address, None, byref(now))
        return Progress(now.bytes, now.total_bytes, now.files, now.total_files)

    def wait(self, timeout: float | None = None) -> None:
        """Waits until the checkpoint is saved. If the save failed, it raises that failure.

        For a save of all ranks, all of them call it in step.

        Args:
            timeout: The most seconds to wait. None: no limit.
        """
        limit, owned = milliseconds(timeout, "timeout"), self._handle()
        interruptible(lambda: call("det_checkpoint_ticket_wait", owned.address, limit))

    def cancel(self) -> None:
        """Ends the save, and removes everything of it. For a save of all ranks, all of them call it
        in step.

        Raises:
            StateError: The checkpoint was saved before.
        """
        owned = self._handle()
        interruptible(lambda: call("det_checkpoint_ticket_cancel", owned.address))
