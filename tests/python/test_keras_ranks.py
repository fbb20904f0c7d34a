"""A TFKerasTrial over the ranks of mpirun."""

from __future__ import annotations

import pytest
from conftest import ROOT
from mpirun import mpirun

pytest.importorskip("detcore.keras", reason="TensorFlow is not installed")

RECORDED = sorted(path.stem for path in (ROOT / "tests/data/trials/mpi").glob("mk-*.json"))
CASES = [
    *("as_one_process", "aggregation", "half_precision", "sparse", "two_optimizers"),
    *(
        "not_finite",
        "eagerly",
        "fed",
        "compiled",
        "strings",
        "metrics",
        "refused_hyperparameters",
        "checkpoints",
        "moving_means",
    ),
]
# Starting TensorFlow takes longest: all these are done by the same ranks, one after another.
TWO = (*RECORDED, *CASES, "other_models", "preempted", "early_stopping", "refusing", "raising")
FOUR = ("as_one_process", "killed")


@pytest.mark.parametrize("case", TWO[:-1])
def test_two_ranks(case: str) -> None:
    assert mpirun("keras_rank_runs", 2, TWO).failures[case] == {0: None, 1: None}


def test_four_ranks() -> None:
    assert mpirun("keras_rank_cases", 4, FOUR).failures["as_one_process"] == dict.fromkeys(range(4))


def test_all_end_where_one_fails() -> None:
    job = mpirun("keras_rank_runs", 2, TWO)
    assert job.status != 0
    of_rank_0, of_rank_1 = job.failures["raising"].get(0), job.failures["raising"][1]
    assert of_rank_1 is not None and "a batch of rank 1 is broken" in of_rank_1
    assert of_rank_0 is None or "rank 1" in of_rank_0  # if it was not ended before it said so


def test_all_end_where_one_is_killed() -> None:
    job = mpirun("keras_rank_cases", 4, FOUR)
    assert job.status != 0
    said = job.failures["killed"]
    assert 3 not in said and all(text is not None for text in said.values())
