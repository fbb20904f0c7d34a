#!/usr/bin/env python3
"""An EstimatorTrial against plain estimator.train() and the original's EstimatorTrial, in one
process, turn by turn: the CPU of all threads from the 20th to the 220th batch of one training, the
median of the turns. What TensorFlow trains is the same.
"""

import functools
import logging
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

TURNS = 15
WARM, BATCHES = 20, 200
RECORDS = 16
CONFIG = {
    "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 9999}},
    "hyperparameters": {"global_batch_size": RECORDS},
}

VENV = pathlib.Path(os.environ.get("DETCORE_VENV_INTEGRATIONS", ROOT / ".venv-integrations"))
if VENV.exists() and pathlib.Path(sys.prefix) != VENV:
    os.execv(VENV / "bin/python", [VENV / "bin/python", *sys.argv])

try:
    import tensorflow as tf
    from detcore import core
    from detcore.estimator import EstimatorTrial, EstimatorTrialContext
    from detcore.estimator._controller import Controller
    from detcore.trial import Environment, Workload, WorkloadKind
except ImportError as missing:
    print(f"estimator: left out: {missing}")
    sys.exit(0)
import numpy as np
import original_trials
from row import row

IMAGES = np.random.default_rng(1).random((RECORDS * 64, 784), dtype=np.float32)
LABELS = np.arange(RECORDS * 64) % 10
tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
logging.getLogger().setLevel(logging.ERROR)


def dataset():
    data = tf.data.Dataset.from_tensor_slices(({"image": IMAGES}, LABELS))
    return data.repeat().batch(RECORDS)


def estimator(wrap, folder=None):
    columns = [tf.feature_column.numeric_column("image", shape=[784])]
    optimizer = wrap(tf.keras.optimizers.legacy.SGD(0.01))
    config = tf.estimator.RunConfig(model_dir=folder, tf_random_seed=1, save_summary_steps=10**9)
    return tf.estimator.DNNClassifier(
        [64], columns, n_classes=10, optimizer=optimizer, config=config
    )


class Clock(tf.estimator.SessionRunHook):
    """Of the batches of a training."""

    def __init__(self):
        self.seen = 0
        self.begun = self.used = 0.0

    def after_run(self, run_context, run_values):
        self.seen += 1
        if self.seen == WARM:
            self.begun = time.process_time()
        elif self.seen == WARM + BATCHES:
            self.used = time.process_time() - self.begun

    def us_of_batch(self):
        """Of CPU, of all threads."""
        return self.used / BATCHES * 1e6


def plain():
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        made = estimator(lambda optimizer: optimizer, folder)
        made.train(dataset, hooks=[clock], steps=WARM + BATCHES)
    return clock.us_of_batch()


class Definition:
    """Of a trial, ours or the original's."""

    clock = None

    def __init__(self, context):
        self.context = context

    def build_estimator(self):
        return estimator(self.context.wrap_optimizer)

    def build_train_spec(self):
        data = lambda: self.context.wrap_dataset(dataset())  # noqa: E731
        return tf.estimator.TrainSpec(data, hooks=[self.clock])

    def build_validation_spec(self):
        return tf.estimator.EvalSpec(lambda: self.context.wrap_dataset(dataset()), steps=1)


class Trial(Definition, EstimatorTrial):
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


def trained(run, batches):
    context = EstimatorTrialContext(Environment.of_run(run.info), run)
    Controller(Trial, context, run, Workloads(batches)).run()


def of_trial(train):
    Definition.clock = Clock()
    train(WARM + BATCHES)
    return Definition.clock.us_of_batch()


def original():
    """Trains one of the original's; None where it cannot be had."""
    try:
        layer = original_trials.import_original(*original_trials.ESTIMATOR)
    except ImportError as missing:
        print(f"original: left out: {missing}")
        return None
    trial = type("OriginalTrial", (Definition, layer.EstimatorTrial), {})
    return functools.partial(original_trials.trained, trial, CONFIG)


def main():
    theirs = original()
    with tempfile.TemporaryDirectory() as home:
        os.environ["DET_HOME"] = os.path.join(home, "store")
        os.makedirs(os.path.join(home, "code"))
        os.chdir(os.path.join(home, "code"))
        with core.init(config=CONFIG) as run:
            trials = [functools.partial(trained, run), theirs]
            turns = [
                [plain(), *(of_trial(train) for train in trials if train)] for _ in range(TURNS)
            ]
    alone, ours, *theirs = (statistics.median(times) / 1e6 for times in zip(*turns))
    row("Estimator: CPU of a batch", ours, "train()", alone)
    if theirs:
        row("Estimator: CPU of a batch", ours, "determined 0.24.0", theirs[0])


if __name__ == "__main__":
    main()
