"""Owns the handle of a job that this process is a rank of."""

from __future__ import annotations

import atexit
import os
import weakref
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING

from detcore import _abi
from detcore._capi import call, library, new_error
from detcore._interruptible import interruptible
from detcore._owned import Owned
from detcore.core._memory import Messages, Part
from detcore.errors import from_c

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


class Job:
    """The handle of a job. It is released when nobody holds it any more.

    Holders are a context, a core, or a call that was interrupted and still waits.
    """

    def __init__(self, join: Callable[[], int]) -> None:
        # Each has a separate lock: ranks that are threads may wait at the same time.
        signals = _look_at_signals()
        next(signals)
        goes_on = _abi.det_wait_callback(signals.send)
        self._job = interruptible(lambda: Owned(join(), "det_distributed_free", goes_on))
        self.address = self._job.address
        call("det_distributed_set_wait_callback", self.address, goes_on, None)
        _jobs.add(self)

    def number(self, name: str) -> int:
        number: int = getattr(library, "det_distributed_" + name)(self.address)
        return number

    def collective(self, name: str, message: bytes | Part | None) -> Messages:
        """Runs a collective on this thread. MPI may allow only this thread, and no other has to
        wake."""
        data: int | bytes | None
        if isinstance(message, Part):
            data, size = message.address, message.size
        else:
            data, size = message, len(message or b"")
        out = c_void_p()
        argument, error = new_error()
        function = getattr(library, "det_distributed_" + name)
        if function(self.address, data, size, byref(out), argument) < 0:
            raise failure_of(error) from None
        messages = Messages(out.value or 0)
        if _raised:  # all ranks came in the meantime
            raise _raised.pop()
        return messages


def failure_of(error: _abi.det_error) -> BaseException:
    """Returns the exception of a call that waited for other ranks on this thread.

    If the handler of a signal raised an exception in that time, it is that one.
    """
    return _raised.pop() if error.code == _abi.DET_E_CALLBACK and _raised else from_c(error)


def _look_at_signals() -> Generator[int, None, None]:
    """Yields 0, or -1 after the handler of a signal has raised an exception, such as
    KeyboardInterrupt.

    Python runs handlers at the very start of a call. It would leave a function before its `try`
    begins. A generator is inside its `try` when it continues.
    """
    while True:
        try:
            while True:
                yield 0
        except GeneratorExit:
            return
        except BaseException as exception:
            _raised.append(exception)
        yield -1


_raised: list[BaseException] = []
_jobs: weakref.WeakSet[Job] = weakref.WeakSet()
os.register_at_fork(after_in_child=_jobs.clear)


@atexit.register
def _ask_no_more() -> None:
    # A thread that still waits must not return to an interpreter that is gone.
    for job in list(_jobs):
        call("det_distributed_set_wait_callback", job.address, _abi.det_wait_callback(), None)
