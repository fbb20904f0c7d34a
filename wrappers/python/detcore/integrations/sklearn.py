"""Searches the hyperparameters of a scikit-learn estimator. `det run` runs its trials in parallel.

Trials are recorded like any others: `det trials`, `det hparams` and detcore.client show them. A
trial that is killed starts again.

    search = DetSearchCV(SVC(), {"C": loguniform(0.1, 100), "kernel": ["rbf", "poly"]}, n_iter=20)
    search.fit(x, y)
    print(search.best_params_, search.best_score_)

docs/integrations.md has a complete example.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from detcore import _abi, client
from detcore.errors import StateError

try:
    import joblib
    import numpy
    from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
    from sklearn.metrics import check_scoring
    from sklearn.model_selection import check_cv

    from detcore.integrations import _sklearn_trial
    from detcore.integrations._sklearn_trial import METRIC
except ImportError as missing:
    raise ImportError(
        f"detcore.integrations.sklearn needs scikit-learn ({missing}): pip install scikit-learn"
    ) from missing

if TYPE_CHECKING:
    from detcore.client import Experiment, Trial


class DetSearchCV(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Finds the parameters with which an estimator is best in cross-validation.

    It works like scikit-learn's RandomizedSearchCV, and has its attributes after fit().
    `experiment_` is the experiment. The estimator and the data are pickled for the trials, so the
    classes of the estimator must be in modules, not in the program itself.

    Args:
        estimator: The estimator.
        param_distributions: Lists of choices, distributions of scipy.stats (uniform, loguniform,
            randint), or hyperparameters as in a configuration of det.
        n_iter: The number of trials. None: every combination of lists.
        scoring: The score, as in scikit-learn.
        cv: The folds, as in scikit-learn.
        refit: True: fit the best estimator to all data at the end.
        slots: The number of trials at a time. None: the number of processor cores.
        random_state: The seed of the search.
        name: The name of the experiment.
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Mapping[str, Any],
        *,
        n_iter: int | None = 10,
        scoring: Any = None,
        cv: Any = None,
        refit: bool = True,
        slots: int | None = None,
        random_state: int | None = None,
        name: str | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.scoring = scoring
        self.cv = cv
        self.refit = refit
        self.slots = slots
        self.random_state = random_state
        self.name = name

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> DetSearchCV:
        """Runs the search. It blocks until all trials are over. Ctrl-C cancels them."""
        splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = list(splitter.split(X, y, groups))
        # A value that JSON cannot hold is replaced by its text.
        named = {name: _named(space) for name, space in self.param_distributions.items()}
        with tempfile.TemporaryDirectory(prefix="det-sklearn-") as folder:
            joblib.dump(sys.path, Path(folder, _sklearn_trial.PATHS))
            task = {
                "estimator": self.estimator,
                "scorer": check_scoring(self.estimator, self.scoring),
                "named": named,
                "splits": splits,
                "X": X,
                "y": y,
            }
            joblib.dump(task, Path(folder, _sklearn_trial.TASK))
            self.experiment_ = client.create_experiment(
                self._config(named),
                command=[sys.executable, "-m", _sklearn_trial.__name__, folder],
                slots=self.slots,
            )
            try:
                self.experiment_.wait(interval=0.1)
            except BaseException:
                self.experiment_.cancel()
                raise
        self._read(self.experiment_, named, len(splits))
        if self.refit:
            self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_)
            self.best_estimator_.fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        """Predicts with the best estimator."""
        return self.best_estimator_.predict(X)

    def score(self, X: Any, y: Any = None) -> Any:
        """Scores the best estimator on these data."""
        return check_scoring(self.best_estimator_, self.scoring)(self.best_estimator_, X, y)

    def _config(self, named: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        method: dict[str, Any] = {"name": "random", "max_trials": self.n_iter}
        config: dict[str, Any] = {
            "name": self.name or f"search over {type(self.estimator).__name__}",
            "searcher": {
                **({"name": "grid"} if self.n_iter is None else method),
                "metric": METRIC,
                "smaller_is_better": False,
                "max_length": 1,
            },
            "hyperparameters": {
                name: _hyperparameter(name, space, named[name])
                for name, space in self.param_distributions.items()
            },
        }
        if self.random_state is not None:
            config["reproducibility"] = {"experiment_seed": self.random_state}
        return config

    def _read(self, experiment: Experiment, named: Mapping[str, Any], folds: int) -> None:
        trials = list(experiment.list_trials())
        scores = [_last_validation(trial) for trial in trials]
        means = numpy.array([score.get(METRIC, math.nan) for score in scores])
        if numpy.isnan(means).all():
            raise StateError(
                f"searching over {self.estimator!r}: no trial of experiment {experiment.id} has a "
                f"score; `det trials {experiment.id}` and `det logs TRIAL` show the reason",
                code=_abi.DET_E_STATE,
            )
        params = [
            {name: named[name].get(value, value) for name, value in trial.hparams.items()}
            for trial in trials
        ]
        columns = [METRIC, "std_test_score", "mean_fit_time", "mean_score_time"]
        columns += [f"split{fold}_test_score" for fold in range(folds)]
        self.cv_results_: dict[str, Any] = {
            "trial_id": numpy.array([trial.id for trial in trials]),
            "params": params,
            **{c: numpy.array([score.get(c, math.nan) for score in scores]) for c in columns},
            **{f"param_{name}": numpy.array([p[name] for p in params], object) for name in named},
        }
        worse = numpy.where(numpy.isnan(means), -numpy.inf, means)
        self.cv_results_["rank_test_score"] = 1 + (worse[:, None] < worse).sum(1)
        self.best_index_ = int(worse.argmax())
        self.best_params_ = params[self.best_index_]
        self.best_score_ = float(means[self.best_index_])


def _choices(space: Any) -> list[Any] | None:
    if isinstance(space, Mapping) or hasattr(space, "rvs"):
        return None
    return [choice.item() if hasattr(choice, "item") else choice for choice in space]


def _named(space: Any) -> dict[str, Any]:
    choices = _choices(space)
    if choices is None or all(isinstance(choice, (bool, int, float, str)) for choice in choices):
        return {}
    return {str(choice): choice for choice in choices}


def _hyperparameter(name: str, space: Any, named: Mapping[str, Any]) -> Any:
    if isinstance(space, Mapping):
        return dict(space)
    choices = _choices(space)
    if choices is not None:
        return {"type": "categorical", "vals": list(named) or choices}
    kind = space.dist.name
    low, high = (bound.item() if hasattr(bound, "item") else bound for bound in space.support())
    if kind == "randint":
        return {"type": "int", "minval": int(low), "maxval": int(high)}
    if kind == "uniform":
        return {"type": "double", "minval": float(low), "maxval": float(high)}
    if kind in ("loguniform", "reciprocal"):
        bounds = {"minval": math.log10(low), "maxval": math.log10(high)}
        return {"type": "log", "base": 10, **bounds}
    raise ValueError(
        f"the parameter {name!r} has the distribution {kind!r}: give uniform, loguniform or "
        "randint of scipy.stats, a list of choices, or a hyperparameter of a configuration"
    )


def _last_validation(trial: Trial) -> dict[str, float]:
    found: dict[str, float] = {}
    for report in trial.iter_validation_metrics():
        found = report.metrics
    return found
