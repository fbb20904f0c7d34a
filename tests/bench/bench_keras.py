#!/usr/bin/env python3
"""A TFKerasTrial against plain Keras and the original's TFKerasTrial, in one process, turn by turn.

A batch: the CPU of all threads from the 20th to the 220th batch of one fit(), the median of the
turns; what Keras trains is the same. A checkpoint: of the controller, without the store that takes
it, against Model.save_weights() of the same model with Adam, a small one and one of 46 MB, whose
state is twice that. The start: from the trial's class to its first
batch, of which fit() on the same model needs a part, too.
"""

import functools
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "wrappers" / "python"))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

TURNS = 15
SAVES = 40
STARTS = 5

VENV = pathlib.Path(os.environ.get("DETCORE_VENV_INTEGRATIONS", ROOT / ".venv-integrations"))
if VENV.exists() and pathlib.Path(sys.prefix) != VENV:
    os.execv(VENV / "bin/python", [VENV / "bin/python", *sys.argv])

try:
    import keras_definition as keras
    from detcore import core
    from detcore.trial import _random_state
except ImportError as missing:
    print(f"keras: left out: {missing}")
    sys.exit(0)
import original_trials
from row import row


def plain(of_arrays):
    begun = time.perf_counter()
    clock = keras.Clock()
    model = keras.make_model()
    model.compile("sgd", keras.loss(), ["accuracy"])
    batches = keras.WARM + keras.BATCHES
    if of_arrays:
        epochs = -(-batches * keras.RECORDS // len(keras.IMAGES))
        data = {"x": keras.IMAGES, "y": keras.LABELS, "batch_size": keras.RECORDS, "epochs": epochs}
    else:
        data = {"x": keras.dataset(), "steps_per_epoch": batches}
    model.fit(**data, callbacks=[clock], verbose=0, shuffle=False)
    return clock.us_of_batch(), clock.first - begun


def of_trial(train, of_arrays):
    begun = time.perf_counter()
    clock = keras.Clock()
    keras.Definition.of_arrays, keras.Definition.clock = of_arrays, clock
    train(keras.WARM + keras.BATCHES)
    return clock.us_of_batch(), clock.first - begun


def original(definition):
    """Trains one of the original's by this definition; None where the original cannot be had."""
    try:
        layer = original_trials.import_original(*original_trials.KERAS)
    except ImportError as missing:
        print(f"original: left out: {missing}")
        return None
    trial = type("OriginalTrial", (definition, layer.TFKerasTrial), {})
    return functools.partial(original_trials.trained, trial, keras.CONFIG)


def cpu_of(save):
    """Seconds."""
    with tempfile.TemporaryDirectory() as folder:
        before = time.process_time()
        save(pathlib.Path(folder))
        return time.process_time() - before


def report_checkpoints(name, run):
    ours = keras.trained(keras.Adam, run, 1)
    saves = {
        "save_weights": lambda path: ours._model.save_weights(str(path / "weights")),
        "ours": lambda path: ours._checkpoint.save(path, [_random_state.get()]),
    }
    if (train := original(keras.AdamDefinition)) is not None:
        theirs = train(1)
        saves["original"] = theirs._save_checkpoint
    turns = [[cpu_of(save) for save in saves.values()] for _ in range(SAVES)]
    medians = dict(zip(saves, map(statistics.median, zip(*turns))))
    what = f"Keras: CPU of a checkpoint, {name}"
    row(what, medians["ours"], "save_weights()", medians["save_weights"], goal=1.1)
    if "original" in medians:
        row(what, medians["ours"], "determined 0.33.0", medians["original"])


def report_batches(name, trials):
    of_arrays = name == "arrays"
    turns = [
        [plain(of_arrays), *(of_trial(train, of_arrays) for train in trials)] for _ in range(TURNS)
    ]
    # Of plain Keras and each trial the CPU of a batch, and the time to the first one.
    medians = [[statistics.median(column) for column in zip(*of_one)] for of_one in zip(*turns)]
    (alone, fit), (ours, start), *theirs = medians
    what = f"Keras: CPU of a batch of {name}"
    row(what, ours / 1e6, "fit()", alone / 1e6)
    if theirs:
        row(what, ours / 1e6, "determined 0.33.0", theirs[0][0] / 1e6)
    row(f"Keras: to the first batch of {name}", start, "fit()", fit)


def seconds_to_first_batch(how):
    program = pathlib.Path(__file__).resolve().with_name("keras_start.py")
    path = {"PYTHONPATH": str(ROOT / "wrappers" / "python")}
    command = [sys.executable, program, how]
    done = subprocess.run(command, env={**os.environ, **path}, stdout=subprocess.PIPE, check=True)
    return float(done.stdout)


def report_start():
    turns = [[seconds_to_first_batch(how) for how in ("plain", "trial")] for _ in range(STARTS)]
    alone, ours = map(statistics.median, zip(*turns))
    row("Keras: a process up to its first batch", ours, "a process with fit()", alone)


def main():
    theirs = original(keras.Definition)
    with tempfile.TemporaryDirectory() as home:
        os.environ["DET_HOME"] = os.path.join(home, "store")
        os.makedirs(os.path.join(home, "code"))
        os.chdir(os.path.join(home, "code"))
        report_start()
        with core.init(config=keras.CONFIG) as run:
            ours = functools.partial(keras.trained, keras.Trial, run)
            for name in ("arrays", "tf.data"):
                report_batches(name, [ours, theirs] if theirs else [ours])
            report_checkpoints("small", run)
            keras.AdamDefinition.layers = (4096, 2048)
            report_checkpoints("large", run)


if __name__ == "__main__":
    main()
