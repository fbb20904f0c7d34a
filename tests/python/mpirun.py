"""Cases of trials over ranks, under mpirun."""

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
from conftest import PATIENCE


class Job(NamedTuple):
    status: int
    #: Of each case what each rank raised, or None; a rank that died says nothing.
    failures: dict[str, dict[int, str | None]]


def _outcomes(folder: str) -> list[Path]:
    return list(Path(folder).glob("*.json"))


def _stop(job: subprocess.Popen[bytes]) -> None:
    """mpirun ends its ranks; where it hangs as well, they see that it is gone."""
    job.terminate()
    try:
        job.wait(30)
    except subprocess.TimeoutExpired:
        job.kill()


def _wait(job: subprocess.Popen[bytes], folder: str) -> str:
    """Until the job has ended. Gives what is wrong: no case has ended for long."""
    ended = 0
    while True:
        try:
            job.wait(PATIENCE)
            return ""
        except subprocess.TimeoutExpired:
            if len(_outcomes(folder)) == ended:
                _stop(job)
                return f"the job was ended: no case came to its end within {PATIENCE} seconds"
            ended = len(_outcomes(folder))


@functools.cache
def mpirun(module: str, count: int, cases: tuple[str, ...]) -> Job:
    """The ranks do `cases` of `module` one after another: starting TensorFlow takes longest.

    The job is ended only where it hangs; the cases that it did not come to have no outcome then.
    """
    launcher = shutil.which("mpirun")
    if launcher is None:
        pytest.skip("there is no mpirun")
    with tempfile.TemporaryDirectory(prefix="det-", dir="/tmp") as folder:
        program = [sys.executable, str(Path(__file__).with_name("trial_rank.py"))]
        program += [module, folder, *cases]
        settings = {
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_mpi_yield_when_idle": "1",  # to the ranks that it waits for
            "DET_HOME": f"{folder}/store",
            "TMPDIR": folder,
        }
        with tempfile.TemporaryFile() as said:
            job = subprocess.Popen(
                [launcher, "--oversubscribe", "--bind-to", "none", "-n", str(count), *program],
                env={**os.environ, **settings},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
            try:
                hangs = _wait(job, folder)
            finally:
                if job.poll() is None:
                    _stop(job)
                    job.wait()
                said.seek(0)
                sys.stderr.write(said.read().decode(errors="replace"))
        failures: dict[str, dict[int, str | None]] = {case: {} for case in cases}
        for path in _outcomes(folder):
            case, rank = path.stem.rsplit(".", 1)
            failures[case][int(rank)] = json.loads(path.read_text())
    if hangs:
        sys.stderr.write(hangs + "\n")
    return Job(job.returncode, failures)
