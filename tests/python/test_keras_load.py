"""load_model_from_checkpoint_path(), of checkpoints that a trial of detcore.keras wrote."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("detcore.keras", reason="TensorFlow is not installed")

import detcore.compat  # noqa: F401  for code in checkpoints of the original
import keras_original
import keras_recorder
import trial_recorder
from detcore import core, estimator, keras
from detcore._code import import_from_path
from detcore.keras import TFKerasTrialContext, load_model_from_checkpoint_path
from detcore.keras._controller import Controller
from detcore.trial import Environment, ExperimentConfig, InvalidExperimentException, _code
from keras_runs import Run, check_same
from test_keras_traces import FOLDER
from test_signatures import assert_names

PROGRAM = """
import os
import numpy as np
import tensorflow as tf
from detcore import keras

ROWS = np.arange(9, dtype=np.float32).reshape(-1, 1)
IMPORTED_IN = os.getcwd()

class Trial(keras.TFKerasTrial):
    def __init__(self, context):
        self.context = context
        context.configure_fit(verbose=False, shuffle=False)

    def build_model(self):
        dense = tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
        model = self.context.wrap_model(tf.keras.Sequential([dense]))
        model.build((None, 1))
        rate = self.context.get_hparam("lr")
        model.compile(self.context.wrap_optimizer(tf.keras.optimizers.SGD(rate)), "mse")
        return model

    def build_training_data_loader(self):
        return ROWS, ROWS * FACTOR

    build_validation_data_loader = build_training_data_loader
