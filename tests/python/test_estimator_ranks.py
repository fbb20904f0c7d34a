"""An EstimatorTrial over the ranks of mpirun."""

from __future__ import annotations

import pytest
from conftest import ROOT
from mpirun import mpirun

pytest.importorskip("detcore.estimator", reason="TensorFlow is not installed")

RECORDED = sorted(path.stem for path in (ROOT / "tests/data/trials/mpi").glob("me-*.json"))
CASES = [
    *("sgd_of_version_one", "adam_of_version_one", "gradients_in_hand", "two_optimizers"),
    *("optimizer_of_keras", "sparse", "premade", "aggregation", "metrics"),
    *("refused_hyperparameters", "checkpoints", "moving_means", "a_stop"),
    *("other_models", "refusing"),
]
ALL = ("estimator_rank_cases", 2, (*RECORDED, *CASES, "raising"))


@pytest.mark.parametrize("case", ALL[2][:-1])
def test_two_ranks(case: str) -> None:
    assert mpirun(*ALL).failures[case] == {0: None, 1: None}


def test_all_end_where_one_fails() -> None:
    job = mpirun(*ALL)
    assert job.status != 0
    of_rank_0, of_rank_1 = job.failures["raising"].get(0), job.failures["raising"][1]
    assert of_rank_1 is not None and "a batch of rank 1 is broken" in of_rank_1
    assert of_rank_0 is None or "rank 1" in of_rank_0  # if it was not ended before it said so
