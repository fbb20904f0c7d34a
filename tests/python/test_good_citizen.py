"""A context among what else a process does: forks, other processes, threads, signals, Ctrl-C."""

from __future__ import annotations

import os
import pathlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from conftest import Det
from ctrl_c import press_when_it_waits
from detcore import core, errors
from detcore._owned import Owned
from experiments import wait_until
from programs import reports, run, start, trial

STEPS = {"steps_completed": 1}


@pytest.fixture
def silent_master() -> Iterator[str]:
    """Takes connections and says nothing."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def tried(context: core.Context) -> list[str]:
    """What each call raises in this process."""
    raised = []
    for call in (
        lambda: context.train.report_training_metrics(5, {"x": 5.0}),
        lambda: context.train.flush(),
        lambda: context.checkpoint.upload(".", STEPS),
        lambda: context.preempt.should_preempt(),
    ):
        try:
            call()
            raised.append("nothing")
        except errors.StateError as refused:
            assert "forked child" in str(refused), refused
            raised.append("StateError")
    context.close()
    return raised


def test_a_forked_child_may_not_report_and_does_not_close(det: Det) -> None:
    with core.init() as context:
        context.train.report_training_metrics(1, {"x": 1.0})
        child = os.fork()
        if child == 0:
            os._exit(0 if tried(context) == ["StateError"] * 4 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert trial(det)["state"] == "ACTIVE"
        context.train.report_training_metrics(2, {"x": 2.0})
    assert trial(det)["state"] == "COMPLETED"
    assert reports(det) == [("training", 1, {"x": 1.0}), ("training", 2, {"x": 2.0})]


@pytest.mark.parametrize("end", ["sys.exit(3)", "1 / 0", "del context", "os._exit(0)", "kill()"])
def test_a_forked_child_may_end_as_it_likes(det: Det, end: str) -> None:
    run(
        f"""
        import os, signal, sys, time
        from detcore import core
        def kill():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(30)
        with core.init() as context:
            child = os.fork()
            if child == 0:
                {end}
                sys.exit(0)
            os.waitpid(child, 0)
            context.train.report_training_metrics(1, {{"x": 1.0}})
            context.train.flush()
        """
        if end != "del context"
        else """
        import os, sys
        from detcore import core
        context = core.init().__enter__()
        child = os.fork()
        if child == 0:
            del context
            sys.exit(0)
        os.waitpid(child, 0)
        context.train.report_training_metrics(1, {"x": 1.0})
        context.close()
        """
    )
    assert trial(det)["state"] == "COMPLETED"
    assert reports(det) == [("training", 1, {"x": 1.0})]


def test_a_forked_child_starts_no_run_beside_that_of_its_parent(det: Det) -> None:
    """SQLite does not survive a fork, and the child would hang now and then."""
    with core.init() as context:
        child = os.fork()
        if child == 0:
            try:
                core.init()
            except errors.StateError as refused:
                os._exit(0 if "spawn" in str(refused) else 1)
            os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        context.train.report_training_metrics(1, {"x": 1.0})
    assert reports(det, 1) == [("training", 1, {"x": 1.0})]


def test_a_forked_child_starts_a_run_when_that_of_its_parent_is_over(det: Det) -> None:
    with core.init() as context:
        context.train.report_training_metrics(1, {"of": 1.0})
    child = os.fork()
    if child == 0:
        try:
            with core.init() as own:
                own.train.report_training_metrics(1, {"of": 2.0})
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert reports(det, 1) == [("training", 1, {"of": 1.0})]
    assert reports(det, 2) == [("training", 1, {"of": 2.0})]
    assert trial(det, 2)["state"] == "COMPLETED"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing_leave_the_run_alone(det: Det, method: str) -> None:
    run(
        """
        import multiprocessing, sys
        from detcore import core
        with core.init() as context:
            context.train.report_training_metrics(1, {"x": 1.0})
            with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
                assert pool.map(abs, [-1, -2, -3]) == [1, 2, 3]
            context.train.report_training_metrics(2, {"x": 2.0})
        """,
        method,
    )
    assert trial(det)["state"] == "COMPLETED"
    assert len(reports(det)) == 2


def test_workers_of_a_data_loader(det: Det) -> None:
    pytest.importorskip("torch.utils.data")
    run(
        """
        from torch.utils.data import DataLoader
        from detcore import core
        with core.init() as context:
            loader = DataLoader(list(range(8)), batch_size=2, num_workers=2)
            for step, batch in enumerate(loader):
                context.train.report_training_metrics(step, {"sum": batch.sum()})
                assert not context.preempt.should_preempt()
        """
    )
    assert trial(det)["state"] == "COMPLETED"
    assert [metrics["sum"] for _, _, metrics in reports(det)] == [1, 5, 9, 13]


def test_killed_with_nothing_lost(det: Det) -> None:
    with start(
        """
        from detcore import core
        context = core.init().__enter__()
        for step in range(1000):
            context.train.report_training_metrics(step, {"x": float(step)})
        print("reported", flush=True)
        input()
        """
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "reported\n"
        process.kill()
    det("sync")
    assert reports(det) == [("training", step, {"x": step}) for step in range(1000)]


def test_threads_share_a_context(det: Det, tmp_path: pathlib.Path) -> None:
    failures: list[BaseException] = []
    with core.init(config={"checkpoint_storage": {"save_trial_latest": 4}}) as context:

        def work(number: int) -> None:
            try:
                for step in range(20):
                    context.train.report_metrics(f"of{number}", step, {"x": step, "y": "text"})
                    assert not context.preempt.should_preempt()
                context.train.flush()
                (tmp_path / str(number)).mkdir()
                steps = {"steps_completed": number}
                context.checkpoint.upload(tmp_path / str(number), steps)
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(entry.steps_completed for entry in context.checkpoint.list()) == [0, 1, 2, 3]
    assert not failures and len(reports(det)) == 80


def test_closing_while_threads_report() -> None:
    """They are refused and nothing crashes."""
    refused = []
    context = core.init()
    context.start()

    def work() -> None:
        step = 0
        try:
            while True:
                step += 1
                context.train.report_metrics("g", step, {"x": 1.0})
        except errors.StateError:
            refused.append(step)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    context.close()
    for thread in threads:
        thread.join(30)
    assert len(refused) == 3


def test_a_process_may_end_while_a_thread_saves(det: Det, tmp_path: pathlib.Path) -> None:
    for name in range(2000):
        (tmp_path / str(name)).touch()
    run(
        """
        import sys, threading, time
        from detcore import core
        context = core.init().__enter__()
        begun = threading.Event()
        def select(path):
            begun.set()
            time.sleep(0.001)
            return True
        threading.Thread(
            target=context.checkpoint.upload,
            args=(sys.argv[1], {"steps_completed": 1}),
            kwargs={"selector": select},
            daemon=True,
        ).start()
        begun.wait()
        """,
        str(tmp_path),
    )
    assert trial(det)["state"] == "COMPLETED"


def test_ctrl_c_interrupts_a_start(silent_master: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        press_when_it_waits()
        core.init(master=silent_master)


def test_other_threads_run_while_a_call_waits(silent_master: str) -> None:
    counted = 0

    def count() -> None:
        nonlocal counted
        while not is_over.is_set():
            counted += 1
            time.sleep(0.001)

    is_over = threading.Event()
    counting = threading.Thread(target=count)
    counting.start()

    def blocked() -> None:
        with pytest.raises(errors.Error):
            core.init(master=silent_master)

    waiting = threading.Thread(target=blocked, daemon=True)
    waiting.start()
    time.sleep(0.2)  # it waits by now
    before = counted
    wait_until(lambda: counted > before + 20, "the other thread")
    assert waiting.is_alive()
    is_over.set()
    counting.join()


LOST = """
import os, signal, sys, time, traceback
sys.path[:0] = sys.argv[1:]
import servers
from ctrl_c import press_when_it_waits
from detcore import core
master = servers.Server("master", "--version", "0.38.1")
os.environ["DET_MASTER"] = f"http://127.0.0.1:{master.ports[0]}"
context = core.init(log_level="ERROR").__enter__()
master.process.send_signal(signal.SIGSTOP)
os.waitid(os.P_PID, master.process.pid, os.WSTOPPED | os.WNOWAIT)
context.train.report_training_metrics(1, {"x": 1.0})
calls = {
    "flush": lambda: context.train.flush(None),
    "metadata": context.train.get_metadata,
    "checkpoints": context.checkpoint.list,
    "close": context.close,
}
for name, call in calls.items():
    try:
        press_when_it_waits()
        call()
        time.sleep(900)
    except KeyboardInterrupt as raised:
        frames = traceback.extract_tb(raised.__traceback__)
        print(name, any(frame.name == "interruptible" for frame in frames), flush=True)
