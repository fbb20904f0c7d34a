"""Trains a premade DNNClassifier on handwritten digits, as an EstimatorTrial.

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
from determined.estimator import EstimatorTrial, EstimatorTrialContext

IMAGES = pathlib.Path(__file__).parents[2] / "data/digits.csv"
TRAINING = 1500


class DigitsTrial(EstimatorTrial):  # type: ignore[misc, unused-ignore]
    def __init__(self, context: EstimatorTrialContext) -> None:
        self.context = context
        path = context.get_data_config().get("images", IMAGES)
        rows = np.loadtxt(path, delimiter=",", dtype=np.float32)
        self.images, self.labels = rows[:, :-1] / 16, rows[:, -1].astype(np.int64)

    def build_estimator(self) -> Any:
        hparam = self.context.get_hparam
        optimizer = tf.compat.v1.train.AdamOptimizer(hparam("learning_rate"))
        return tf.compat.v1.estimator.DNNClassifier(
            hidden_units=[hparam("hidden_size")],
            feature_columns=[tf.feature_column.numeric_column("pixels", shape=(64,))],
            n_classes=10,
            optimizer=self.context.wrap_optimizer(optimizer),
            dropout=hparam("dropout"),
        )

    def dataset(self, part: slice) -> Any:
        rows = {"pixels": self.images[part]}, self.labels[part]
        dataset = self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices(rows))
        return dataset.batch(self.context.get_per_slot_batch_size())

    def build_train_spec(self) -> Any:
        def training() -> Any:  # after a restart, skips the batches already trained
            batches = self.dataset(slice(TRAINING)).repeat()
            return batches.skip(self.context.get_initial_batch())

        return tf.estimator.TrainSpec(training)

    def build_validation_spec(self) -> Any:
        return tf.estimator.EvalSpec(lambda: self.dataset(slice(TRAINING, None)), steps=None)

    def build_serving_input_receiver_fns(self) -> dict[str, Any]:
        columns = [tf.feature_column.numeric_column("pixels", shape=(64,))]
        features = tf.feature_column.make_parse_example_spec(columns)
        return {"digits": tf.estimator.export.build_parsing_serving_input_receiver_fn(features)}
