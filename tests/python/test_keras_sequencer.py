"""A trial of detcore.keras whose workloads the search and the configuration of its run ask for."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import programs
import pytest
from conftest import Det

pytest.importorskip("detcore.keras", reason="TensorFlow is not installed")

from detcore import InvalidHP, core
from detcore.keras import TFKerasTrial, TFKerasTrialContext
from detcore.keras._controller import Controller
from detcore.keras._tensorflow import tf
from detcore.trial import Environment, Sequencer

ROWS = np.arange(8, dtype=np.float32).reshape(-1, 1)
CONFIG: dict[str, Any] = {
    "searcher": {"name": "single", "metric": "val_loss", "max_length": {"batches": 5}},
    "min_validation_period": {"batches": 2},
    "scheduling_unit": 2,
    "checkpoint_policy": "none",
    "hyperparameters": {"global_batch_size": 4, "lr": 0.01},
}


class Trial(TFKerasTrial):
    refuses = False

    def __init__(self, context: TFKerasTrialContext) -> None:
        self.context = context
        context.configure_fit(verbose=False, shuffle=False)

    def build_model(self) -> Any:
        dense = tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
        model = self.context.wrap_model(tf.keras.Sequential([dense]))
        model.build((None, 1))
        rate = self.context.get_hparam("lr")
        model.compile(self.context.wrap_optimizer(tf.keras.optimizers.SGD(rate)), "mse")
        return model

    def build_training_data_loader(self) -> Any:
        return ROWS, 2 * ROWS

    build_validation_data_loader = build_training_data_loader

    def keras_callbacks(self) -> Any:
        class Refuse(tf.keras.callbacks.Callback):  # type: ignore[misc]
            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                raise InvalidHP("this rate is too high")

        return [Refuse()] if self.refuses else []


class Refused(Trial):
    refuses = True


def train(trial: type[Trial]) -> None:
    with core.init(config=CONFIG, external_id=trial.__name__) as run:
        context = TFKerasTrialContext(Environment.of_run(run.info), run)
        Controller(trial, context, run, Sequencer(run, context.get_global_batch_size())).run()


def test_a_run_is_trained_validated_and_saved(
    det: Det, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nowhere").symlink_to("absent")
    monkeypatch.chdir(tmp_path)  # which is the code that a checkpoint keeps
    train(Trial)
    told = [(group, steps) for group, steps, _ in programs.reports(det)]
    workloads = [("training", 2), ("validation", 2), ("training", 4), ("validation", 4)]
    assert told == [*workloads, ("training", 5), ("validation", 5)]
    with core.init(config=CONFIG, external_id="Trial") as run:
        assert run.info.trial.steps_completed == 5
        assert [entry.storage_id for entry in run.checkpoint.list()] == [run.info.latest_checkpoint]


def test_refused_hyperparameters_end_the_run(det: Det) -> None:
    with pytest.raises(SystemExit) as ended:  # nothing is wrong with the program
        train(Refused)
    assert ended.value.code == 0
    assert programs.trial(det)["early_exit"] is not None
