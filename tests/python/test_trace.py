"""`det trace`, read by the rules of the Trace Event format, and the sums that are reported."""

from __future__ import annotations

import json
import pathlib
import signal
import threading
import time
from collections import defaultdict
from typing import Any

import numpy
from conftest import Det
from detcore import core
from programs import lines, reports, start
from ranks import in_threads

Event = dict[str, Any]


def check_balanced(slices: list[Event]) -> None:
    """Those of one thread are within each other or apart."""
    open_until: list[float] = []
    for each in sorted(slices, key=lambda event: (event["ts"], -event["dur"])):
        end = round(each["ts"] + each["dur"], 3)
        while open_until and open_until[-1] <= each["ts"]:
            open_until.pop()
        assert not open_until or end <= open_until[-1], each
        open_until.append(end)


def read_trace(text: str) -> list[Event]:
    """The events, once they are what the format allows."""
    events: list[Event] = json.loads(text)["traceEvents"]
    named = {event["pid"] for event in events if event["name"] == "process_name"}
    by_thread = defaultdict(list)
    for event in events:
        assert event["ph"] in {"M", "X", "C"}
        assert type(event["pid"]) is int
        assert type(event["tid"]) is int
        assert type(event["name"]) is str
        assert event["pid"] in named
        if event["ph"] == "M":
            assert event["args"].keys() <= {"name", "sort_index"}
            continue
        assert event["ts"] >= 0
        if event["ph"] == "C":
            assert all(type(value) in (int, float) for value in event["args"].values())
        else:
            assert event["dur"] >= 0
            by_thread[event["pid"], event["tid"]].append(event)
    for slices in by_thread.values():
        check_balanced(slices)
    return events


def names(events: list[Event], phase: str) -> list[str]:
    return [event["name"] for event in events if event["ph"] == phase]


def sums(det: Det) -> dict[str, Any]:
    """Of the last report; by path."""
    reported = lines(det("metrics", "1", "-g", "regions", "--json"))
    assert all(report["steps_completed"] is None for report in reported)
    found: dict[str, Any] = reported[-1]["metrics"]
    return found


def test_sums_are_reported_at_the_end(det: Det) -> None:
    with core.init() as context:
        train = context.train
        for _ in range(3):
            with train.region("step"):
                with train.region("data"):
                    time.sleep(0.002)
                with train.region("forward"):
                    time.sleep(0.02)
        train.report_training_metrics(3, {"loss": 0.5})
        train.flush()
    found = sums(det)
    assert found.keys() == {"step", "step/data", "step/forward", "detcore"}
    assert {path: found[path]["count"] for path in found if path != "detcore"} == {
        "step": 3,
        "step/data": 3,
        "step/forward": 3,
    }
    assert found["step/forward"]["seconds"] >= 0.06
    assert found["step/data"]["seconds"] >= 0.006
    within = found["step/forward"]["seconds"] + found["step/data"]["seconds"]
    assert within <= found["step"]["seconds"]
    assert 0 < found["step/data"]["share"] < found["step"]["share"] <= 1
    assert found["detcore"]["count"] > 0


def test_what_is_added_to_tensorboard_counts_as_the_librarys(det: Det) -> None:
    with core.init() as context:
        board = context.tensorboard
        with context.train.region("step"):
            board.add_histogram("weights", list(range(100_000)), 1)
            board.add_text("notes", "text", 1)
            board.add_image("samples", numpy.zeros((3, 2, 2), numpy.uint8), 1)
            for step in range(640):
                board.add_scalar("loss", 0.5, step)
            board.flush()
    library = sums(det)["detcore"]
    assert library["count"] == 4 + 640
    assert library["seconds"] > 0


def test_a_trial_without_regions_reports_none(det: Det) -> None:
    with core.init() as context:
        context.train.report_training_metrics(3, {"loss": 0.5})
    assert [group for group, _, _ in reports(det)] == ["training"]
    events = read_trace(det("trace", "1"))
    assert names(events, "C") == ["training loss"]
    assert names(events, "X") == []