"""
HPARAMS = {"global_batch_size": 9, "lr": 0.01}
CONFIG = {"entrypoint": "model_def:Trial", "hyperparameters": HPARAMS}


def saved(folder: Path, factor: int) -> Path:
    """A checkpoint of a trial that learned from one batch that y is x times `factor`."""
    code = folder / f"code{factor}"
    code.mkdir()
    (code / "model_def.py").write_text(PROGRAM.replace("FACTOR", str(factor)))
    os.chdir(code)
    given = TFKerasTrialContext(Environment(ExperimentConfig(CONFIG), HPARAMS))
    recorder = keras_recorder.Recorder({})
    with core.init() as run:
        workloads = trial_recorder.Workloads(recorder, {"workloads": [["T", 1], ["C"]]})
        workloads.respond = lambda response: None  # type: ignore[method-assign]
        with import_from_path(code):
            from model_def import Trial  # type: ignore[import-not-found]

            Controller(Trial, given, run, workloads).run()
        [entry] = run.checkpoint.list()
        run.checkpoint.download(entry.storage_id, folder / f"saved{factor}")
    os.chdir(folder)
    return folder / f"saved{factor}"


def weight(model: Any) -> float:
    return float(model.trainable_variables[0].numpy()[0, 0])


def test_models_of_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    twice, thrice = saved(tmp_path, 2), saved(tmp_path, 3)
    models = [load_model_from_checkpoint_path(str(path)) for path in (twice, thrice)]
    assert weight(models[1]) == pytest.approx(weight(models[0]) * 3 / 2) != 0
    assert models[0]._is_compiled and type(models[0]).__name__ == "Sequential"
    assert os.getcwd() == str(tmp_path)

    other = load_data(twice, trial_type="PyTorchTrial")
    assert weight(load_model_from_checkpoint_path(str(twice))) == weight(models[0])
    assert "PyTorchTrial" in caplog.text

    (twice / "load_data.json").unlink()
    with pytest.raises(KeyError, match="experiment_config"):
        load_model_from_checkpoint_path(str(twice))
    facts = {"framework": "tensorflow-2.4", "format": "saved_weights"}
    metadata(twice, {**facts, "experiment_config": CONFIG, "hparams": HPARAMS})
    assert weight(load_model_from_checkpoint_path(str(twice))) == weight(models[0])
    models[1].save(str(twice / "determined-keras-model.h5"))
    old = {**facts, "format": "h5", "experiment_config": CONFIG, "hparams": HPARAMS}
    metadata(twice, old)
    assert weight(load_model_from_checkpoint_path(str(twice))) == weight(models[1])
    metadata(twice, {**old, "format": "cuneiform"})
    with pytest.raises(AssertionError, match="cuneiform"):
        load_model_from_checkpoint_path(str(twice))
    (twice / "metadata.json").unlink()
    with pytest.raises(AssertionError, match="download the whole checkpoint"):
        load_model_from_checkpoint_path(str(twice))
    (twice / "load_data.json").write_text(json.dumps(other))
    (twice / "code" / "model_def.py").write_text("raise SystemExit(3)")
    with pytest.raises(InvalidExperimentException, match="ended the program"):
        load_model_from_checkpoint_path(str(twice))
    shutil.rmtree(thrice)


def load_data(path: Path, **changes: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((path / "load_data.json").read_text())
    assert facts["trial_cls_spec"] == "model_def:Trial" and facts["hparams"] == HPARAMS
    facts.update(changes)
    (path / "load_data.json").write_text(json.dumps(facts))
    return facts


def metadata(path: Path, facts: dict[str, Any]) -> None:
    (path / "metadata.json").unlink(missing_ok=True)
    (path / "metadata.json").write_text(json.dumps(facts))


def test_scripts_written_against_determined_find_it_and_others_do_not_wait_for_it() -> None:
    lazy = "import sys, detcore, detcore.trial; assert 'tensorflow' not in sys.modules\n"
    original = "from determined.keras import TFKerasTrial, TFKerasTrialContext\n"
    original += "from determined.keras.callbacks import EarlyStopping\nimport determined as det\n"
    original += "assert det.keras.TFKerasTrial is TFKerasTrial\n"
    original += "assert issubclass(TFKerasTrialContext, det.TrialContext)\n"
    program = f"{lazy}import detcore.compat\n{original}print('found')"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert done.stdout == "found\n"


@pytest.mark.parametrize("version", keras_original.OTHER_STATES)
def test_checkpoints_of_the_original(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    saved = tmp_path / "saved"
    (saved / "code").mkdir(parents=True)
    text = PROGRAM.replace("from detcore import keras", "import determined.keras as keras")
    (saved / "code" / "model_def.py").write_text(text.replace("FACTOR", "2"))
    keras_original.write(saved, version, CONFIG)
    facts = keras_original.metadata(version)
    (saved / "metadata.json").write_text(json.dumps(facts))
    assert weight(load_model_from_checkpoint_path(str(saved))) == pytest.approx(0.263119787)

    # A trial goes on from it as the original did from its own.
    (saved / "metadata.json").unlink()
    trace = json.loads((FOLDER / "k-ckpt-adam.json").read_text())
    run = Run(trace)
    with core.init() as context:
        run.ids[context.checkpoint.upload(saved, facts)] = "ckpt-1"
    recorded = trace["phases"][1]
    done = run.phase(recorded)
    if "failure" in done:
        raise done["failure"]
    check_same(done, recorded, recorded["events"], version)


CACHE, SHUFFLE = "dataset_id dataset_version shuffle", "skip_shuffle_at_epoch_end"
NAMES: list[tuple[Any, str]] = [
    (keras.TFKerasTrial, "context"),
    (
        keras.TFKerasTrialContext.configure_fit,
        "verbose class_weight workers use_multiprocessing max_queue_size shuffle validation_steps",
    ),
    (keras.TFKerasTrialContext.wrap_dataset, "dataset shard_dataset"),
    (keras.TFKerasTrialContext.wrap_optimizer, "optimizer"),
    (keras.TFKerasTrialContext.wrap_model, "model"),
    (keras.TFKerasTrialContext.from_config, "config"),
    (keras.SequenceAdapter, "sequence use_multiprocessing workers max_queue_size"),
    (keras.load_model_from_checkpoint_path, "path tags"),
    (keras.callbacks.Callback.load_state, "state"),
    (keras.callbacks.Callback.on_checkpoint_end, "checkpoint_dir"),
    (
        keras.callbacks.Callback.on_train_workload_begin,
        "total_batches_trained batches_requested logs",
    ),
    (keras.callbacks.Callback.on_train_workload_end, "total_batches_trained logs"),
    (estimator.EstimatorTrial, "context"),
    (estimator.EstimatorTrialContext.wrap_optimizer, "optimizer"),
    (estimator.EstimatorTrialContext.wrap_dataset, "dataset shard_dataset"),
    (estimator.EstimatorTrialContext.make_metric, "metric reducer numpy_dtype"),
    (estimator.EstimatorExperimentalContext.make_metric, "metric reducer numpy_dtype"),
    (estimator.EstimatorExperimentalContext.cache_train_dataset, CACHE + " " + SHUFFLE),
    (estimator.EstimatorExperimentalContext.cache_validation_dataset, CACHE),
    (estimator.MetricReducer.accumulate, "metric"),
    (estimator.MetricReducer.cross_slot_reduce, "per_slot_metrics"),
    (estimator.RunHook.on_checkpoint_load, "checkpoint_dir"),
    (estimator.RunHook.on_checkpoint_end, "checkpoint_dir"),
    (estimator.init, "config local test context_dir command master_url"),
    (estimator.load_estimator_from_checkpoint_path, "path tags"),
]


@pytest.mark.parametrize(("function", "names"), NAMES, ids=lambda value: str(value))
def test_arguments_have_the_names_that_trials_use(function: Any, names: str) -> None:
    assert_names(function, names)


def test_names_of_older_releases() -> None:
    def found(module: str, name: str) -> Any:
        return getattr(importlib.import_module(module), name)

    board = found("determined.keras", "TFKerasTensorBoard")
    assert board is keras.callbacks.TensorBoard
    assert board(update_freq="batch", profile_batch=0, histogram_freq=1).update_freq == 1
    receiver = found("determined.estimator", "ServingInputReceiverFn")
    assert typing.get_args(receiver) == (..., Any)


def test_secrets_of_the_configuration_stay_out() -> None:
    config: dict[str, Any] = {
        "name": "x",
        "checkpoint_storage": {"type": "s3", "bucket": "b", "secret_key": "S", "access_key": ""},
        "environment": {"registry_auth": {"username": "u", "password": "S"}},
        "data": {"secrets": {"a": {"b": "S"}}, "secret_key": "no secret"},
    }
    shown = _code.without_secrets(config)
    assert '"S"' not in json.dumps(shown)
    assert shown["checkpoint_storage"] == {**config["checkpoint_storage"], "secret_key": "********"}
    assert shown["data"]["secret_key"] == "no secret"
