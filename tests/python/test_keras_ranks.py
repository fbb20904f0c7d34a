"""A TFKerasTrial over the ranks of mpirun."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import ROOT

pytest.importorskip("detcore.keras", reason="TensorFlow is not installed")

RECORDED = sorted(path.stem for path in (ROOT / "tests/data/trials/mpi").glob("mk-*.json"))
CASES = [
    *("as_one_process", "aggregation", "half_precision", "sparse", "two_optimizers"),
    *("not_finite", "eagerly", "metrics", "refused_hyperparameters", "checkpoints"),
]
# Starting TensorFlow takes longest: all these are done by the same ranks, one after another.
TWO = (*RECORDED, *CASES, "other_models", "raising")
FOUR = ("as_one_process", "killed")


class Job(NamedTuple):
    status: int
    #: Of each case what each rank raised, or None; a rank that died says nothing.
    failures: dict[str, dict[int, str | None]]


@functools.cache
def mpirun(count: int, cases: tuple[str, ...]) -> Job:
    launcher = shutil.which("mpirun")
    if launcher is None:
        pytest.skip("there is no mpirun")
    with tempfile.TemporaryDirectory(prefix="det-", dir="/tmp") as folder:
        program = [sys.executable, str(Path(__file__).with_name("keras_rank.py")), folder, *cases]
        may_be_root = dict.fromkeys(
            ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1"
        )
        done = subprocess.run(
            [launcher, "--oversubscribe", "--bind-to", "none", "-n", str(count), *program],
            env={**os.environ, **may_be_root, "DET_HOME": f"{folder}/store", "TMPDIR": folder},
            capture_output=True,
            text=True,
            timeout=300,
        )
        failures: dict[str, dict[int, str | None]] = {case: {} for case in cases}
        for path in Path(folder).glob("*.json"):
            case, rank = path.stem.rsplit(".", 1)
            failures[case][int(rank)] = json.loads(path.read_text())
    sys.stderr.write(done.stdout + done.stderr)
    return Job(done.returncode, failures)


@pytest.mark.parametrize("case", TWO[:-1])
def test_two_ranks(case: str) -> None:
    assert mpirun(2, TWO).failures[case] == {0: None, 1: None}


def test_four_ranks() -> None:
    assert mpirun(4, FOUR).failures["as_one_process"] == dict.fromkeys(range(4))


def test_all_end_where_one_fails() -> None:
    job = mpirun(2, TWO)
    assert job.status != 0
    of_rank_0, of_rank_1 = job.failures["raising"].get(0), job.failures["raising"][1]
    assert of_rank_1 is not None and "a batch of rank 1 is broken" in of_rank_1
    assert of_rank_0 is None or "rank 1" in of_rank_0  # if it was not ended before it said so


def test_all_end_where_one_is_killed() -> None:
    job = mpirun(4, FOUR)
    assert job.status != 0
    said = job.failures["killed"]
    assert 3 not in said and all(text is not None for text in said.values())
