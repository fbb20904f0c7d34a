"""Being asked to stop: pause, cancel, a scheduler, a spot machine."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from detcore import _abi
from detcore._capi import call, library
from detcore._interruptible import interruptible
from detcore.errors import StateError, from_c

if TYPE_CHECKING:
    from detcore.core._core import Core


class PreemptMode(enum.Enum):
    """Who calls should_preempt(), and who decides."""

    #: All ranks in step; the chief decides for all.
    WorkersAskChief = "WORKERS_ASK_CHIEF"
    #: The chief alone.
    ChiefOnly = "CHIEF_ONLY"
    #: Each rank for itself; answers may differ in time.
    WorkersAskMaster = "WORKERS_ASK_MASTER"


class PreemptContext:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._view: int | None = None

    def _start(self) -> None:
        self._view = self._core.view("preempt")

    def should_preempt(self, auto_ack: bool = True) -> bool:
        """Whether to stop now: save a checkpoint and leave. Cheap enough for every batch.

        The first True tells the master as well that this process leaves unfinished and expects to
        be started again. Whoever passes `auto_ack=False` and then leaves calls
        acknowledge_preemption_signal() first.
        """
        error = _abi.det_error()
        if auto_ack:
            status = library.det_preempt_should_preempt(self._view, error)
        else:
            status = library.det_preempt_should_preempt_no_ack(self._view, error)
        if status < 0:
            if self._view is None:
                raise _not_started("should_preempt()")
            raise from_c(error)
        return bool(status == _abi.DET_PREEMPTED)

    def acknowledge_preemption_signal(self) -> None:
        """Tells the master that this process leaves unfinished and expects to be started again.
        Refused while nobody asked it to stop."""
        if self._view is None:
            raise _not_started("acknowledge_preemption_signal()")
        interruptible(lambda: call("det_preempt_acknowledge", self._view))

    def request(self) -> None:
        """Asks from inside the process, as a pause from outside would."""
        if self._view is None:
            raise _not_started("request()")
        status = library.det_preempt_request(self._view)
        if status < 0:
            raise StateError(
                "asking to preempt: the context is closed, or this rank cannot reach its chief",
                code=status,
            )


def _not_started(what: str) -> StateError:
    return StateError(
        f"cannot call preempt.{what} before the context was started: enter it with "
        "`with core.init() as context`, or call its start()",
        code=_abi.DET_E_STATE,
    )
