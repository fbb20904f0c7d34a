"""Asks if the run should stop: after a pause, a cancel, or a notice from a scheduler."""

from __future__ import annotations

import ctypes
import enum
from typing import TYPE_CHECKING, Any

from detcore import _abi
from detcore._capi import library, new_error
from detcore._interruptible import interruptible
from detcore.core._job import failure_of
from detcore.errors import StateError

if TYPE_CHECKING:
    from detcore.core._core import Core


class PreemptMode(enum.Enum):
    """Says which ranks call should_preempt(), and which one decides."""

    #: All ranks call it in step. The chief decides for all.
    WorkersAskChief = "WORKERS_ASK_CHIEF"
    #: Only the chief calls it.
    ChiefOnly = "CHIEF_ONLY"
    #: Each rank asks for itself. Their answers may differ in time.
    WorkersAskMaster = "WORKERS_ASK_MASTER"


class PreemptContext:
    """Asks if this run should stop now: `context.preempt`."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._view = ctypes.c_void_p()
        self._look = library.unconverted("det_preempt_should_preempt_no_ack")
        self._errors: list[Any] = []  # a call takes one and gives it back
        self._is_alone = library.det_distributed_size(core.view("distributed")) == 1
        self._is_acknowledged = False

    def _start(self) -> None:
        self._view.value = self._core.view("preempt")

    def should_preempt(self, auto_ack: bool = True) -> bool:
        """Returns True if the run should stop now. Then save a checkpoint and leave.

        It is cheap enough for every batch. In a job of several ranks the preempt mode of
        core.init() says which ranks call it. Once the answer is True, it stays True.

        Args:
            auto_ack: True: the first True also tells the master that this process leaves unfinished
                and should be started again. False: call acknowledge_preemption_signal() before you
                leave.
        """
        if not self._is_alone:
            return self._ask(auto_ack)
        try:
            argument, error = errors = self._errors.pop()
        except IndexError:
            argument, error = errors = new_error()
        status = self._look(self._view, argument)
        if status < 0:
            raise self._failure("should_preempt()", error)
        self._errors.append(errors)
        if status == _abi.DET_PREEMPTED and auto_ack and not self._is_acknowledged:
            return interruptible(lambda: self._ask(auto_ack))
        return bool(status)

    def _ask(self, auto_ack: bool) -> bool:
        """Asks the chief or the master. This is the slow way: it may wait, and it handles
        signals."""
        name = "det_preempt_should_preempt" + ("" if auto_ack else "_no_ack")
        argument, error = new_error()
        status: int = getattr(library, name)(self._view, argument)
        if status < 0:
            raise self._failure("should_preempt()", error)
        self._is_acknowledged = auto_ack and status == _abi.DET_PREEMPTED
        return bool(status)

    def acknowledge_preemption_signal(self) -> None:
        """Tells the master that this process leaves unfinished and should be started again.

        One rank is enough. It blocks for one request.

        Raises:
            StateError: Nobody has asked the run to stop.
        """
        interruptible(
            lambda: self._call("acknowledge_preemption_signal()", "det_preempt_acknowledge")
        )

    def request(self) -> None:
        """Asks this run to stop, from inside the process. The effect is that of a pause from
        outside.

        It does not block. Any rank may call it.
        """
        status = library.det_preempt_request(self._view)
        if status < 0:
            _, error = new_error()
            error.code = status
            error.message = (
                b"asking to preempt: the context is closed, or this rank cannot reach its chief"
            )
            raise self._failure("request()", error)

    def _call(self, what: str, name: str) -> None:
        argument, error = new_error()
        if getattr(library, name)(self._view, argument) < 0:
            raise self._failure(what, error)

    def _failure(self, what: str, error: _abi.det_error) -> BaseException:
        if self._view:
            return failure_of(error)
        return StateError(
            f"cannot call preempt.{what} before the context was started: enter it with "
            "`with core.init() as context`, or call its start()",
            code=_abi.DET_E_STATE,
        )