master.process.kill()
os._exit(0)
"""


def test_ctrl_c_interrupts_what_waits_for_a_master() -> None:
    folder = pathlib.Path(__file__).resolve().parent
    names = ("flush", "metadata", "checkpoints", "close")
    told = run(LOST, str(folder.parent), str(folder)).splitlines()
    assert [line for line in told if line.startswith(names)] == [f"{name} True" for name in names]


def test_a_run_in_a_generator_that_nobody_goes_on_with(det: Det) -> None:
    """It is left at the end of the interpreter, where no other thread goes on."""
    written = run(
        """
        from detcore import core
        def train():
            with core.init() as context:
                for operation in context.searcher.operations():
                    context.train.report_training_metrics(1, {"x": 1.0})
                    yield
        training = train()
        next(training)
        print("end")
        """
    )
    assert written == "end\n"
    assert trial(det)["state"] == "COMPLETED"
    assert reports(det) == [("training", 1, {"x": 1.0})]


def test_what_ctrl_c_leaves_of_a_start_is_released() -> None:
    """Also when it comes in the moment in which the call has answered."""

    class Interrupted(Owned):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)  # type: ignore[arg-type]
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("detcore.core._core.Owned", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            core.init(external_id="once")
    with core.init(external_id="once") as context:
        assert context.info.trial.trial_id == 1


def test_a_forked_child_may_leave_a_checkpoint_by_exit(det: Det) -> None:
    written = run(
        """
        import os, sys
        from detcore import core
        with core.init() as context:
            with context.checkpoint.store_path({"steps_completed": 1}) as (path, storage_id):
                (path / "model").write_text("1")
                child = os.fork()
                if child == 0:
                    sys.exit(0)
                assert os.waitpid(child, 0)[1] == 0
            print(len(context.checkpoint.list()))
        """
    )
    assert written == "1\n"
    assert trial(det)["state"] == "COMPLETED"
