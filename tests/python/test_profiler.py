"""The profiler, against what psutil and /proc say of the same machine at the same time."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pathlib
import signal
import socket
import sys
import textwrap
import time
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Det
from detcore import core
from detcore.core import DistributedContext
from experiments import wait_until
from profiled import sample_for, threads
from programs import Json, lines, run, start
from ranks import in_processes

AGENT = socket.gethostname()
FOLDER = str(pathlib.Path(__file__).parent)


def profile(det: Det, group: str, trial_id: int = 1) -> list[Json]:
    """What the reports of a group say of this machine."""
    reports = lines(det("metrics", str(trial_id), "-g", group, "--json"))
    assert all(each["steps_completed"] is None and each["time"] for each in reports)
    return [each["metrics"][AGENT] for each in reports]


def last(det: Det, group: str) -> Json:
    return profile(det, group)[-1]


def await_reports(det: Det, group: str, count: int = 1) -> list[Json]:
    while True:
        with contextlib.suppress(AssertionError):  # none yet
            found = profile(det, group)
            if len(found) >= count:
                return found
        time.sleep(0.05)


@contextlib.contextmanager
def burning() -> Iterator[int]:
    """A process that uses one CPU."""
    process = multiprocessing.get_context("fork").Process(target=burn, daemon=True)
    process.start()
    try:
        assert process.pid is not None
        yield process.pid
    finally:
        process.kill()
        process.join()


def burn() -> None:
    while True:
        pass


def test_every_group_is_reported(det: Det) -> None:
    with core.init() as context:
        context.profiler.on(0.1, 2)
        sample_for(0.5)
    assert 0 <= last(det, "cpu")["cpu_util_simple"] <= 100
    assert last(det, "memory")["memory_free"] > 0
    disk = last(det, "disk")
    assert disk["disk_iops"] >= 0 and 0 < disk["/"]["disk_util"] < 100
    assert set(last(det, "network")) == {"net_throughput_sent", "net_throughput_recv"}
    process = last(det, "process")
    assert process["processes"] >= 1 and process["memory_rss"] > 1 << 20
    table = det("metrics", "1", "-g", "memory")
    assert f"{AGENT}.memory_free" in table
    assert f"{AGENT}.memory_free" in det("metrics", "1", f"{AGENT}.memory_free", "--json")


def test_figures_are_those_of_psutil(det: Det) -> None:
    psutil = pytest.importorskip("psutil")
    with burning() as burner, core.init() as context:
        context.profiler.on(0.1, 1000)
        sample_for(0)
        times, network = psutil.cpu_times(), psutil.net_io_counters()
        own = sum(psutil.Process(burner).cpu_times()[:2])
        begin = time.monotonic()
        free = []
        with socket.create_server(("127.0.0.1", 0)) as server:
            client = socket.create_connection(server.getsockname())
            taken, _ = server.accept()
            while time.monotonic() - begin < 2:
                client.sendall(bytes(100_000))
                left = 100_000
                while left:
                    left -= len(taken.recv(left))
                free.append(psutil.virtual_memory().available)
                time.sleep(0.01)
        seconds = time.monotonic() - begin
        after, later = psutil.cpu_times(), psutil.net_io_counters()
        used = sum(psutil.Process(burner).cpu_times()[:2]) - own
        context.profiler.off()
        client.close()
        taken.close()
    idle = after.idle + after.iowait - times.idle - times.iowait
    all_time = sum(after[:8]) - sum(times[:8])
    # A container with a limit has figures of its own, which fixtures show.
    if not limited():
        assert last(det, "cpu")["cpu_util_simple"] == pytest.approx(
            100 * (1 - idle / all_time), abs=15
        )
        assert 0.9 * min(free) <= last(det, "memory")["memory_free"] <= 1.1 * max(free)
    received = (later.bytes_recv - network.bytes_recv) / seconds
    assert last(det, "network")["net_throughput_recv"] == pytest.approx(received, rel=0.3)
    assert last(det, "disk")["/"]["disk_util"] == pytest.approx(
        psutil.disk_usage("/").percent, abs=1
    )
    assert last(det, "process")["cpu_util"] >= 0.6 * 100 * used / seconds
    assert last(det, "process")["processes"] >= 2


def limited() -> bool:
    for name in ("cpu.max", "cpu/cpu.cfs_quota_us", "memory.max", "memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError):
            text = pathlib.Path("/sys/fs/cgroup", name).read_text()
            if not text.startswith(("max", "-1", "9223372036854")):
                return True
    return len(os.sched_getaffinity(0)) != os.cpu_count()


def test_closing_reports_the_rest_and_off_ends_the_threads(det: Det) -> None:
    with core.init() as context:
        before = threads().keys()
        context.profiler.off()
        context.profiler.on(3600)
        assert "det-profiler" in threads()
        sample_for(0.2)
        context.profiler.on(0, 0)  # already on, it looks at nothing
        context.profiler.off()
        # One that was joined may be among them for a moment still.
        wait_until(lambda: threads().keys() == before, "the end of the thread")
        context.profiler.on(0.1, 1000)
        sample_for(0.3)
    assert len(profile(det, "memory")) == 2


@pytest.mark.parametrize(
    ("interval", "samples", "named"),
    [
        (0.05, 10, "sampling_interval is 0.05"),
        (0, 0, "sampling_interval"),
        (float("nan"), 10, "sampling_interval"),
        (1, 0, "samples_per_report is 0"),
        (1, 2.0, "samples_per_report is 2.0"),
        (1, 2**40, "samples_per_report is 1099511627776"),
    ],
)
def test_wrong_arguments(interval: Any, samples: Any, named: str) -> None:
    with core.init() as context:
        with pytest.raises(ValueError, match=named):
            context.profiler.on(interval, samples)
        with pytest.raises(TypeError):
            context.profiler.on("1")  # type: ignore[arg-type]
        context.profiler.on()
        context.profiler.on(interval, samples)  # already on, it looks at nothing


def on_each_rank(context: DistributedContext) -> Any:
    with core.init(distributed=context) as run:
        run.profiler.on()
        return "det-profiler" in threads()


def test_only_the_first_rank_of_a_machine_samples() -> None:
    assert in_processes(on_each_rank, 2) == [True, False]


def test_a_configuration_switches_it_on(det: Det) -> None:
    with core.init(config={"profiling": {"enabled": True}}):
        assert "det-profiler" in threads()
        sample_for(0.2)
    assert len(profile(det, "cpu")) == 1


def test_det_run_switches_it_on(det: Det, tmp_path: pathlib.Path) -> None:
    config = tmp_path / "experiment.json"
    config.write_text(
        json.dumps(
            {
                "name": "profiled",
                "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 1}},
                "checkpoint_storage": {"type": "shared_fs", "host_path": str(tmp_path)},
                "resources": {"slots_per_trial": 0},
            }
        )
    )
    program = f"""
        import sys
        sys.path.insert(0, {FOLDER!r})
        from detcore import core
        from profiled import sample_for
        with core.init() as context:
            for operation in context.searcher.operations():
                sample_for(0.3)
                operation.report_completed(0.5)
    """
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(program))
    det("run", "--profile", str(config), "--", sys.executable, str(script))
    assert last(det, "process")["processes"] >= 1


def test_a_kill_loses_the_last_report_alone(det: Det) -> None:
    process = start(
        """
        import time
        from detcore import core
        with core.init() as context:
            context.profiler.on(0.1, 1)
            time.sleep(60)
        """
    )
    found = await_reports(det, "memory", 3)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with core.init():  # what is left of others is delivered then
        pass
    assert len(profile(det, "memory")) >= len(found)


def test_a_later_run_keeps_what_was_measured(det: Det) -> None:
    counts = []
    for _ in range(2):
        with core.init(external_id="mine") as context:
            context.profiler.on(0.1, 1)
            context.train.report_training_metrics(1, {"loss": 0.5})
            context.train.report_metrics("own", 1, {"x": 1})
            sample_for(0.3)
        counts.append(len(profile(det, "memory")))
    assert 0 < counts[0] < counts[1]


def test_a_forked_child_leaves_it_alone(det: Det) -> None:
    run(
        f"""
        import os, sys
        sys.path.insert(0, {FOLDER!r})
        from detcore import core
        from profiled import sample_for
        from detcore.errors import StateError
        with core.init() as context:
            context.profiler.on(0.1, 1)
            child = os.fork()
            if child == 0:
                try:
                    context.profiler.off()
                except StateError:
                    os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            sample_for(0.3)
        """
    )
    assert last(det, "memory")