def test_a_trace_has_threads_slices_and_counters(det: Det, tmp_path: pathlib.Path) -> None:
    with core.init() as context:
        train = context.train

        def load() -> None:
            with train.region("load"), train.region("decode"):
                pass

        with train.region("step"), train.region("forward"):
            loader = threading.Thread(target=load)
            loader.start()
            loader.join()
        train.report_training_metrics(3, {"loss": 0.5, "bad": float("nan"), "note": "text"})
        train.flush()
    events = read_trace(det("trace", "1"))
    assert sorted(set(names(events, "X"))) == ["decode", "detcore", "forward", "load", "step"]
    threads = {event["name"]: event["tid"] for event in events if event["ph"] == "X"}
    assert threads["load"] == threads["decode"] != threads["step"] == threads["forward"]
    assert names(events, "C") == ["training loss"]
    assert {"process_name", "thread_name"} <= set(names(events, "M"))

    file = tmp_path / "trace.json"
    assert str(file) in det("trace", "1", "-o", str(file))
    assert read_trace(file.read_text()) == events
    assert "no trial 7" in det("trace", "7", status=3)


def test_a_killed_program_leaves_its_trace(det: Det) -> None:
    program = """
        import signal
        from detcore import core
        context = core.init().__enter__()
        train = context.train
        for _ in range(1_000):  # few enough that none is too old for the trace
            with train.region("step"):
                with train.region("forward"):
                    pass
                with train.region("backward"):
                    print("on", flush=True)
        signal.pause()
        """
    with start(program) as process:
        assert process.stdout is not None
        for _ in range(20):
            assert process.stdout.readline() == "on\n"
        running = read_trace(det("trace", "1"))
        assert names(running, "X").count("step") >= 19
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    events = read_trace(det("trace", "1"))
    assert names(events, "X").count("forward") >= names(running, "X").count("forward")


def test_what_is_too_old_stands_as_sums(det: Det) -> None:
    with core.init() as context:
        step = context.train.region("step")
        for _ in range(20_000):
            with step:
                pass
    events = read_trace(det("trace", "1"))
    assert names(events, "X").count("step") == 16_383
    (thread,) = (event for event in events if event["name"] == "thread_name")
    assert "without its first 3617 regions" in thread["args"]["name"]


def test_sums_stand_for_what_no_file_has(det: Det) -> None:
    whole = {"seconds": 2.0, "count": 4, "share": 0.25}
    part = {"seconds": 1.5, "count": 4, "share": 0.1875}
    with core.init() as context:
        report = context.train.report_metrics
        report("regions", 1, {"rank 3": {"step": whole, "step/forward": part, "other": whole}})
    slices = [event for event in read_trace(det("trace", "1")) if event["ph"] == "X"]
    lengths = defaultdict(list)
    for each in slices:
        lengths[each["pid"]].append((each["name"], each["dur"]))
    assert list(lengths.values()) == [
        [("other", 2e6), ("step", 2e6), ("forward", 1.5e6)],
    ]


def test_each_rank_is_a_process(det: Det) -> None:
    def work(distributed: core.DistributedContext) -> None:
        with core.init(distributed=distributed) as context, context.train.region("step"):
            pass

    assert in_threads(work, 1, 2) == [None, None]
    reported = lines(det("metrics", "1", "-g", "regions", "--json"))
    assert sorted(rank for report in reported for rank in report["metrics"]) == ["rank 0", "rank 1"]
    events = read_trace(det("trace", "1"))
    steps = [event["pid"] for event in events if event["name"] == "step"]
    assert len(steps) == len(set(steps)) == 2


def test_a_deleted_experiment_leaves_no_trace(det: Det, store: pathlib.Path) -> None:
    with core.init() as context, context.train.region("step"):
        pass
    assert list(store.rglob("*.trace"))
    det("rm", "1", "-y")
    assert not list(store.rglob("*.trace"))


def test_a_damaged_trace_hides_no_other(det: Det, store: pathlib.Path) -> None:
    for trial_id in (None, 1):
        with core.init(trial_id=trial_id) as context, context.train.region("step"):
            pass
    damaged, _ = sorted(store.rglob("*.trace"))
    damaged.write_bytes(b"nothing")
    events = read_trace(det("trace", "1"))
    assert names(events, "X").count("step") >= 1
    assert any("damaged" in str(event.get("args")) for event in events)
