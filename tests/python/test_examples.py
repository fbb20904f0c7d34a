"""examples/python: the counterparts of the examples in C, by the same tests, and a job of ranks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import PATIENCE, ROOT, Det
from ranks import free_port, numbers

EXAMPLES = ROOT / "examples"


@pytest.fixture
def program(store: Path, request: pytest.FixtureRequest) -> str:
    """An example as a program that is one process."""
    file = store.parent / "program"
    file.write_text(f"#!/bin/sh\nexec {sys.executable} {EXAMPLES / 'python' / request.param}\n")
    file.chmod(0o755)
    return str(file)


def check(script: str, *arguments: str) -> str:
    command = ["sh", str(EXAMPLES / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("program", ["minimal.py"], indirect=True)
def test_minimal_goes_on_where_it_was_killed_or_paused(program: str) -> None:
    check("minimal_test.sh", program, os.environ["DETCORE_COMMAND"])


@pytest.mark.parametrize("program", ["digits.py"], indirect=True)
def test_digits_stopped_twice_end_as_when_left_alone(program: str) -> None:
    check("digits_test.sh", program)


@pytest.mark.parametrize("program", ["tensors.py"], indirect=True)
def test_tensors_are_saved_and_read(program: str) -> None:
    assert "the last two: [5.0, 6.0]" in subprocess.check_output([program], text=True)


SEARCH = """
searcher:
  name: async_halving
  metric: accuracy
  smaller_is_better: false
  num_rungs: 2
  divisor: 2
  max_length: {epochs: 4}
  max_trials: 4
hyperparameters:
  learning_rate: {type: log, base: 10, minval: -3, maxval: 0}
  hidden_size: 16
  momentum: 0.9
  weight_decay: 0.0001
  batch_size: 64
"""


@pytest.mark.parametrize("program", ["digits.py"], indirect=True)
def test_a_search_over_digits(program: str, det: Det, store: Path) -> None:
    (store.parent / "search.yaml").write_text(SEARCH)
    det("run", str(store.parent / "search.yaml"), "--", program)
    trials = [json.loads(line) for line in det("trials", "1", "--json").splitlines()]
    assert [trial["state"] for trial in trials] == ["COMPLETED"] * 4
    assert max(trial["best_metric"] for trial in trials) > 0.5


def start(ranks: int) -> list[subprocess.Popen[str]]:
    """distributed.py on so many ranks, with the variables of torchrun."""
    names = [
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "GROUP_RANK",
        "GROUP_WORLD_SIZE",
    ]
    port = {"INTER_TRAIN_PROCESS_COMM_PORT_1": str(free_port()), "TORCHELASTIC_RUN_ID": "test"}
    command = [sys.executable, str(EXAMPLES / "python/distributed.py")]
    processes = []
    for rank in range(ranks):
        values = map(str, numbers(rank, 1, ranks).values())
        environment = {**os.environ, **port, **dict(zip(names, values))}
        pipe = subprocess.PIPE
        processes.append(
            subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True)
        )
    return processes


def test_a_killed_job_goes_on_with_more_ranks(
    det: Det, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DET_EXTERNAL_ID", "digits")
    first = start(2)
    end = time.monotonic() + PATIENCE
    while len(list(store.glob("*/model.npz"))) < 2 and time.monotonic() < end:
        assert first[0].poll() is None, first[0].communicate()
        time.sleep(0.01)
    first[1].send_signal(signal.SIGKILL)
    _, complaint = first[0].communicate(timeout=PATIENCE)
    first[1].communicate()
    assert first[0].returncode != 0 and "rank 1" in complaint

    second = start(3)
    printed = [process.communicate(timeout=PATIENCE) for process in second]
    assert [process.returncode for process in second] == [0, 0, 0], printed
    assert printed[0][0].endswith("on 3 ranks\n") and not printed[1][0]
    (trial,) = [json.loads(line) for line in det("ls", "--json").splitlines()]
    assert trial["state"] == "COMPLETED"
    rows = det("metrics", "1", "--group", "validation", "--name", "loss", "--csv").splitlines()[1:]
    assert [int(row.split(",")[1]) for row in rows] == list(range(1, 11))
