"""Examples of trials, under `det run` as people start them. What is paused and killed records what
is recorded undisturbed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import experiments
import programs
import pytest
from conftest import PATIENCE, ROOT, Det
from detcore._det_run import read_config
from detcore.client import Client

pytest.importorskip("detcore.keras", reason="TensorFlow is not installed")

EXAMPLES = ROOT / "examples/python"
NAMES = ["dnn_classifier", "keras_cnn"]


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another folder than that of the repository, in which nothing is to be written."""
    monkeypatch.setenv("DETCORE_PYTHON", sys.executable)
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "2")
    monkeypatch.chdir(tmp_path)
    yield


class Example:
    """Its search, cut short."""

    def __init__(self, name: str, file: str, det: Det, **changes: Any) -> None:
        for program in (EXAMPLES / name).glob("*.py"):
            shutil.copy(program, Path.cwd())
        config = read_config(EXAMPLES / name / file)
        config["data"] = {"images": str(ROOT / "examples/data/digits.csv")}
        config["searcher"] |= changes
        Path(file).write_text(json.dumps(config))
        self._file, self._det = file, det

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [os.environ["DETCORE_COMMAND"], "run", *(arguments or [self._file])]
        with open("said", "ab") as said:
            return subprocess.Popen(
                [*command, "--slots", "2"], stdout=said, stderr=said, stdin=subprocess.DEVNULL
            )

    def run(self, *arguments: str, status: int = 0) -> None:
        assert self.start(*arguments).wait(PATIENCE) == status, Path("said").read_text()

    def validations(self, trial_id: int) -> list[Any]:
        listed = programs.reports(self._det, trial_id)
        return [report for report in listed if report[0] == "validation"]

    def wait_for_validation(self, trial_id: int, at_least: int) -> None:
        def came() -> bool:
            try:
                return len(self.validations(trial_id)) >= at_least
            except (AssertionError, json.JSONDecodeError):  # there is no such trial yet
                return False

        experiments.wait_until(came, f"validation {at_least} of trial {trial_id}")


@pytest.mark.parametrize("name", NAMES)
def test_an_example_that_is_killed_and_paused(name: str, det: Det) -> None:
    example = Example(name, "const.yaml", det, max_length={"epochs": 3})
    process = example.start()
    example.wait_for_validation(1, 1)
    os.kill(programs.trial(det)["runs"][-1]["pid"], signal.SIGKILL)
    example.wait_for_validation(1, 2)
    process.send_signal(signal.SIGINT)
    if process.wait(PATIENCE) != 0:  # it may have been done just before
        example.run("--resume", "1")
    assert [steps for _, steps, _ in example.validations(1)] == [30, 60, 90]
    assert programs.trial(det)["state"] == "COMPLETED"
    example.run()
    assert example.validations(1) == example.validations(2)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_over_two_ranks(name: str, det: Det) -> None:
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun")
    example = Example(name, "distributed.yaml", det, max_length={"epochs": 1})
    example.run()
    [(_, steps, metrics)] = example.validations(1)
    assert steps == 30 and metrics["accuracy" if "accuracy" in metrics else "val_accuracy"] > 0.5


