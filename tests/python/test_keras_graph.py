"""Trials of tf.keras that turn eager execution off."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("detcore.keras", reason="TensorFlow is not installed")

from detcore.client import Client, Trial

PROGRAM = """
import os
import sys
import numpy as np
import tensorflow as tf
import detcore.compat
import detcore.trial
from detcore import keras

tf.compat.v1.disable_eager_execution()
ROWS = np.arange(64, dtype=np.float32).reshape(-1, 1) / 64
OPTIMIZERS = {
    "adam": lambda: tf.keras.optimizers.legacy.Adam(0.01),
    "name": lambda: "rmsprop",
}

class Stop(keras.callbacks.Callback):
    def __init__(self, at):
        super().__init__()
        self.at = at

    def on_train_workload_end(self, total_batches_trained, logs):
        if total_batches_trained == self.at:
            self.model.stop_training = True

class Trial(keras.TFKerasTrial):
    def __init__(self, context):
        self.context = context
        context.configure_fit(verbose=False, shuffle=False)

    def build_model(self):
        def dense(units, **options):
            start = tf.keras.initializers.RandomUniform(-1, 1, seed=units)
            return tf.keras.layers.Dense(units, kernel_initializer=start, **options)

        model = tf.keras.Sequential([dense(4, activation="tanh", input_shape=(1,)), dense(1)])
        model = self.context.wrap_model(model)
        optimizer = OPTIMIZERS[self.context.get_hparam("optimizer")]()
        if not isinstance(optimizer, str):
            optimizer = self.context.wrap_optimizer(optimizer)
        model.compile(optimizer, "mse", metrics=["mae"])
        return model

    def keras_callbacks(self):
        own = keras.callbacks
        always = [own.EarlyStopping(patience=9), own.ReduceLROnPlateau(patience=9)]
        return [*always, own.TensorBoard(), Stop(int(os.environ.get("STOP_AT", 0)))]

    def build_training_data_loader(self):
        if self.context.get_hparam("data") == "arrays":
            return ROWS, ROWS * 3
        rows = self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices((ROWS, ROWS * 3)))
        return rows.batch(self.context.get_per_slot_batch_size())

    build_validation_data_loader = build_training_data_loader

if __name__ == "__main__":
    detcore.trial.run(Trial, "config.json", external_id=sys.argv[1])
"""
CONFIG: dict[str, Any] = {
    "entrypoint": "model_def:Trial",
    "searcher": {"name": "single", "metric": "val_loss", "max_length": {"batches": 32}},
    "min_validation_period": {"batches": 16},
    "scheduling_unit": 8,
}


def train(folder: Path, external_id: str, *launcher: str) -> None:
    command = [*launcher, sys.executable, "model_def.py", external_id]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def prepare(folder: Path, optimizer: str, data: str, **config: Any) -> None:
    (folder / "model_def.py").write_text(PROGRAM)
    hparams = {"global_batch_size": 8, "optimizer": optimizer, "data": data}
    text = json.dumps({**CONFIG, "hyperparameters": hparams, **config})
    (folder / "config.json").write_text(text)


def losses(trial: Trial) -> dict[str, list[float]]:
    return {
        name: list(trial.metrics(name, "validation").values) for name in ("val_loss", "val_mae")
    }


@pytest.mark.parametrize(("optimizer", "data"), [("adam", "arrays"), ("name", "dataset")])
def test_a_trial_goes_on_from_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, optimizer: str, data: str
) -> None:
    prepare(tmp_path, optimizer, data)
    train(tmp_path, "whole")
    monkeypatch.setenv("STOP_AT", "24")
    train(tmp_path, "halves")
    monkeypatch.delenv("STOP_AT")
    with Client() as reader:
        trial = reader.get_trial("halves")
        assert trial.steps_completed == 24
        train(tmp_path, "halves")
        trial.reload()
        whole = losses(reader.get_trial("whole"))
        assert len(whole["val_loss"]) == 2 and whole["val_loss"][1] < whole["val_loss"][0]
        assert losses(trial) == {name: pytest.approx(found) for name, found in whole.items()}
        assert trial.latest_checkpoint is not None
        kept = trial.latest_checkpoint.download(tmp_path / "kept")
    program = (
        "import sys, numpy as np, detcore.compat\n"
        "from detcore.keras import load_model_from_checkpoint_path as load\n"
        "model = load(sys.argv[1])\n"
        "rows = np.arange(64, dtype=np.float32).reshape(-1, 1) / 64\n"
        "print(np.mean((model.predict(rows, verbose=0) - rows * 3) ** 2))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, kept], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(whole["val_loss"][1], rel=1e-4)
