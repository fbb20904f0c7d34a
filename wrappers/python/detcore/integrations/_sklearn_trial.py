"""One trial of DetSearchCV: it cross-validates an estimator with the trial's hyperparameters."""

from __future__ import annotations

import math
import sys
import traceback
from pathlib import Path
from typing import Any

import joblib
from sklearn.base import clone
from sklearn.model_selection import cross_validate
from threadpoolctl import threadpool_limits

from detcore import core

TASK = "task.joblib"
PATHS = "path.joblib"
METRIC = "mean_test_score"


def main(folder: Path) -> None:
    sys.path[:] = joblib.load(folder / PATHS)  # the estimator may be in a module of the program
    task = joblib.load(folder / TASK, mmap_mode="r")
    # Parallel trials share the cores already.
    with core.init() as context, threadpool_limits(1):
        for operation in context.searcher.operations():
            metrics = _scores(task, context.info.trial.hparams)
            context.train.report_validation_metrics(operation.length, metrics)
            operation.report_completed(metrics[METRIC])


def _scores(task: dict[str, Any], hparams: dict[str, Any]) -> dict[str, float]:
    params = {name: task["named"][name].get(value, value) for name, value in hparams.items()}
    try:
        results = cross_validate(
            clone(task["estimator"]).set_params(**params),
            task["X"],
            task["y"],
            scoring=task["scorer"],
            cv=task["splits"],
        )
    except Exception:  # another run would end in the same way: it is the worst trial
        traceback.print_exc()
        return {METRIC: math.nan}
    scores = results["test_score"]
    return {
        METRIC: float(scores.mean()),
        "std_test_score": float(scores.std()),
        "mean_fit_time": float(results["fit_time"].mean()),
        "mean_score_time": float(results["score_time"].mean()),
        **{f"split{fold}_test_score": float(score) for fold, score in enumerate(scores)},
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
