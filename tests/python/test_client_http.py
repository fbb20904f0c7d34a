"""detcore.client on masters over HTTP, which tests/servers plays."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import detcore
import pytest
from conftest import ROOT
from detcore import client
from detcore.client import Client, TrialState


@contextmanager
def server(*arguments: str) -> Iterator[str]:
    """The address of a server, which ends with its standard input."""
    with subprocess.Popen(
        [sys.executable, str(ROOT / "tests/servers"), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin and process.stdout
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.stdin.close()


@pytest.fixture(autouse=True)
def own_config(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_default", None)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(store / "config"))


# Experiment, trial and checkpoint of each recording.
RECORDED = {
    "cli-0.38.1": (1, 1, "a6512fc7-9ee9-49f5-bccf-fccf317d25fb"),
    "cli-0.33.0": (3, 3, "b5142b29-6457-4b67-bafa-fb76943b88a8"),
    "cli-0.19.10": (8, 15, "e79dd798-ba96-4fa0-b181-4d02031f0440"),
}


@pytest.mark.parametrize("version", RECORDED)
def test_a_master_is_read_as_a_store_is(version: str, store: Path) -> None:
    (store / "made.jsonl").touch()
    answers = str(ROOT / "tests/data/wire" / version / "answers.jsonl")
    experiment_id, trial_id, checkpoint_id = RECORDED[version]
    played = "recorded_answers", answers, str(store / "made.jsonl")
    with server(*played) as master, Client(master, token="token") as reader:
        experiment = reader.get_experiment(experiment_id)
        assert experiment.name and experiment.config["searcher"]["name"]
        assert experiment_id in [one.id for one in reader.list_experiments(archived=None)]
        trial = reader.get_trial(trial_id)
        assert trial.state is not TrialState.UNSPECIFIED and trial.experiment_id == experiment_id
        assert trial.hparams == next(experiment.list_trials()).hparams
        names = trial.metric_names()["training"]
        series = trial.metrics(names[0])
        reports = [report.metrics[names[0]] for report in trial.iter_training_metrics()]
        assert series.values.tolist() == reports and len(reports) > 0
        assert isinstance(list(trial.iter_logs()), list)
        checkpoint = reader.get_checkpoint(checkpoint_id)
        assert checkpoint.metadata and checkpoint.resources and checkpoint.storage
        assert [one.state for one in trial.list_checkpoints()]
        with pytest.raises(NotImplementedError, match="det run"):
            reader.search_events(experiment_id, timeout=1)


def test_a_login_is_kept_until_the_logout() -> None:
    with server("login") as master:
        client.login(master, "bob", "hunter2")
        assert client.whoami()["username"] == client.get_session_username() == "bob"
        assert client.whoami()["admin"] is True
        with Client(master) as other:
            assert other.whoami()["username"] == "bob", "the login was kept"
        assert client.logout(master) == {"master": master, "username": "bob", "revoked": True}
        with pytest.raises(LookupError):
            client.logout(master)
        with pytest.raises(PermissionError) as refused:
            client.login(master, "bob", "wrong")
        assert isinstance(refused.value, detcore.Error)


def test_a_master_that_is_not_there() -> None:
    with server("login") as master:
        pass
    with pytest.raises(TimeoutError), Client(master, token="t", timeout=1) as reader:
        reader.get_experiment(1)
