"""Trains a model on handwritten digits with LightGBM.

If you kill or pause it, the next start resumes from its latest checkpoint. The result is the same
as without the interruption.

    python digits_lightgbm.py
"""

from pathlib import Path
from signal import SIGTERM

import lightgbm
import numpy
from detcore import core
from detcore.integrations.lightgbm import DetCallback

DIGITS = Path(__file__).parents[2] / "data/digits.csv"
CONFIG = {
    "name": "digits with LightGBM",
    "hyperparameters": {"learning_rate": 0.2, "num_leaves": 7},
    "searcher": {"name": "single", "metric": "valid_1-multi_logloss", "max_length": 12},
    "reproducibility": {"experiment_seed": 1},
}


def main():
    digits = numpy.loadtxt(DIGITS, delimiter=",", dtype="float32")
    images, labels = digits[:, :64].copy(), digits[:, 64]
    data = lightgbm.Dataset(images[:1500], labels[:1500], free_raw_data=False)
    held_back = data.create_valid(images[1500:], labels[1500:])

    with core.init(
        config=CONFIG, external_id="digits-lightgbm", preempt_signals=[SIGTERM]
    ) as context:
        trial = context.info.trial
        parameters = {
            **trial.hparams,
            "objective": "multiclass",
            "num_class": 10,
            "seed": trial.trial_seed,
            "num_threads": 1,
            "deterministic": True,
            "verbosity": -1,
        }

        callback = DetCallback(context, checkpoint_every=3)
        for operation in callback.operations():
            lightgbm.train(
                parameters,
                data,
                operation.length - callback.rounds,
                valid_sets=[data, held_back],
                init_model=callback.booster,
                callbacks=[callback],
            )
        print(f"round {callback.rounds}: {callback.validation}")


main()
