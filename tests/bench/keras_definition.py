"""The model, its data and its trial of bench_keras.py."""

import time

import numpy as np
import tensorflow as tf
from detcore.keras import TFKerasTrial, TFKerasTrialContext
from detcore.keras._controller import Controller
from detcore.trial import Environment, Workload, WorkloadKind

WARM, BATCHES = 20, 200
RECORDS = 16
CONFIG = {
    "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 9999}},
    "hyperparameters": {"global_batch_size": RECORDS},
}
IMAGES = np.random.default_rng(1).random((RECORDS * 64, 784), dtype=np.float32)
LABELS = np.arange(RECORDS * 64) % 10


def make_model():
    tf.keras.utils.set_random_seed(1)
    return tf.keras.Sequential(
        [tf.keras.layers.Dense(64, "relu", input_shape=(784,)), tf.keras.layers.Dense(10)]
    )


def loss():
    return tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def dataset():
    return tf.data.Dataset.from_tensor_slices((IMAGES, LABELS)).repeat().batch(RECORDS)


class Clock(tf.keras.callbacks.Callback):
    """Of the batches of a fit()."""

    def __init__(self):
        super().__init__()
        self.seen = 0
        self.first = self.begun = self.used = 0.0

    def on_train_batch_begin(self, batch, logs=None):
        self.first = self.first or time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1
        if self.seen == WARM:
            self.begun = time.process_time()
        elif self.seen == WARM + BATCHES:
            self.used = time.process_time() - self.begun

    def us_of_batch(self):
        """Of CPU, of all threads."""
        return self.used / BATCHES * 1e6


class Definition:
    """Of a trial, ours or the original's."""

    of_arrays = True
    clock = None

    def __init__(self, context):
        self.context = context
        context.configure_fit(verbose=False, shuffle=False)

    def build_model(self):
        model = self.context.wrap_model(make_model())
        optimizer = self.context.wrap_optimizer(tf.keras.optimizers.SGD())
        model.compile(optimizer, loss(), ["accuracy"])

    def build_training_data_loader(self):
        return (IMAGES, LABELS) if self.of_arrays else self.context.wrap_dataset(dataset())

    build_validation_data_loader = build_training_data_loader

    def keras_callbacks(self):
        return [self.clock]


class AdamDefinition(Definition):
    layers = (64,)
    of_arrays = True
    clock = Clock()

    def build_model(self):
        dense = tf.keras.layers.Dense
        model = tf.keras.Sequential([dense(units) for units in self.layers] + [dense(10)])
        self.context.wrap_model(model).compile(
            self.context.wrap_optimizer(tf.keras.optimizers.Adam()), loss()
        )


class Trial(Definition, TFKerasTrial):
    pass


class Adam(AdamDefinition, TFKerasTrial):
    pass


class Workloads:
    """Training, once."""

    def __init__(self, batches):
        self.left = [Workload(WorkloadKind.RUN_STEP, batches, 0)]

    def next(self):
        return self.left.pop() if self.left else None

    def respond(self, response):
        self.response = response

    def state(self):
        return {}

    def load_state(self, state):
        pass


def trained(trial, run, batches):
    context = TFKerasTrialContext(Environment.of_run(run.info), run)
    controller = Controller(trial, context, run, Workloads(batches))
    controller.run()
    return controller
