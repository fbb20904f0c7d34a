"""Checkpoints in the layout in which determined wrote those of a TFKerasTrial."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import h5py
import keras_trials
import numpy as np
from detcore.keras._tensorflow import tf

# What the recorded run k-ckpt-adam had learned when it was saved.
KERNEL, FIRST_MOMENT, SECOND_MOMENT, STEPS = 0.263119787, -11.1018934, 7.52295637, 3
# By version: besides the states of the trial's callbacks and of the history.
OTHER_STATES: dict[str, list[Any]] = {"0.19.10": [{"total_batch": STEPS}], "0.33.0": []}


def write(folder: Path, version: str, config: dict[str, Any]) -> None:
    """That of k-ckpt-adam, after its first three batches."""
    model, loss, _ = keras_trials.model({"model": "onevar"})
    optimizer = tf.keras.optimizers.Adam(0.1)
    model.compile(optimizer, loss)
    optimizer.build(model.trainable_variables)
    model.trainable_variables[0].assign([[KERNEL]])
    moments = {"Adam/m/w/kernel:0": [[FIRST_MOMENT]], "Adam/v/w/kernel:0": [[SECOND_MOMENT]]}
    values: dict[str, Any] = {"iteration:0": np.int64(STEPS)}
    values |= {name: np.array(value, np.float32) for name, value in moments.items()}
    learned = [v for v in optimizer.variables if "learning_rate" not in v.name]
    for variable, value in zip(learned, values.values()):
        variable.assign(value)
    model.save_weights(str(folder / "determined-keras-model-weights"), save_format="tf")
    with h5py.File(folder / "determined-keras-optimizer-weights.h5", "w") as file:
        group = file.create_group("optimizer-0").create_group("optimizer_weights")
        group.attrs["weight_names"] = [name.encode() for name in values]
        for name, value in values.items():
            group.create_dataset(name, data=value)
    generator = tf.random.get_global_generator()
    dump(
        folder / "rng_state.pkl",
        {
            "np_rng_state": np.random.get_state(),
            "random_rng_state": random.getstate(),
            "tf2_rng_global_algorithm": 1,
            "tf2_rng_global_state": generator.state,  # the variable
        },
    )
    progress: dict[str, Any] = {"epoch": 0, "want_epoch_begin": False, "epoch_batches": STEPS}
    progress |= {"latest_training_metrics": {"loss": 16.1508045}, "total_batches": STEPS}
    states = [{"n": 0, "tag": "A"}, {"val_loss": [12.3078289]}, *OTHER_STATES[version]]
    dump(folder / "determined-callbacks.v1.pkl", {"self": progress, "callbacks": states})
    facts = {"trial_type": "TFKerasTrial", "trial_cls_spec": "model_def:Trial"}
    hparams = config["hyperparameters"]
    text = json.dumps({**facts, "experiment_config": config, "hparams": hparams})
    (folder / "load_data.json").write_text(text)


def metadata(version: str) -> dict[str, Any]:
    framework = f"tensorflow-{tf.__version__}"
    return {
        "determined_version": version,
        "steps_completed": STEPS,
        "framework": framework,
        "format": "saved_weights",
    }


def dump(path: Path, value: Any) -> None:
    path.write_bytes(pickle.dumps(value))
