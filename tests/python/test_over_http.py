"""The same calls with a master over HTTP: in a trial of its cluster, and in one on its own."""

from __future__ import annotations

import json
import math
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import PATIENCE
from detcore import InvalidHP, core
from profiled import sample_for
from programs import lines, run

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

servers: Any = __import__("servers")


@pytest.fixture(params=["0.33.0", "0.38.1"])
def master(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[Any]:
    server = servers.Server("master", "--version", request.param)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def cluster(master: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process is a trial that the master's cluster has started."""
    facts = {
        "MASTER": f"http://127.0.0.1:{master.ports[0]}",
        "CLUSTER_ID": "cluster",
        "AGENT_ID": "agent",
        "SLOT_IDS": "[0]",
        "TASK_ID": "1.aaaa",
        "ALLOCATION_ID": "1.aaaa.1",
        "SESSION_TOKEN": "task-token",
        "TASK_TYPE": "TRIAL",
        "RESOURCES_ID": "cccc",
        "TRIAL_ID": "7",
        "EXPERIMENT_ID": "1",
        "TRIAL_SEED": "3",
        "TRIAL_RUN_ID": "1",
        "STEPS_COMPLETED": "0",
        "HPARAMS": '{"lr": 0.5}',
        "EXPERIMENT_CONFIG": json.dumps(
            {
                "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 100}},
                "checkpoint_storage": {"type": "directory", "container_path": str(tmp_path)},
            }
        ),
    }
    for name, value in facts.items():
        monkeypatch.setenv("DET_" + name, value)


def state(master: Any) -> Any:
    return master.control("GET", "state")


def test_a_trial_of_a_cluster(master: Any, cluster: None, tmp_path: pathlib.Path) -> None:
    with core.init() as context:
        assert context.info.trial.trial_id == 7 and context.info.trial.hparams == {"lr": 0.5}
        assert context.info.agent_id == "agent" and context.info.slot_ids == [0]
        context.train.report_training_metrics(1, {"loss": 0.5, "bad": math.nan, "name": "x"})
        context.train.report_validation_metrics(1, {"loss": 0.25})
        with context.checkpoint.store_path({"steps_completed": 1}) as (path, storage_id):
            (path / "model").write_text("weights")
        assert context.checkpoint.get_metadata(storage_id)["steps_completed"] == 1
        assert (tmp_path / storage_id / "model").exists()
        for operation in context.searcher.operations():
            assert operation.length == 100
            operation.report_completed(0.25)
    rows = [(row["group"], row["step"], row["values"]) for row in state(master)["metrics"]]
    rows.sort(key=lambda row: row[0])  # reports of two groups may overtake each other
    assert rows == [
        ("training", 1, {"loss": 0.5, "bad": "NaN", "name": "x"}),
        ("validation", 1, {"loss": 0.25}),
    ]


def test_a_cluster_asks_to_stop(master: Any, cluster: None) -> None:
    with core.init() as context:
        assert not context.preempt.should_preempt()
        master.control("POST", "preempt", {})
        while not context.preempt.should_preempt():
            pass
    paths = [request["path"] for request in master.control("GET", "requests")]
    assert sum("ack_preemption" in path for path in paths) == 1


def test_invalid_hyperparameters_are_told(master: Any, cluster: None) -> None:
    with pytest.raises(SystemExit) as caught, core.init():
        raise InvalidHP("too large")
    assert caught.value.code == 0
    paths = [request["path"] for request in master.control("GET", "requests")]
    assert sum(path.endswith("early_exit") for path in paths) == 1


@pytest.mark.parametrize(
    ("end", "status", "ended"), [("pass", 0, "COMPLETED"), ("1/0", 1, "ERROR")]
)
def test_a_trial_on_its_own(master: Any, end: str, status: int, ended: str) -> None:
    run(
        f"""
        import sys
        from detcore import core
        with core.init(master=sys.argv[1], external_id="mine") as context:
            context.train.report_training_metrics(1, {{"loss": 0.5}})
            {end}
        """,
        f"http://127.0.0.1:{master.ports[0]}",
        status=status,
    )
    now = state(master)
    (trial,) = [one for one in now["trials"].values() if one["task_id"] != "1.aaaa"]
    assert trial["state"] == f"STATE_{ended}"
    assert [row["values"] for row in now["metrics"]] == [{"loss": 0.5}]


def test_the_profiler(master: Any, cluster: None) -> None:
    with core.init() as context:
        context.profiler.on(0.1, 1000)
        sample_for(0.3)
    rows = state(master)["metrics"]
    assert all(row["step"] is None and set(row["values"]) == {"agent"} for row in rows)
    groups = [row["group"] for row in rows]
    assert sorted(set(groups) - {"gpu"}) == ["cpu", "disk", "memory", "network"]
    # What masters do not know is in the row of its sample, beside what they list.
    of_cpu = [row["values"]["agent"] for row in rows if row["group"] == "cpu"]
    assert any("cpu_util_simple" in values and values.get("process") for values in of_cpu)


def read_by_det(master: Any, *arguments: str) -> str:
    """What `det` says of a trial, to somebody who is no part of it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DET_")}
    environment |= {"DET_MASTER": f"http://127.0.0.1:{master.ports[0]}"}
    environment |= {"DET_USER": "determined", "DET_USER_TOKEN": "user-token"}
    done = subprocess.run(
        [os.environ["DETCORE_COMMAND"], *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif("FAKE_NVML_DIRECTORY" not in os.environ, reason="run by meson test")
def test_what_the_profiler_measured_is_read_back(
    master: Any, cluster: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [os.environ["FAKE_NVML_DIRECTORY"], os.environ.get("LD_LIBRARY_PATH", "")]
    monkeypatch.setenv("LD_LIBRARY_PATH", os.pathsep.join(paths))
    monkeypatch.setenv("FAKE_NVML", "gpus=2")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    run(
        f"""
        import sys
        sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
        from detcore import core
        from profiled import sample_for
        with core.init() as context:
            context.profiler.on(0.1, 1000)
            sample_for(0.3)
            context.train.report_training_metrics(1, {{"loss": 0.5}})
        """
    )
    gpus = [f"GPU-00000000-0000-0000-0000-{i:012}" for i in range(2)]
    (sent,) = [row for row in state(master)["metrics"] if row["group"] == "gpu"]
    assert sent["step"] is None and set(sent["values"]["agent"]) == set(gpus)
    (row,) = [row for row in state(master)["metrics"] if row["group"] == "cpu"]
    (cpu,) = lines(read_by_det(master, "metrics", "7", "-g", "cpu", "--json"))
    used = row["values"]["agent"]["cpu_util_simple"]
    assert cpu["metrics"] == {"agent": {"cpu_util_simple": used}}
    (read,) = lines(read_by_det(master, "metrics", "7", "-g", "gpu", "--json"))
    assert read["group"] == "gpu" and read["steps_completed"] is None and read["time"]
    assert read["metrics"] == sent["values"]
    for i, gpu in enumerate(gpus):
        of_gpu = read["metrics"]["agent"][gpu]
        assert of_gpu["gpu_util"] == 40 + i and of_gpu["gpu_free_memory"] == (77 - i) << 30
    curves = list(
        lines(read_by_det(master, "plot", "7", "gpu.gpu_util", "loss", "-x", "time", "--json"))
    )
    drawn = {(curve["group"], curve["metric"]): curve["points"][-1][1] for curve in curves}
    assert drawn.pop(("training", "loss")) == 0.5
    assert drawn == {("gpu", f"agent.{gpu}.gpu_util"): 40 + i for i, gpu in enumerate(gpus)}

    events = json.loads(read_by_det(master, "trace", "7"))["traceEvents"]
    counters = {event["name"] for event in events if event["ph"] == "C"}
    assert counters >= {
        "training loss",
        "cpu agent cpu_util_simple",
        "disk agent disk_iops",
        *(f"gpu agent {gpu} gpu_util" for gpu in gpus),
    }


def test_sums_of_regions(master: Any, cluster: None) -> None:
    with core.init() as context, context.train.region("step"), context.train.region("forward"):
        time.sleep(0.01)
    (row,) = state(master)["metrics"]
    assert row["group"] == "cpu"
    assert row["step"] is None
    assert row["values"].keys() == {"step", "step/forward", "detcore"}
    assert row["values"]["step/forward"]["regions"]["seconds"] >= 0.01
