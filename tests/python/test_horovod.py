"""Trials whose gradients Horovod averages: its own, or a stand-in of it where that is missing."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from detcore import core
from detcore.trial import ExperimentConfig
from mpirun import mpirun

pytest.importorskip("detcore.keras", reason="TensorFlow is not installed")

from detcore.trial import _horovod

IS_THERE = importlib.util.find_spec("horovod") is not None
KERAS = (
    *("averages_by_horovod", "as_one_process", "aggregation", "half_precision", "sparse"),
    *("eagerly", "refusing"),
)
ESTIMATOR = ("sgd_of_version_one", "sparse", "aggregation", "refusing")
MORE_KERAS = ("two_optimizers", "not_finite", "checkpoints", "other_models", "raising")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USE_HOROVOD", "1")
    if not IS_THERE:
        folder = Path(__file__).with_name("stand_in")
        monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")


@pytest.mark.parametrize("case", KERAS)
def test_keras(case: str) -> None:
    job = mpirun("keras_rank_runs", 2, KERAS)
    assert (job.failures[case], job.status) == ({0: None, 1: None}, 0)


@pytest.mark.parametrize("case", ESTIMATOR)
def test_estimators(case: str) -> None:
    job = mpirun("estimator_rank_cases", 2, ESTIMATOR)
    assert (job.failures[case], job.status) == ({0: None, 1: None}, 0)


@pytest.mark.skipif(not IS_THERE, reason="Horovod is not installed: a stand-in of it was used")
def test_horovod_itself() -> None:
    job = mpirun("keras_rank_cases", 2, MORE_KERAS)
    assert "a batch of rank 1 is broken" in (job.failures.pop("raising")[1] or "")
    assert job.failures == {case: {0: None, 1: None} for case in MORE_KERAS[:-1]}
    assert job.status != 0


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "horovod", None)
    with pytest.raises(ImportError, match="HOROVOD_WITH_TENSORFLOW=1 pip install"):
        _horovod.start()
    monkeypatch.setenv("USE_HOROVOD", "0")
    assert _horovod.start() is None
    monkeypatch.setenv("HOROVOD_RANK", "0")
    with pytest.raises(ImportError, match="HOROVOD_RANK"):
        _horovod.start()


def test_other_ranks_than_those_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    alone: Any = types.SimpleNamespace(rank=lambda: 0, size=lambda: 1)
    monkeypatch.setattr(_horovod, "start", lambda: alone)
    job: Any = types.SimpleNamespace(rank=0, size=2)
    with pytest.raises(RuntimeError, match=r"rank 0 of 1, and this is rank 0 of 2.*WITH_MPI"):
        _horovod.gradients_of(job, ExperimentConfig())
    assert _horovod.gradients_of(core.DistributedContext(), ExperimentConfig()) is None
