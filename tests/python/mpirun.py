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


class Job(NamedTuple):
    status: int
    #: Of each case what each rank raised, or None; a rank that died says nothing.
    failures: dict[str, dict[int, str | None]]


@functools.cache
def mpirun(module: str, count: int, cases: tuple[str, ...]) -> Job:
    """The ranks do `cases` of `module` one after another: starting TensorFlow takes longest."""
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
        done = subprocess.run(
            [launcher, "--oversubscribe", "--bind-to", "none", "-n", str(count), *program],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            timeout=550,
        )
        failures: dict[str, dict[int, str | None]] = {case: {} for case in cases}
        for path in Path(folder).glob("*.json"):
            case, rank = path.stem.rsplit(".", 1)
            failures[case][int(rank)] = json.loads(path.read_text())
    sys.stderr.write(done.stdout + done.stderr)
    return Job(done.returncode, failures)
