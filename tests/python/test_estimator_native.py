"""Scripts that train an estimator without a class: recorded ones, and one under det run."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Det

pytest.importorskip("detcore.estimator", reason="TensorFlow is not installed")

import estimator_recorder
import programs
from detcore.estimator import init
from detcore.trial._tensorflow import tf
from trial_recorder import differences

FOLDER = ROOT / "tests/data/trials/native"
ABOUT: dict[str, Any] = {
    "train": {"set": "ramp", "n": 10},
    "val": {"set": "ramp", "n": 10},
    "summaries": [],
}
CONFIG = {"hyperparameters": {"global_batch_size": 3}}


def trained(recorder: estimator_recorder.Recorder, given: dict[str, Any]) -> None:
    config = None if given.get("no_config") else CONFIG
    folder, path = os.getcwd(), list(sys.path)
    context = init(config, **given["init"])
    facts = {
        "cwd_restored": os.getcwd() == folder,
        "sys_path_restored": sys.path == path,
        "global_batch_size": context.get_global_batch_size(),
        "per_slot_batch_size": context.get_per_slot_batch_size(),
        "hparams": context.get_hparams(),
        "scheduling_unit": context.get_experiment_config()["scheduling_unit"],
        "serving": context.serving_input_receiver_fns,
        "eager": tf.executing_eagerly(),
    }
    recorder.add("init returned", type(context).__name__, facts)
    for _ in range(2 if given.get("twice") else 1):
        model = estimator_recorder.model_fn(recorder, context, {})
        data = [estimator_recorder.input_fn(recorder, context, mode) for mode in ("train", "eval")]
        hooks = [estimator_recorder.hook(recorder, {"tag": "A"})]
        result = context.train_and_evaluate(  # type: ignore[func-returns-value]
            tf.estimator.Estimator(model),
            tf.estimator.TrainSpec(data[0], hooks=hooks),
            tf.estimator.EvalSpec(data[1]),
        )
        recorder.add("train_and_evaluate returned", type(result).__name__)


@pytest.mark.parametrize("case", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_recorded_scripts(case: Path) -> None:
    trace = json.loads(case.read_text())
    recorder = estimator_recorder.Recorder(ABOUT)
    kind = None
    try:
        trained(recorder, trace["input"])
    except BaseException as failure:
        kind = type(failure).__name__
        if kind not in ("NotImplementedError", "InvalidExperimentException", "AssertionError"):
            raise
    expected = newest_only(trace["events"])
    if trace["input"].get("twice"):  # ours trains again, from the beginning
        assert kind is None
        first = trained_part(expected)
        assert differences(trained_part(recorder.events), first * 2, "twice") == []
    else:
        assert kind == trace.get("error")
        assert differences(recorder.events, expected, case.stem) == []


def trained_part(events: list[Any]) -> list[Any]:
    ends = [i for i, event in enumerate(events) if event[0] == "train_and_evaluate returned"]
    return events[1 : ends[-1] + 1]


def newest_only(events: list[Any]) -> list[Any]:
    """The release of these recordings also kept the model before the first batch; later ones, whose
    recordings are in another folder, do not."""
    for event in events:
        if event[2:3] == ["on_checkpoint_end"]:
            event[3]["files_present"] = [f for f in event[3]["files_present"] if "-0." not in f]
    return events


SCRIPT = """
import tensorflow as tf
from determined.estimator import EstimatorNativeContext
from determined.experimental.estimator import init

context = init(context_dir=".")
assert isinstance(context, EstimatorNativeContext)

def model(features, labels, mode):
    weight = tf.compat.v1.get_variable("w", [], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean((weight * features - labels) ** 2)
    optimizer = context.wrap_optimizer(tf.compat.v1.train.GradientDescentOptimizer(0.01))
    step = tf.compat.v1.train.get_global_step()
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, step))

def data():
    numbers = tf.data.Dataset.from_tensor_slices(([1.0, 2.0], [2.0, 4.0]))
    return context.wrap_dataset(numbers).batch(context.get_per_slot_batch_size())

context.train_and_evaluate(
    tf.estimator.Estimator(model), tf.estimator.TrainSpec(data), tf.estimator.EvalSpec(data)
)
raise SystemExit("the script went on")
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_script_is_a_trial_of_det_run(ranks: int, tmp_path: Path, det: Det) -> None:
    if ranks > 1 and shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun")
    (tmp_path / "train.py").write_text(SCRIPT)
    config = {
        "entrypoint": [sys.executable, "-m", "detcore.compat", str(tmp_path / "train.py")],
        "resources": {"slots_per_trial": ranks},
        "hyperparameters": {"global_batch_size": 2},
        "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 3}},
        "max_restarts": 0,
    }
    (tmp_path / "experiment.json").write_text(json.dumps(config))
    det("run", str(tmp_path / "experiment.json"), "--slots", "2")
    assert programs.trial(det, 1)["state"] == "COMPLETED"
    # Of the mean of all rows, whichever rank has them.
    weight = 0.0
    for _ in range(3):
        weight += 0.01 * (2.0 - weight) * (1 + 4)
    loss = (2.0 - weight) ** 2 * (1 + 4) / 2
    [*_, (group, _, metrics)] = programs.reports(det)
    assert group == "validation" and metrics["loss"] == pytest.approx(loss, rel=1e-5)
