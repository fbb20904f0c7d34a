#!/usr/bin/env python3
"""A TFKerasTrial in one process, over two ranks, and over two ranks whose gradients Horovod
averages, where that is installed; turn by turn.

Each rank trains batches of the size that the one process has. Records a second are those from the
30th batch on, by the clock, the median of the turns; with other work on the machine, two ranks wait
for the slower one. The CPU of a batch, which that does not change as much, is that of rank 0.
"""

import gc
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import bench_keras  # noqa: F401 (in whose environment this goes on)
from detcore import core
from detcore.keras import TFKerasTrial, TFKerasTrialContext
from detcore.keras._controller import Controller
from detcore.trial import Environment
from detcore.trial._horovod import join_ranks
from keras_definition import Workloads, loss, np, tf
from row import row

TURNS, RANKS, WARM = 3, 2, 30
layers = tf.keras.layers


def mlp():
    return [layers.Dense(128, "relu", input_shape=(784,)), layers.Dense(64, "relu")]


def cnn():
    return [
        layers.Reshape((28, 28, 1), input_shape=(784,)),
        layers.Conv2D(32, 3, activation="relu"),
        layers.Conv2D(64, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(128, "relu"),
    ]


#: The model, the records of a batch, and how many are timed.
MODELS = {"mlp": (mlp, 32, 400), "cnn": (cnn, 16, 60)}


class Clock(tf.keras.callbacks.Callback):
    seen = 0

    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1
        if self.seen == WARM:
            self.begun = time.perf_counter(), time.process_time()
        self.ended = time.perf_counter(), time.process_time()


class Trial(TFKerasTrial):
    model = "mlp"
    clock = Clock()

    def __init__(self, context):
        self.context = context
        context.configure_fit(verbose=False, shuffle=False)

    def build_model(self):
        hidden = MODELS[self.model][0]()
        model = self.context.wrap_model(tf.keras.Sequential([*hidden, layers.Dense(10)]))
        model.compile(self.context.wrap_optimizer(tf.keras.optimizers.SGD()), loss())

    def build_training_data_loader(self):
        records = 32 * MODELS[self.model][1]
        images = np.random.default_rng(1).random((records, 784), dtype=np.float32)
        return images, np.arange(records) % 10

    build_validation_data_loader = build_training_data_loader

    def keras_callbacks(self):
        return [self.clock]


def train(name):
    """As a rank, or alone: prints the seconds, and those of CPU, of the batches that are timed."""
    Trial.model = name
    _, records, batches = MODELS[name]
    with join_ranks() as ranks:
        config = {
            "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 9999}},
            "hyperparameters": {"global_batch_size": records * ranks.size},
            "resources": {"slots_per_trial": ranks.size},
        }
        with core.init(
            distributed=ranks, config=config, preempt_mode=core.PreemptMode.ChiefOnly
        ) as run:
            context = TFKerasTrialContext(Environment.of_run(run.info), run)
            Controller(Trial, context, run, Workloads(WARM + batches)).run()
        if ranks.rank == 0:
            took = [end - begin for begin, end in zip(Trial.clock.begun, Trial.clock.ended)]
            print(json.dumps(took), flush=True)


def timed(name, ranks, variables):
    """Records a second, and the CPU of a batch in milliseconds."""
    _, records, batches = MODELS[name]
    launcher = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    program = [sys.executable, os.path.abspath(__file__), name]
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [*launcher, *program] if ranks > 1 else program,
            env={**os.environ, "DET_HOME": f"{home}/store", **variables},
            cwd=home,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
        )
    seconds, cpu = json.loads(done.stdout)
    return ranks * records * batches / seconds, cpu / batches * 1e3


def report(name, ways):
    turns = [{way: timed(name, *given) for way, given in ways.items()} for _ in range(TURNS)]
    speeds, cpus = ({way: statistics.median(turn[way][of] for turn in turns) for way in ways} for of in (0, 1))
    for rival, goal in (("one process", 0), ("Horovod", 0.95)):
        if rival in ways:
            row(f"Keras: {name} over two ranks", speeds["two ranks"], rival, speeds[rival], "records/s", goal)
            row(f"Keras: CPU of a batch of {name} over two ranks", cpus["two ranks"] / 1e3, rival, cpus[rival] / 1e3)


def main():
    if shutil.which("mpirun") is None:
        print("ranks of trials: left out: there is no mpirun")
        return
    ways = {"one process": (1, {}), "two ranks": (RANKS, {})}
    if importlib.util.find_spec("horovod"):
        ways["Horovod"] = (RANKS, {"USE_HOROVOD": "1"})
    else:
        print("Horovod is not installed: its ratio is left out")
    for name in MODELS:
        report(name, ways)


if __name__ == "__main__":
    if sys.argv[1:]:
        train(sys.argv[1])
        Trial.clock = None
        gc.collect()  # what was trained refers to its job in circles, and MPI ends with the job
    else:
        main()
