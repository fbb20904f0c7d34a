"""examples/python: the searches that programs of their own decide."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

from conftest import PATIENCE, ROOT
from detcore.client import Client
from experiments import wait_until


def run(example: str, store: Path) -> str:
    command = [sys.executable, str(ROOT / "examples/python" / example), str(store / "search")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_optuna(store: Path) -> None:
    said = run("search_optuna.py", store)
    assert len(re.findall("^ ?[0-9]+ (COMPLETE|PRUNED)", said, re.MULTILINE)) == 10, said
    with Client() as client:
        best = client.get_experiment(1).best_trial()
        assert best is not None and best.trial.best_metric is not None
        assert best.trial.best_metric < 0.2


def test_population_based_training(store: Path) -> None:
    """Also when it is interrupted."""
    command = [sys.executable, str(ROOT / "examples/python/pbt.py"), str(store / "search")]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until((store / "search" / "current.json").exists, "the first decision")
    first.send_signal(signal.SIGINT)
    assert first.wait(PATIENCE) == -signal.SIGINT
    said = run("pbt.py", store)
    assert len(re.findall(r"0\.\d+", said.splitlines()[-1])) == 3, said
    with Client() as client:
        (experiment,) = client.list_experiments()
        trials = list(experiment.list_trials())
        checkpoints = {one.uuid: one for one in client.list_checkpoints()}
    assert experiment.state == "COMPLETED" and len(trials) == 8
    sources = [trial.hparams["source"] for trial in trials if trial.hparams["source"] is not None]
    assert len(sources) == 4 and set(sources) <= set(checkpoints)
