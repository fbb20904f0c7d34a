"""The handle of a job that this process is a rank of."""

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
    """Released when nobody holds it any more: a context, a core, or a call that was interrupted and
    is still waiting."""

    def __init__(self, join: Callable[[], int]) -> None:
        # Of its own: ranks that are threads may wait at the same time.
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
        """Called on this thread, which MPI may be for and which no other has to wake."""
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
        if _raised:  # all ranks had come meanwhile
            raise _raised.pop()
        return messages


def failure_of(error: _abi.det_error) -> BaseException:
    """Of a call that waited for other ranks on this thread: also what the handler of a signal
    raised meanwhile."""
    return _raised.pop() if error.code == _abi.DET_E_CALLBACK and _raised else from_c(error)


def _look_at_signals() -> Generator[int, None, None]:
    """Answers 0, or -1 when the handler of a signal raised something, as that of Ctrl-C does.

    Python runs handlers as soon as it is called. A function would be left before its `try` begins;
    this one is inside of it when it goes on.
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
    # A thread that still waits must not come back to an interpreter that is gone.
    for job in list(_jobs):
        call("det_distributed_set_wait_callback", job.address, _abi.det_wait_callback(), None)
