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
BUDGET_US, BUDGET_CHECKPOINT, BUDGET_START = 50, 1.1, 0.2
BUDGET_ORIGINAL = 5

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


def saved_ms(save):
    """In milliseconds of CPU."""
    with tempfile.TemporaryDirectory() as folder:
        before = time.process_time()
        save(pathlib.Path(folder))
        return (time.process_time() - before) * 1e3


def report_checkpoints(name, run):
    """The least of all turns, of which most were disturbed by nothing."""
    ours = keras.trained(keras.Adam, run, 1)
    saves = {
        "save_weights": lambda path: ours._model.save_weights(str(path / "weights")),
        "ours": lambda path: ours._checkpoint.save(path, [_random_state.get()]),
    }
    if (train := original(keras.AdamDefinition)) is not None:
        theirs = train(1)
        saves["original"] = theirs._save_checkpoint
    turns = [[saved_ms(save) for save in saves.values()] for _ in range(SAVES)]
    least = dict(zip(saves, map(min, zip(*turns))))
    alone = least.pop("save_weights")
    text = ", ".join(f"{whose} {ms:.1f} ms: {ms / alone:.2f} x" for whose, ms in least.items())
    print(
        f"{name:8} a checkpoint: save_weights {alone:.1f} ms; {text} (budget {BUDGET_CHECKPOINT})"
    )


def added(turns, trial, figure):
    return statistics.median(turn[trial][figure] - turn[0][figure] for turn in turns)


def report_batches(name, trials):
    of_arrays = name == "arrays"
    turns = [
        [plain(of_arrays), *(of_trial(train, of_arrays) for train in trials)] for _ in range(TURNS)
    ]
    alone = statistics.median(turn[0][0] for turn in turns)
    ours = added(turns, 1, 0)
    print(f"{name:8} a batch: Keras {alone:.0f} us; ours {ours:+.0f} us (budget {BUDGET_US})")
    if len(trials) > 1:
        theirs = added(turns, 2, 0)
        print(f"{name:8} a batch: the original {theirs:+.0f} us (budget {BUDGET_ORIGINAL} x ours)")
    start = added(turns, 1, 1)
    print(f"{name:8} to the first batch: {start:+.3f} s beside fit() (budget {BUDGET_START})")


def seconds_to_first_batch(how):
    program = pathlib.Path(__file__).resolve().with_name("keras_start.py")
    path = {"PYTHONPATH": str(ROOT / "wrappers" / "python")}
    command = [sys.executable, program, how]
    done = subprocess.run(command, env={**os.environ, **path}, stdout=subprocess.PIPE, check=True)
    return float(done.stdout)


def report_start():
    turns = [[seconds_to_first_batch(how) for how in ("plain", "trial")] for _ in range(STARTS)]
    alone, ours = map(min, zip(*turns))
    print(
        f"process  to the first batch: Keras {alone:.2f} s; ours {ours - alone:+.2f} s (budget "
        f"{BUDGET_START})"
    )


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
