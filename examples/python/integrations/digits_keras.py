"""Trains a model on handwritten digits with Keras.

If you kill or pause it, the next start resumes from its latest checkpoint. The result is the same
as without the interruption.

    python digits_keras.py
"""

from pathlib import Path
from signal import SIGTERM

import numpy
from detcore import core
from detcore.integrations.keras import DetCallback
from tensorflow import keras

DIGITS = Path(__file__).parents[2] / "data/digits.csv"
CONFIG = {
    "name": "digits with Keras",
    "hyperparameters": {"learning_rate": 0.05, "hidden_size": 32},
    "searcher": {"name": "single", "metric": "val_loss", "max_length": {"epochs": 6}},
    "reproducibility": {"experiment_seed": 1},
}


def main():
    digits = numpy.loadtxt(DIGITS, delimiter=",", dtype="float32")
    images, labels = digits[:, :64] / 16, digits[:, 64]

    with core.init(config=CONFIG, external_id="digits-keras", preempt_signals=[SIGTERM]) as context:
        trial = context.info.trial
        keras.utils.set_random_seed(trial.trial_seed)
        model = keras.Sequential(
            [
                keras.Input((64,)),
                keras.layers.Dense(trial.hparams["hidden_size"], activation="relu"),
                keras.layers.Dense(10),
            ]
        )
        model.compile(
            keras.optimizers.SGD(trial.hparams["learning_rate"], momentum=0.9),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )

        callback = DetCallback(context, model)
        for operation in callback.operations():
            model.fit(
                images[:1500],
                labels[:1500],
                batch_size=64,
                shuffle=False,
                validation_data=(images[1500:], labels[1500:]),
                initial_epoch=callback.epochs,
                epochs=operation.length,
                callbacks=[callback],
                verbose=0,
            )
        print(f"epoch {callback.epochs}: {callback.validation}")


main()
