#!/usr/bin/env python3
"""A TFKerasTrial against plain Keras, in one process and turn by turn.

A batch: the CPU of all threads from the 20th to the 220th batch of one fit(), the median of the
turns; what Keras trains is the same. A checkpoint: of the controller, without the store that takes
it, against Model.save_weights() of the same model with Adam, a small one and one of 46 MB, whose
state is twice that. The start: from the trial's class to its first
batch, of which fit() on the same model needs a part, too.
"""

import os
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "wrappers" / "python"))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

TURNS = 7
WARM, BATCHES = 20, 200
RECORDS = 16
SAVES = 40
BUDGET_US, BUDGET_CHECKPOINT, BUDGET_START = 50, 1.1, 0.2

VENV = pathlib.Path(os.environ.get("DETCORE_VENV_INTEGRATIONS", ROOT / ".venv-integrations"))
if VENV.exists() and pathlib.Path(sys.prefix) != VENV:
    os.execv(VENV / "bin/python", [VENV / "bin/python", *sys.argv])

try:
    from detcore import core
    from detcore.keras import TFKerasTrial, TFKerasTrialContext
    from detcore.keras._controller import Controller
    from detcore.trial import Environment, Workload, WorkloadKind, _random_state
except ImportError as missing:
    print(f"keras: left out: {missing}")
    sys.exit(0)
import numpy as np
import tensorflow as tf

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


def plain(of_arrays):
    begun = time.perf_counter()
    clock = Clock()
    model = make_model()
    model.compile("sgd", loss(), ["accuracy"])
    data = (
        {"x": IMAGES, "y": LABELS, "batch_size": RECORDS, "epochs": 99}
        if of_arrays
        else {"x": dataset(), "epochs": 1}
    )
    data["steps_per_epoch"] = WARM + BATCHES if not of_arrays else None
    if of_arrays:
        data["epochs"] = -(-(WARM + BATCHES) * RECORDS // len(IMAGES))
    model.fit(**data, callbacks=[clock], verbose=0, shuffle=False)
    return clock.used / BATCHES * 1e6, clock.first - begun


class Trial(TFKerasTrial):
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


def ours(run, of_arrays):
    begun = time.perf_counter()
    Trial.of_arrays, Trial.clock = of_arrays, Clock()
    trained(Trial, run, WARM + BATCHES)
    return Trial.clock.used / BATCHES * 1e6, Trial.clock.first - begun


class Adam(Trial):
    layers = (64,)
    of_arrays = True
    clock = Clock()

    def build_model(self):
        dense = tf.keras.layers.Dense
        model = tf.keras.Sequential([dense(units) for units in self.layers] + [dense(10)])
        self.context.wrap_model(model).compile(
            self.context.wrap_optimizer(tf.keras.optimizers.Adam()), loss()
        )


def saved_ms(save):
    """In milliseconds of CPU."""
    with tempfile.TemporaryDirectory() as folder:
        before = time.process_time()
        save(pathlib.Path(folder))
        return (time.process_time() - before) * 1e3


def report_checkpoints(name, trial, run):
    controller = trained(trial, run, 1)

    def weights(path):
        controller._model.save_weights(str(path / "weights"))

    def checkpoint(path):
        controller._checkpoint.save(path, [_random_state.get()])

    turns = [(saved_ms(weights), saved_ms(checkpoint)) for _ in range(SAVES)]
    theirs, ours = (min(times) for times in zip(*turns))
    print(
        f"{name:8} a checkpoint: {ours:.1f} ms, save_weights {theirs:.1f} ms: "
        f"{ours / theirs:.2f} x (budget {BUDGET_CHECKPOINT})"
    )


def main():
    with tempfile.TemporaryDirectory() as home:
        os.environ["DET_HOME"] = os.path.join(home, "store")
        os.makedirs(os.path.join(home, "code"))
        os.chdir(os.path.join(home, "code"))
        config = {
            "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 9999}},
            "hyperparameters": {"global_batch_size": RECORDS},
        }
        with core.init(config=config) as run:
            for name, of_arrays in (("arrays", True), ("tf.data", False)):
                turns = [(plain(of_arrays), ours(run, of_arrays)) for _ in range(TURNS)]
                report(name, turns)
            report_checkpoints("small", Adam, run)
            Adam.layers = (4096, 2048)
            report_checkpoints("large", Adam, run)


def report(name, turns):
    theirs = statistics.median(keras[0] for keras, _ in turns)
    added = statistics.median(trial[0] - keras[0] for keras, trial in turns)
    print(
        f"{name:8} a batch: {theirs + added:6.0f} us, of Keras alone {theirs:6.0f}; "
        f"{added:+6.0f} us (budget {BUDGET_US})"
    )
    start = statistics.median(trial[1] - keras[1] for keras, trial in turns)
    print(f"{name:8} to the first batch: {start:+.3f} s beside fit() (budget {BUDGET_START})")


if __name__ == "__main__":
    main()
