"""Trains a model on handwritten digits with XGBoost.

If you kill or pause it, the next start resumes from its latest checkpoint. The result is the same
as without the interruption.

    python digits_xgboost.py
"""

from pathlib import Path
from signal import SIGTERM

import numpy
import xgboost
from detcore import core
from detcore.integrations.xgboost import DetCallback

DIGITS = Path(__file__).parents[2] / "data/digits.csv"
CONFIG = {
    "name": "digits with XGBoost",
    "hyperparameters": {"eta": 0.3, "max_depth": 3},
    "searcher": {"name": "single", "metric": "eval-mlogloss", "max_length": 12},
    "reproducibility": {"experiment_seed": 1},
}


def main():
    digits = numpy.loadtxt(DIGITS, delimiter=",", dtype="float32")
    data = xgboost.DMatrix(digits[:1500, :64], digits[:1500, 64])
    held_back = xgboost.DMatrix(digits[1500:, :64], digits[1500:, 64])

    with core.init(
        config=CONFIG, external_id="digits-xgboost", preempt_signals=[SIGTERM]
    ) as context:
        trial = context.info.trial
        parameters = {
            **trial.hparams,
            "objective": "multi:softprob",
            "num_class": 10,
            "seed": trial.trial_seed,
            "nthread": 1,
        }

        callback = DetCallback(context, checkpoint_every=3)
        for operation in callback.operations():
            xgboost.train(
                parameters,
                data,
                operation.length - callback.rounds,
                evals=[(data, "train"), (held_back, "eval")],
                xgb_model=callback.booster,
                callbacks=[callback],
                verbose_eval=False,
            )
        print(f"round {callback.rounds}: {callback.validation}")


main()
