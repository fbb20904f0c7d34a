"""Trains a convolutional network on handwritten digits, as a TFKerasTrial.

It is an ordinary trial for the `determined` package and runs unchanged:

    det run adaptive.yaml                  a search over many trials
    det run distributed.yaml --slots 2     one trial of two ranks
    python3 -m detcore.trial --test --config const.yaml model_def:DigitsTrial
"""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import tensorflow as tf
from determined.keras import TFKerasTrial, TFKerasTrialContext
from determined.keras.callbacks import Callback, EarlyStopping

IMAGES = pathlib.Path(__file__).parents[2] / "data/digits.csv"
TRAINING = 1500


def read_images(path: pathlib.Path) -> tuple[Any, Any]:
    """Returns images of 8 x 8 pixels from 0 to 1, and their digits."""
    rows = np.loadtxt(path, delimiter=",", dtype=np.float32)
    return rows[:, :-1].reshape(-1, 8, 8, 1) / 16, rows[:, -1].astype(np.int64)


class Confusions(Callback):  # type: ignore[misc, unused-ignore]
    """Writes a table into each checkpoint: how often the model took each digit for each other."""

    def __init__(self, images: Any, labels: Any) -> None:
        super().__init__()
        self.images, self.labels = images, labels

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        guesses = self.model.predict_on_batch(self.images).argmax(axis=1)
        counts = np.zeros((10, 10), np.int64)
        np.add.at(counts, (self.labels, guesses), 1)
        np.savetxt(pathlib.Path(checkpoint_dir, "confusions.csv"), counts, "%d", ",")


class DigitsTrial(TFKerasTrial):  # type: ignore[misc, unused-ignore]
    def __init__(self, context: TFKerasTrialContext) -> None:
        self.context = context
        images, labels = read_images(pathlib.Path(context.get_data_config().get("images", IMAGES)))
        self.training = images[:TRAINING], labels[:TRAINING]
        self.validation = images[TRAINING:], labels[TRAINING:]
        context.configure_fit(verbose=False)

    def build_model(self) -> Any:
        hparam = self.context.get_hparam
        layers = [
            tf.keras.layers.Conv2D(hparam("filters"), 3, activation="relu", input_shape=(8, 8, 1)),
            tf.keras.layers.MaxPooling2D(2),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dropout(hparam("dropout")),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
        model = self.context.wrap_model(tf.keras.Sequential(layers))
        optimizer = tf.keras.optimizers.Adam(hparam("learning_rate"))
        model.compile(
            self.context.wrap_optimizer(optimizer),
            "sparse_categorical_crossentropy",
            metrics=["accuracy"],
        )
        return model

    def build_training_data_loader(self) -> Any:
        return self.training

    def build_validation_data_loader(self) -> Any:
        return self.validation

    def keras_callbacks(self) -> list[Any]:
        return [EarlyStopping("val_loss", patience=5), Confusions(*self.validation)]
