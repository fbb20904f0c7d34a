"""core.Context.preempt: being asked to stop, from outside and from inside."""

from __future__ import annotations

import os
import signal
import time

import pytest
from conftest import PATIENCE, Det
from detcore import core, errors
from programs import run, start, trial
from ranks import in_processes


def wait_until_asked(context: core.Context) -> None:
    end = time.monotonic() + PATIENCE
    while not context.preempt.should_preempt():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_nobody_asks() -> None:
    with core.init() as context:
        assert context.preempt.should_preempt() is False
        assert context.preempt.should_preempt(auto_ack=False) is False
        with pytest.raises(RuntimeError, match="none is pending"):
            context.preempt.acknowledge_preemption_signal()


def test_a_paused_trial_saves_and_leaves(det: Det) -> None:
    program = """
        from detcore import core
        with core.init() as context:
            print("ready", flush=True)
            while not context.preempt.should_preempt():
                pass
    """
    with start(program) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        det("pause", "1")
        assert process.wait(PATIENCE) == 0
    assert trial(det)["state"] == "PAUSED"


@pytest.mark.parametrize("acknowledged", [False, True])
def test_who_takes_no_notice_acknowledges_later(det: Det, acknowledged: bool) -> None:
    with core.init() as context:
        context.preempt.request()
        assert context.preempt.should_preempt(auto_ack=False) is True
        if acknowledged:
            context.preempt.acknowledge_preemption_signal()
            context.preempt.acknowledge_preemption_signal()
        assert context.preempt.should_preempt(auto_ack=False) is True
    assert trial(det)["runs"][0]["exit"] == ("preempted" if acknowledged else "ok")


def test_the_first_true_answer_acknowledges(det: Det) -> None:
    with core.init() as context:
        context.preempt.request()
        assert context.preempt.should_preempt() is True
        assert context.preempt.should_preempt() is True
    assert trial(det)["runs"][0]["exit"] == "preempted"


def test_a_signal_asks_and_python_handles_it_too() -> None:
    handled = []
    before = signal.signal(signal.SIGUSR2, lambda *_: handled.append(1))
    try:
        with core.init(preempt_signals=[signal.SIGUSR2]) as context:
            assert not context.preempt.should_preempt()
            os.kill(os.getpid(), signal.SIGUSR2)
            wait_until_asked(context)
        assert handled == [1]
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_workers_of_a_pool_end_when_they_are_told_to() -> None:
    program = """
        import multiprocessing, signal, time
        from detcore import core

        if __name__ == "__main__":
            context_of_forks = multiprocessing.get_context("fork")
            with core.init(preempt_signals=[signal.SIGTERM]) as context:
                with context_of_forks.Pool(2) as pool:
                    pool.map_async(time.sleep, [600, 600])
                    time.sleep(0.2)
                worker = context_of_forks.Process(target=time.sleep, args=(600,))
                worker.start()
                worker.terminate()
                worker.join(20)
                assert worker.exitcode == -signal.SIGTERM, worker.exitcode
                assert not context.preempt.should_preempt()
    """
    run(program)


def test_the_last_of_many_signals_ends_nobody() -> None:
    program = """
        import os, signal
        from detcore import core

        with core.init(preempt_signals=[signal.SIGTERM]) as context:
            os.kill(os.getpid(), signal.SIGTERM)
            while not context.preempt.should_preempt():
                pass
        for _ in range(50):
            os.kill(os.getpid(), signal.SIGTERM)
    """
    run(program)


def test_a_handler_of_python_may_ask() -> None:
    with core.init() as context:
        before = signal.signal(signal.SIGUSR2, lambda *_: context.preempt.request())
        try:
            signal.raise_signal(signal.SIGUSR2)
            wait_until_asked(context)
        finally:
            signal.signal(signal.SIGUSR2, before)


def test_not_before_the_start_and_not_after_the_end() -> None:
    context = core.init()
    calls = (
        context.preempt.should_preempt,
        context.preempt.request,
        context.preempt.acknowledge_preemption_signal,
    )
    for call in calls:
        with pytest.raises(RuntimeError, match=r"cannot call .*before .*start"):
            call()
    with context:
        pass
    for call in calls:
        with pytest.raises(errors.StateError, match="clos"):
            call()


@pytest.mark.parametrize("mode", core.PreemptMode)
def test_modes(mode: core.PreemptMode) -> None:
    for given in (mode, mode.value):
        with core.init(preempt_mode=given) as context:  # type: ignore[arg-type]
            assert not context.preempt.should_preempt()


def test_there_are_no_other_modes() -> None:
    values = ["WORKERS_ASK_CHIEF", "CHIEF_ONLY", "WORKERS_ASK_MASTER"]
    assert [mode.value for mode in core.PreemptMode] == values
    with pytest.raises(ValueError, match="PreemptMode"):
        core.init(preempt_mode="SOMEBODY")  # type: ignore[arg-type]


def told_by_the_chief(distributed: core.DistributedContext) -> list[bool]:
    with core.init(distributed=distributed) as context:
        answers = [context.preempt.should_preempt()]
        if distributed.rank == 0:
            context.preempt.request()
        end = time.monotonic() + PATIENCE
        while not answers[-1] and time.monotonic() < end:
            answers.append(context.preempt.should_preempt())
        return [answers[0], answers[-1]]


def test_ranks_hear_it_from_their_chief(det: Det) -> None:
    assert in_processes(told_by_the_chief, 2) == [[False, True]] * 2
    assert trial(det)["runs"][0]["exit"] == "preempted"