@pytest.mark.parametrize("name", NAMES)
def test_a_search_with_an_example(name: str, det: Det) -> None:
    example = Example(name, "adaptive.yaml", det, max_length={"epochs": 1}, max_trials=2)
    example.run()
    assert [programs.trial(det, number)["state"] for number in (1, 2)] == ["COMPLETED"] * 2
    assert all(example.validations(number) for number in (1, 2))


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*/*.yaml")), ids=lambda p: p.parent.name)
def test_configurations_are_right(file: Path, det: Det) -> None:
    det("config", "check", str(file))


# As trials of releases 0.12 to 0.24 begin, and what they call.
OLDER = {
    "keras_def": """
import numpy as np
import tensorflow as tf
from determined.keras import InputData, TFKerasTensorBoard, TFKerasTrial, TFKerasTrialContext

class Trial(TFKerasTrial):
    def __init__(self, context: TFKerasTrialContext) -> None:
        self.context = context

    def session_config(self) -> tf.compat.v1.ConfigProto:
        return tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1)

    def build_model(self) -> tf.keras.models.Model:
        inputs = tf.keras.layers.Input(shape=(4,))
        outputs = tf.keras.layers.Dense(3, activation="softmax")(inputs)
        model = self.context.wrap_model(tf.keras.models.Model(inputs, outputs))
        optimizer = tf.keras.optimizers.RMSprop(lr=self.context.get_hparam("rate"))
        loss = tf.keras.losses.categorical_crossentropy
        model.compile(optimizer, loss, [tf.keras.metrics.categorical_accuracy])
        return model

    def keras_callbacks(self):
        return [TFKerasTensorBoard(update_freq="batch", profile_batch=0, histogram_freq=1)]

    def build_training_data_loader(self) -> InputData:
        rows = np.linspace(0, 1, 120, dtype=np.float32).reshape(30, 4)
        return rows, np.eye(3, dtype=np.float32)[np.arange(30) % 3]

    build_validation_data_loader = build_training_data_loader
""",
    "estimator_def": """
from typing import Dict
import numpy as np
import tensorflow as tf
from determined import estimator
from determined.estimator import EstimatorTrial, EstimatorTrialContext, ServingInputReceiverFn

COLUMN = tf.feature_column.numeric_column("input", shape=(2,))

class Hook(estimator.RunHook):
    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        open(checkpoint_dir + "/by_hook", "w").close()

class Trial(EstimatorTrial):
    def __init__(self, context: EstimatorTrialContext) -> None:
        self.context = context

    def build_estimator(self) -> tf.estimator.Estimator:
        rate = self.context.get_hparam("rate")
        optimizer = self.context.wrap_optimizer(tf.keras.optimizers.legacy.SGD(rate))
        return tf.estimator.DNNClassifier(
            feature_columns=[COLUMN], hidden_units=[3], activation_fn=tf.nn.sigmoid,
            config=tf.estimator.RunConfig(tf_random_seed=self.context.get_trial_seed()),
            optimizer=optimizer)

    def _input_fn(self):
        def rows():
            x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
            dataset = tf.data.Dataset.from_tensor_slices(({"input": x}, np.array([0, 1, 1, 0])))
            dataset = self.context.wrap_dataset(dataset)
            return dataset.batch(self.context.get_per_slot_batch_size())
        return rows

    def build_train_spec(self) -> tf.estimator.TrainSpec:
        return tf.estimator.TrainSpec(self._input_fn(), max_steps=1, hooks=[Hook()])

    def build_validation_spec(self) -> tf.estimator.EvalSpec:
        return tf.estimator.EvalSpec(self._input_fn(), steps=None)

    def build_serving_input_receiver_fns(self) -> Dict[str, ServingInputReceiverFn]:
        parsing = tf.feature_column.make_parse_example_spec([COLUMN])
        receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(parsing)
        return {"inference": receiver}
""",
}


@pytest.mark.parametrize(
    ("module", "metric", "file"),
    [
        ("keras_def", "val_loss", "determined-keras-optimizer-weights.h5"),
        ("estimator_def", "loss", "by_hook"),
    ],
)
def test_a_trial_of_an_older_release(module: str, metric: str, file: str) -> None:
    Path(module + ".py").write_text(OLDER[module])
    searcher = {"name": "single", "metric": metric, "max_length": {"batches": 4}}
    hparams = {"global_batch_size": 2, "rate": 0.1}
    config = {"entrypoint": f"{module}:Trial", "searcher": searcher, "hyperparameters": hparams}
    Path("config.json").write_text(json.dumps({**config, "scheduling_unit": 2}))
    command = [os.environ["DETCORE_COMMAND"], "run", "config.json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with Client() as reader:
        checkpoint = reader.get_trial(1).latest_checkpoint
        assert checkpoint is not None
        files = checkpoint.resources
    assert file in files
    exported = [name for name in files if name.startswith("inference/")]
    assert bool(exported) == (module == "estimator_def")
