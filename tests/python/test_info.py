"""What a process knows about its run: before it begins, and while it runs."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest
from conftest import Det
from detcore import ClusterInfo, TrialInfo, core, errors, get_cluster_info
from programs import lines

CONFIG = {
    "name": "informed",
    "searcher": {"name": "single", "metric": "loss", "max_length": 5},
    "hyperparameters": {"lr": 0.5, "optimizer": {"name": "adam"}},
    "data": {"set": "digits"},
    "debug": True,
}
CLUSTER = {
    "master_url": "http://10.0.0.1:8080",
    "cluster_id": "the-cluster",
    "agent_id": "the-agent",
    "slot_ids": [0, 3],
    "task_id": "1.aaaa",
    "allocation_id": "1.aaaa.1",
    "session_token": "secret",
    "task_type": "TRIAL",
    "master_cert_name": None,
    "master_cert_file": "noverify",
    "latest_checkpoint": "an-id",
    "of a later release": 1,
}
TRIAL = {
    "trial_id": 7,
    "experiment_id": 2,
    "trial_seed": 11,
    "hparams": {"lr": 0.5},
    "config": {"data": {"set": "digits"}, "debug": True},
    "steps_completed": 3,
    "trial_run_id": 4,
    "inter_node_network_interface": "eth0",
}
RENDEZVOUS = {
    "container_addrs": ["10.0.0.1", "10.0.0.2"],
    "container_rank": 1,
    "container_slot_counts": [2, 2],
}


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setenv("DET_INFO_DIR", str(tmp_path))
    return tmp_path


def write(folder: pathlib.Path, **files: Any) -> None:
    for name, facts in files.items():
        (folder / f"{name}.json").write_text(json.dumps(facts))


def informed() -> ClusterInfo:
    info = get_cluster_info()
    assert info is not None
    return info


def test_nobody_says_anything(folder: pathlib.Path) -> None:
    assert get_cluster_info() is None


def test_the_files_of_a_cluster(folder: pathlib.Path) -> None:
    resources = {"gpu_uuids": ["GPU-1"]}
    write(folder, cluster=CLUSTER, trial=TRIAL, rendezvous=RENDEZVOUS, resources=resources)
    info = informed()
    given = {name: getattr(info, name) for name in CLUSTER if name.isidentifier()}
    assert given == {name: value for name, value in CLUSTER.items() if name.isidentifier()}
    assert {name: getattr(info.trial, name) for name in TRIAL} == TRIAL
    assert {name: getattr(info, name) for name in RENDEZVOUS} == RENDEZVOUS
    assert info.trial.debug and info.user_data == {"set": "digits"}
    assert info.gpu_uuids == ["GPU-1"]
    assert "secret" not in repr(info) + repr(info.trial)


def test_other_tasks_have_no_trial(folder: pathlib.Path) -> None:
    write(folder, cluster={**CLUSTER, "task_type": "NOTEBOOK"})
    info = informed()
    with pytest.raises(RuntimeError, match="NOTEBOOK"):
        _ = info.trial
    assert info.latest_checkpoint is None and info.user_data == {}
    assert info.container_addrs == ["127.0.0.1"]
    assert (info.container_rank, info.container_slot_counts) == (0, [2])


@pytest.mark.parametrize("text", ["", "{", "[]", '{"session_token": "secret"'])
def test_a_file_that_is_half_written_is_named(folder: pathlib.Path, text: str) -> None:
    (folder / "cluster.json").write_text(text)
    with pytest.raises(errors.CorruptError, match=r"cluster\.json") as raised:
        get_cluster_info()
    assert "secret" not in str(raised.value)


def test_a_trial_that_is_not_told_is_named(folder: pathlib.Path) -> None:
    write(folder, cluster=CLUSTER)
    with pytest.raises(errors.CorruptError, match=r"trial\.json.*trial_id"):
        get_cluster_info()


def test_variables_that_are_no_json_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DET_ALLOCATION_ID", "1.aaaa.1")
    monkeypatch.setenv("DET_TASK_ID", "1.aaaa")
    monkeypatch.setenv("DET_SLOT_IDS", "one")
    with pytest.raises(errors.CorruptError, match="DET_SLOT_IDS"):
        get_cluster_info()


PROGRAM = """
import json, os, sys
import detcore
from detcore import core
for name in sys.argv[1:]:
    del os.environ[name]
def told(info):
    trial = info.trial
    return {"trial": vars(trial), "data": info.user_data, "task": info.task_type,
            "allocation": info.allocation_id, "latest": info.latest_checkpoint}
before = told(detcore.get_cluster_info())
with core.init() as context:
    print(json.dumps([before, told(context.info)]))
    for operation in context.searcher.operations():
        operation.report_completed(1.0)
"""


@pytest.mark.parametrize("missing", [(), ("DET_HPARAMS", "DET_EXPERIMENT_CONFIG")])
def test_a_trial_of_det_run_knows_the_same_before_and_while_it_runs(
    det: Det, tmp_path: pathlib.Path, missing: tuple[str, ...]
) -> None:
    """Also where the hyperparameters are too large for a variable."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "train.py").write_text(PROGRAM)
    det(
        *("run", str(tmp_path / "config.json"), "--"),
        *(sys.executable, str(tmp_path / "train.py"), *missing),
    )
    before, during = json.loads(lines(det("logs", "1", "--json"))[0]["text"])
    assert before == during
    assert during["trial"]["hparams"] == {"lr": 0.5, "optimizer": {"name": "adam"}}
    assert during["trial"]["debug"] is True
    assert during["data"] == {"set": "digits"}
    assert (during["task"], during["trial"]["trial_run_id"]) == ("TRIAL", 1)


def test_a_run_of_its_own_knows_itself() -> None:
    assert get_cluster_info() is None
    with core.init(hparams={"lr": 0.5}, config={"data": {"a": 1}}) as context:
        info = context.info
    assert isinstance(info, ClusterInfo) and isinstance(info.trial, TrialInfo)
    assert (info.trial.trial_id, info.trial.experiment_id, info.trial.trial_run_id) == (1, 1, 1)
    assert info.trial.hparams == {"lr": 0.5} and info.user_data == {"a": 1}
    assert info.task_type == "TRIAL" and info.latest_checkpoint is None


def test_it_is_imported_without_the_rest() -> None:
    """A program that only asks need not wait for what it does not use."""
    program = "import sys, detcore; detcore.get_cluster_info; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert "detcore.client" not in done.stdout.split()
