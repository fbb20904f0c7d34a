"""Calls C so that Ctrl-C ends the wait.

Python runs signal handlers on the main thread, between two of its instructions. While that thread
is inside a call of the library, Ctrl-C does nothing. So another thread makes the slow call, and the
main thread waits for it. A signal does interrupt that wait. The call then continues to its end, and
keeps alive all that it needs.
"""

from __future__ import annotations

import os
import sys
import threading
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


def interruptible(work: Callable[[], Answer]) -> Answer:
    """Returns or raises the result of `work()`. On the main thread it costs some 15 us.

    `work` must hold a reference to everything it uses. If it makes something that must be released,
    it returns an owner, such as an Owned. After an interrupt nobody else has it.
    """
    if _stay or threading.current_thread() is not threading.main_thread() or sys.is_finalizing():
        return work()  # at the end of the interpreter no other thread continues
    try:
        worker = _idle.pop() if _idle else _Worker()
    except RuntimeError:  # no thread can start
        return work()
    job = _Job(work)
    worker.begin(job)
    # Wakes at intervals: a signal that comes just before a wait begins does not end the wait.
    while not job.done.acquire(timeout=0.2):
        pass
    _idle.append(worker)
    return job.answer()


def stay_on_this_thread() -> None:
    """Makes all later calls stay on their thread, because an MPI only allows the main thread.

    Ctrl-C then waits for the end of a call.
    """
    global _stay
    _stay = True


class _Job(Generic[Answer]):
    def __init__(self, work: Callable[[], Answer]) -> None:
        self.done = allocate_lock()
        self.done.acquire()
        self._work = work
        self._answers: list[Answer] = []
        self._failure: BaseException | None = None

    def run(self) -> None:
        try:
            self._answers.append(self._work())
        except BaseException as failure:  # raised in the thread that waits for the answer
            self._failure = failure
        self.done.release()

    def answer(self) -> Answer:
        if self._failure is not None:
            try:
                raise self._failure
            finally:
                self._failure = None  # it refers to the frame that refers to this
        return self._answers.pop()


class _Worker:
    """A thread that waits for the next job. It is never joined."""

    def __init__(self) -> None:
        self._ready = allocate_lock()
        self._ready.acquire()
        self._jobs: list[_Job[object]] = []
        start_new_thread(self._serve, ())

    def begin(self, job: _Job[Answer]) -> None:
        self._jobs.append(job)  # type: ignore[arg-type]
        self._ready.release()

    def _serve(self) -> None:
        while True:
            self._ready.acquire()
            self._jobs.pop().run()


_stay = False
_idle: list[_Worker] = []
os.register_at_fork(after_in_child=_idle.clear)
