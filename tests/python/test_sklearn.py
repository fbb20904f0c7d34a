"""detcore.integrations.sklearn: a search whose trials `det run` runs."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy
import pytest
from conftest import Det

pytest.importorskip("detcore.integrations.sklearn", reason="scikit-learn is not installed")
from detcore import client
from detcore.errors import StateError
from detcore.integrations.sklearn import DetSearchCV
from dying import Dying
from example_runs import EXAMPLES
from scipy.stats import norm, randint, uniform
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV


@pytest.fixture(autouse=True)
def no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the process is of the store of the test before."""
    monkeypatch.setattr(client, "_default", None)


def test_search_has_the_results_of_scikit_learn_also_when_a_trial_is_killed(store: Path) -> None:
    images, labels = make_classification(120, random_state=1)
    choices = {"n_neighbors": numpy.array([1, 7])}
    ours = DetSearchCV(Dying(store / "died"), choices, n_iter=None, cv=3).fit(images, labels)
    theirs = GridSearchCV(Dying(), choices, cv=3).fit(images, labels)

    assert (store / "died").exists()
    trials = list(ours.experiment_.list_trials())
    assert [trial.state for trial in trials] == ["COMPLETED", "COMPLETED"]
    assert sum(trial.restarts for trial in trials) == 1
    order = numpy.argsort(ours.cv_results_["param_n_neighbors"].astype(int))
    for name in ("mean_test_score", "std_test_score", "split2_test_score", "rank_test_score"):
        assert ours.cv_results_[name][order] == pytest.approx(theirs.cv_results_[name]), name
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    assert (ours.predict(images) == theirs.predict(images)).all()


def test_example_searches(store: Path, capfd: pytest.CaptureFixture[str], det: Det) -> None:
    runpy.run_path(str(EXAMPLES / "integrations/digits_sklearn.py"), run_name="__main__")
    assert "best of experiment 1: {'C': " in capfd.readouterr().out
    best = client.get_experiment(1).best_trial()
    assert best is not None and (best.trial.best_metric or 0) > 0.9
    assert {trial.hparams["class_weight"] for trial in client.list_trials(1)} <= {
        "None",
        "balanced",
    }


def test_search_in_which_nothing_can_be_fitted_says_so() -> None:
    search = DetSearchCV(Dying(), {"n_neighbors": [0]}, n_iter=1, cv=2)
    with pytest.raises(StateError, match=r"no trial of experiment 1 has a score; `det trials 1`"):
        search.fit([[1], [2], [3], [4]], [0, 1, 0, 1])
    (trial,) = client.list_trials(1)
    assert trial.restarts == 0
    assert any("n_neighbors" in line.text for line in trial.iter_logs())


def test_distributions_become_hyperparameters() -> None:
    spaces = {
        "a": uniform(2, 3),
        "b": randint(2, 5),
        "c": [None, (1, 2)],
        "d": {"type": "log", "base": 2, "minval": 1, "maxval": 3},
    }
    search = DetSearchCV(Dying(), spaces, n_iter=3)
    named = {"a": {}, "b": {}, "c": {"None": None, "(1, 2)": (1, 2)}, "d": {}}
    assert search._config(named)["hyperparameters"] == {
        "a": {"type": "double", "minval": 2.0, "maxval": 5.0},
        "b": {"type": "int", "minval": 2, "maxval": 4},
        "c": {"type": "categorical", "vals": ["None", "(1, 2)"]},
        "d": spaces["d"],
    }
    with pytest.raises(ValueError, match="parameter 'n_neighbors' has the distribution 'norm'"):
        DetSearchCV(Dying(), {"n_neighbors": norm(1, 2)}).fit([[1], [2]] * 5, [0, 1] * 5)
