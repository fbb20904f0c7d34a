"""detcore.integrations.xgboost, by its example."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import Det
from detcore import client

pytest.importorskip("detcore.integrations.xgboost", reason="XGBoost is not installed")
from example_runs import EXAMPLES, check_goes_on


def test_example_goes_on_after_a_kill_and_a_pause(store: Path, det: Det) -> None:
    recorded = check_goes_on("digits_xgboost.py", store, det, killed_at=5, paused_at=8)
    assert [step for group, step in recorded if group == "training"] == list(range(1, 13))
    assert recorded["validation", 12]["eval-mlogloss"] < 0.6


def test_example_is_a_trial_of_a_search_that_promotes_the_better_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client, "_default", None)
    config = {
        "name": "halving",
        "hyperparameters": {
            "eta": {"type": "double", "minval": 0.1, "maxval": 0.6},
            "max_depth": 3,
        },
        "searcher": {
            "name": "async_halving",
            "metric": "eval-mlogloss",
            "max_trials": 2,
            "num_rungs": 2,
            "divisor": 2,
            "max_length": {"batches": 8},
        },
        "reproducibility": {"experiment_seed": 3},
    }
    command = [sys.executable, str(EXAMPLES / "integrations/digits_xgboost.py")]
    experiment = client.create_experiment(config, command=command)
    assert experiment.wait(interval=0.1) == "COMPLETED"
    best, other = experiment.list_trials(best_first=True)
    assert [op["length"] for op in best.operations] == [4, 8]
    assert [op["length"] for op in other.operations] == [4]
    steps = [report.steps_completed for report in best.iter_training_metrics()]
    assert steps == list(range(1, 9))
    assert best.operations[1]["metric"] == best.best_metric
    # A round is an epoch as well, for lengths in epochs.
    assert best.list_checkpoints()[-1].metadata["epochs"] == 8
