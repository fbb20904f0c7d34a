"""Owns the det_core that all contexts of one run share."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import warnings
import weakref
from typing import TYPE_CHECKING

from detcore import _abi
from detcore._capi import call, handle, library
from detcore._interruptible import interruptible
from detcore._owned import Owned
from detcore.errors import Error, StateError

if TYPE_CHECKING:
    from detcore.core._distributed import DistributedContext
    from detcore.core._job import Job


class Core:
    """Owns a det_core, and with it every view.

    Each user of a view holds this object, so that nothing is used after its release. A forked child
    has only a copy, and leaves it alone.
    """

    is_open: bool = False

    def __init__(self, options_json: bytes, distributed: DistributedContext | None) -> None:
        _refuse_beside_the_store_of_a_parent()
        job = None if distributed is None else distributed._open_job("core.init")
        self.process: int = os.getpid()
        self._core = interruptible(lambda: _opened(options_json, job))
        self.is_open = True
        self.has_store: bool = b'"master":"http' not in library.det_info_json(self.view("info"))
        _cores.add(self)

    def view(self, name: str) -> int:
        """Returns the address that det_core_<name>() gives."""
        address: int = getattr(library, "det_core_" + name)(self._core.address)
        return address

    def close(self, outcome: int) -> None:
        """Ends the run, and blocks until the master has the last reports. A second call does
        nothing."""
        self.is_open = False
        core = self._core
        interruptible(lambda: call("det_core_close", core.address, outcome))

    def exit_status(self) -> int:
        status: int = library.det_core_exit_status(self._core.address)
        return status

    def is_of_this_process(self) -> bool:
        return self._core.is_of_this_process()

    def __del__(self) -> None:
        if self.is_open and self.is_of_this_process():
            warnings.warn("a core.Context was never closed", ResourceWarning, stacklevel=2)
            library.det_core_close(self._core.address, _abi.DET_OUTCOME_OK, None)


_cores: weakref.WeakSet[Core] = weakref.WeakSet()


def _refuse_beside_the_store_of_a_parent() -> None:
    """Refuses a run in a forked child whose parent has the store open.

    SQLite keeps its locks within a process, and a fork copies their state. A child could wait
    forever for a lock of another thread, or take a lock for its own.
    """
    for core in list(_cores):
        if core.is_open and core.has_store and core.process != os.getpid():
            raise StateError(
                "starting a run in a forked child: its parent has the store open, which does not "
                "survive a fork; start the child in another way, as with "
                "multiprocessing.get_context('spawn'), or close the parent's run before",
                code=_abi.DET_E_STATE,
            )


@atexit.register
def _close_after_ctrl_c() -> None:
    """Closes runs after Ctrl-C: Python then ends with the signal, so the library sees no exit
    status."""
    last = getattr(sys, "last_value", None)
    if not isinstance(last, KeyboardInterrupt) or hasattr(sys, "ps1"):
        return
    for core in list(_cores):
        if core.is_open and core.is_of_this_process():
            with contextlib.suppress(Error):  # undelivered reports wait in the journal
                core.close(_abi.DET_OUTCOME_ERROR)


def _opened(options_json: bytes, job: Job | None) -> Owned:
    ranks = None if job is None else job.address
    return Owned(handle("det_core_init_json", options_json, ranks, None), "det_core_free", job)
