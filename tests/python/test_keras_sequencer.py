"""A trial of detcore.keras whose workloads the search and the configuration of its run ask for."""

from __future__ import annotations

import json
import pathlib
from typing import Any, ClassVar

import numpy as np
import programs
import pytest
from conftest import ROOT, Det

pytest.importorskip("detcore.keras", reason="TensorFlow is not installed")

import event_files
import keras_recorder
import trial_searches
from detcore import InvalidHP, core, trial
from detcore.keras import TFKerasTrial, TFKerasTrialContext
from detcore.keras._controller import Controller
from detcore.keras._tensorflow import tf
from detcore.keras.callbacks import TensorBoard
from detcore.trial import Environment, Sequencer
from interruptions import check_goes_on
from trial_recorder import differences

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


def train(kind: type[Trial], config: dict[str, Any] = CONFIG) -> None:
    with core.init(config=config, external_id=kind.__name__) as run:
        context = TFKerasTrialContext(Environment.of_run(run.info), run)
        Controller(kind, context, run, Sequencer(run, context.get_global_batch_size())).run()


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


def test_what_tensorboard_is_to_show_is_uploaded_in_the_manual_mode(store: pathlib.Path) -> None:
    class Watched(Trial):
        def keras_callbacks(self) -> Any:
            def end(batch: int, logs: Any) -> None:
                if batch == 4:
                    raise ConnectionError

            return [TensorBoard(), tf.keras.callbacks.LambdaCallback(on_train_batch_end=end)]

    with pytest.raises(ConnectionError):
        trial.run(Watched, CONFIG, tensorboard_mode=core.TensorboardMode.MANUAL)
    [folder] = store.rglob("tensorboard/experiment/1/trial/1")
    found = {(scalar.tag, scalar.step) for scalar in event_files.scalars(folder)}
    assert {("epoch_loss", workload) for workload in range(2)} <= found
    assert any(tag.startswith("evaluation") for tag, _ in found)


def test_refused_hyperparameters_end_the_run(det: Det) -> None:
    with pytest.raises(SystemExit) as ended:  # nothing is wrong with the program
        train(Refused)
    assert ended.value.code == 0
    assert programs.trial(det)["early_exit"] is not None


class Interrupted(Trial):
    """Fails behind each of these batches, once."""

    batches: ClassVar[list[int]] = []

    def build_model(self) -> Any:
        layers = [tf.keras.Input(1), tf.keras.layers.Dropout(0.5), tf.keras.layers.Dense(1)]
        model = self.context.wrap_model(tf.keras.Sequential(layers))
        optimizer = tf.keras.optimizers.Adam(0.1)
        model.compile(self.context.wrap_optimizer(optimizer), "mse")
        return model

    def build_training_data_loader(self) -> Any:
        rows = tf.data.Dataset.from_tensor_slices((ROWS, 2 * ROWS)).shuffle(8)
        batches = self.context.wrap_dataset(rows).batch(4).repeat()
        return batches.skip(self.context.get_initial_batch())

    def build_validation_data_loader(self) -> Any:
        return ROWS, 2 * ROWS

    def keras_callbacks(self) -> Any:
        def end(batch: int, logs: Any) -> None:
            self.done += 1
            if self.batches and self.done >= self.batches[0]:
                raise ConnectionError(self.batches.pop(0))

        self.done = self.context.get_initial_batch()
        return [tf.keras.callbacks.LambdaCallback(on_train_batch_end=end)]


def test_interrupted_trials_go_on_as_if_nothing_had_been(det: Det) -> None:
    check_goes_on(det, Interrupted, train, CONFIG)


FOLDER = ROOT / "tests/data/trials/searcher"
LAYER = trial_searches.Layer(
    keras_recorder,
    TFKerasTrialContext,
    Controller,
    "val_loss",
    lambda controller: {"final_weights": keras_recorder.arrays(controller._model.weights)},
)
# What these do is no error: without a period there is none, and small is good where nobody says so.
GOES_ON = ("k-seq-empty-period", "k-seq-missing-period", "k-seq-smaller-absent")


@pytest.mark.parametrize("case", sorted(path.stem for path in FOLDER.glob("k-*.json")))
def test_recorded_search(
    case: str, det: Det, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = json.loads((FOLDER / f"{case}.json").read_text())
    monkeypatch.chdir(tmp_path)
    tf.config.run_functions_eagerly(True)  # the models are so small that graphs take longest
    search = trial_searches.Search(trace, LAYER)
    reports: dict[int, list[list[Any]]] = {}
    for number, recorded in enumerate(trace["phases"]):
        done = search.phase(recorded["phase"])
        reports.setdefault(recorded["phase"].get("trial_id", 1), []).extend(recorded["reports"])
        if case in GOES_ON:
            assert done["events"][-2:] == [["workloads_end"], ["hook", "A", "on_train_end", {}]]
            return
        if case == "k-seq-invalid-hp-train":  # which ours answers, and so reports
            assert done["events"].pop() == ["response", "T", {"marker": "InvalidHP"}]
            reports[1].append(["early_exit"])
        check_same_error(done, recorded.get("error"))
        if recorded.get("error", {}).get("stage") == "from_trial":
            return
        at = f"phase {number}"
        for n, (ours, theirs) in enumerate(zip(done["events"], recorded["events"])):
            assert differences(ours, theirs, f"{at} event {n}") == []
        assert len(done["events"]) == len(recorded["events"])
        if "final_weights" in recorded:
            assert differences(done["final_weights"], recorded["final_weights"], at) == []
    for trial_id, theirs in reports.items():
        trial_searches.check_reports(det, trial_id, theirs)


def check_same_error(done: dict[str, Any], theirs: dict[str, Any] | None) -> None:
    if theirs is None:
        assert "error" not in done, done["error"]
    else:
        ours = done["error"]
        assert ours["stage"] == theirs["stage"]
        assert theirs["type"] in ("RuntimeError", ours["type"], *ours["bases"])
