"""Waiting for a call so that Ctrl-C ends the wait."""

from __future__ import annotations

import os
import signal
import threading
from functools import partial

import pytest
from conftest import PATIENCE
from detcore._interruptible import interruptible


def interrupt_who_waits() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_answers_and_exceptions_come_back() -> None:
    failure = ValueError("of the work")

    def fail() -> None:
        raise failure

    for number in range(3):
        assert interruptible(partial(abs, -number)) == number
        with pytest.raises(ValueError) as raised:
            interruptible(fail)
        assert raised.value is failure


def test_only_the_main_thread_hands_its_work_over() -> None:
    main, seen = threading.get_ident(), []
    assert interruptible(threading.get_ident) != main

    def elsewhere() -> None:
        seen.append(interruptible(threading.get_ident) == threading.get_ident())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [True]


def test_work_may_wait_for_other_work() -> None:
    assert interruptible(lambda: interruptible(lambda: 5)) == 5


def test_what_nobody_takes_is_released_and_the_next_call_goes_well() -> None:
    is_free, released = threading.Event(), threading.Event()

    class Owner:
        def __del__(self) -> None:
            released.set()

    def work() -> Owner:
        interrupt_who_waits()
        assert is_free.wait(PATIENCE)
        return Owner()

    with pytest.raises(KeyboardInterrupt):
        interruptible(work)
    assert interruptible(lambda: "meanwhile") == "meanwhile"
    assert not released.is_set()
    is_free.set()
    assert released.wait(PATIENCE)


def test_a_failure_that_nobody_takes_is_forgotten() -> None:
    is_free = threading.Event()

    def work() -> None:
        interrupt_who_waits()
        assert is_free.wait(PATIENCE)
        raise ValueError

    with pytest.raises(KeyboardInterrupt):
        interruptible(work)
    is_free.set()
    assert interruptible(lambda: 1) == 1


def test_handlers_of_other_signals_run_and_the_wait_goes_on() -> None:
    handled, is_free = [], threading.Event()

    def handle(*_: object) -> None:
        handled.append(threading.current_thread() is threading.main_thread())
        is_free.set()

    before = signal.signal(signal.SIGUSR2, handle)
    try:
        threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGUSR2]).start()
        assert interruptible(lambda: is_free.wait(PATIENCE))
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert handled == [True]


def test_a_forked_child_has_threads_of_its_own() -> None:
    assert interruptible(lambda: 1) == 1
    child = os.fork()
    if child == 0:
        os._exit(0 if interruptible(lambda: 2) == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
