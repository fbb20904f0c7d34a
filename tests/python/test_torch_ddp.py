"""examples/python/torch_ddp.py, started by torchrun."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PATIENCE, Det
from example_runs import Example
from ranks import free_port

torch = pytest.importorskip("torch.distributed", reason="PyTorch is not installed")

STEPS = [24, 48, 72, 96, 120, 144]


def run(store: Path, *signals: str) -> list[int]:
    """The steps whose validations the job reported."""
    reports = store.with_suffix(".reports")
    reports.unlink(missing_ok=True)
    # The last two are of no rank: torch 1.13 does not find its usual values where Python is 3.11.
    launch = ["--nproc_per_node=2", "--max_restarts=1", "--redirects=9:1", "--tee=9:1"]
    launch += [f"--master_port={free_port()}", "--monitor_interval=0.1"]
    program = [str(Path(__file__).with_name("ddp_rank.py")), str(reports), *signals]
    environment = {"DET_HOME": str(store), "INTER_TRAIN_PROCESS_COMM_PORT_1": str(free_port())}
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", *launch, *program],
        env={**os.environ, **environment, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return [int(line) for line in reports.read_text().splitlines()]


def test_ranks_go_on_after_a_kill_and_a_pause(store: Path, det: Det) -> None:
    alone, ended = (Example("", store / name, det) for name in ("alone", "ended"))
    assert run(store / "alone") == STEPS

    # The chief is killed at 72, and torchrun starts all ranks again; they are asked to stop at 96.
    assert run(store / "ended", "9:72", "15:96") == [24, 48, 72, 72, 96]
    assert run(store / "ended") == [120, 144]
    assert [r["exit"] for r in ended.trial()["runs"]] == ["died", "preempted", "ok"]
    assert [len(r["ranks"]) for r in ended.trial()["runs"]] == [2, 2, 2]
    assert ended.metrics() == alone.metrics()
    assert ended.trial()["best_metric"] == alone.trial()["best_metric"]
