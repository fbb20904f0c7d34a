"""Trials of detcore.estimator: whole runs, and what they refuse."""

from __future__ import annotations

import importlib
import json
import pathlib
import types
from typing import Any, ClassVar

import numpy as np
import programs
import pytest
from conftest import ROOT, Det
from ranks import in_threads

pytest.importorskip("detcore.estimator", reason="TensorFlow is not installed")

import detcore.estimator
import estimator_recorder
import event_files
import trial_recorder
import trial_searches
from detcore import InvalidHP, compat, core
from detcore.estimator import EstimatorTrial, EstimatorTrialContext, RunHook
from detcore.estimator._controller import Controller
from detcore.estimator._model_directory import ModelDirectory
from detcore.trial import CheckFailedError, Environment, ExperimentConfig, Sequencer, run
from detcore.trial._tensorflow import tf
from interruptions import check_goes_on

v1: Any = tf.compat.v1
ROWS = np.arange(8, dtype=np.float32).reshape(-1, 1)
CONFIG: dict[str, Any] = {
    "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 4}},
    "min_validation_period": {"batches": 2},
    "scheduling_unit": 2,
    "checkpoint_policy": "none",
    "hyperparameters": {"global_batch_size": 4, "lr": 0.001},
}


class Trial(EstimatorTrial):
    closed = 0

    def build_estimator(self) -> Any:
        config = tf.estimator.RunConfig(save_summary_steps=1)
        return tf.estimator.Estimator(self.model, config=config)

    def model(self, features: Any, labels: Any, mode: Any) -> Any:
        weight = v1.get_variable("w", [1, 1], initializer=v1.zeros_initializer())
        squares = tf.square(tf.matmul(features, weight) - labels)
        loss = tf.reduce_mean(squares, name="loss")  # which a summary is then not named
        rate = self.context.get_hparam("lr")
        optimizer = self.context.wrap_optimizer(v1.train.GradientDescentOptimizer(rate))
        train = optimizer.minimize(loss, global_step=v1.train.get_global_step())
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, train_op=train, eval_metric_ops=self.metrics(labels)
        )

    def metrics(self, labels: Any) -> dict[str, Any]:
        return {}

    def rows(self) -> Any:
        rows = tf.data.Dataset.from_tensor_slices((ROWS, 2 * ROWS))
        return self.context.wrap_dataset(rows).batch(self.context.get_per_slot_batch_size())

    def build_train_spec(self) -> Any:
        class Close(RunHook):
            def on_trial_close(self) -> None:
                Trial.closed += 1

        return tf.estimator.TrainSpec(self.rows, hooks=[Close()])

    def build_validation_spec(self) -> Any:
        return tf.estimator.EvalSpec(self.rows)


def train(kind: Any, config: dict[str, Any] = CONFIG) -> Any:
    """The scalars that were written for TensorBoard, by name and step."""
    with core.init(config=config, external_id=kind.__name__) as context:
        given = EstimatorTrialContext(Environment.of_run(context.info), context)
        workloads = Sequencer(context, given.get_global_batch_size())
        Controller(kind, given, context, workloads).run()
        found = event_files.scalars(context.train.get_tensorboard_path())
    groups = {"eval": "validation"}
    return {(groups.get(one.folder, "training"), one.tag, one.step): one.value for one in found}


def test_a_run_is_trained_validated_saved_and_continued(
    det: Det, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # which is the code that a checkpoint keeps
    written = train(Trial)
    told = [(group, steps) for group, steps, _ in programs.reports(det)]
    workloads = [("training", 2), ("validation", 2), ("training", 4), ("validation", 4)]
    assert told == workloads
    _, _, metrics = programs.reports(det)[0]
    assert metrics.keys() == {"loss_1", "loss"} and metrics["loss_1"] == metrics["loss"]
    losses = {(group, step) for group, tag, step in written if tag in ("loss", "loss_1")}
    assert losses >= {("training", step) for step in range(1, 5)}
    assert losses >= {("validation", step) for step in (2, 4)}
    assert list(tmp_path.parent.glob("tmp/estimator-*")) == []

    longer = {**CONFIG, "searcher": {**CONFIG["searcher"], "max_length": {"batches": 7}}}
    run(Trial, longer, external_id="Trial")
    assert [steps for _, steps, _ in programs.reports(det)][4:] == [6, 6, 7, 7]
    undisturbed = train(types.new_class("Undisturbed", (Trial,)), longer)
    last = programs.reports(det)[-1]
    assert undisturbed["validation", "loss", 7] == pytest.approx(last[2]["loss"])


class Interrupted(Trial):
    """Fails behind each of these batches, once."""

    batches: ClassVar[list[int]] = []

    def model(self, features: Any, labels: Any, mode: Any) -> Any:
        if mode == tf.estimator.ModeKeys.TRAIN:
            features = tf.nn.dropout(features, rate=0.5)
        return super().model(features, labels, mode)

    def training(self) -> Any:
        rows = tf.data.Dataset.from_tensor_slices((ROWS, 2 * ROWS)).shuffle(8)
        batches = self.context.wrap_dataset(rows).batch(4).repeat()
        return batches.skip(self.context.get_initial_batch())

    def build_train_spec(self) -> Any:
        class Fail(RunHook):
            def after_run(_, run_context: Any, run_values: Any) -> None:
                done = run_context.session.run(v1.train.get_global_step())
                if self.batches and done >= self.batches[0]:
                    raise ConnectionError(self.batches.pop(0))

        return tf.estimator.TrainSpec(self.training, hooks=[Fail()])


def test_interrupted_trials_go_on_as_if_nothing_had_been(det: Det) -> None:
    check_goes_on(det, Interrupted, train, CONFIG)


FOLDER = ROOT / "tests/data/trials/searcher"
LAYER = trial_searches.Layer(estimator_recorder, EstimatorTrialContext, Controller, "loss")


@pytest.mark.parametrize("case", sorted(path.stem for path in FOLDER.glob("e-*.json")))
def test_recorded_search(
    case: str, det: Det, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = json.loads((FOLDER / f"{case}.json").read_text())
    monkeypatch.chdir(tmp_path)
    search = trial_searches.Search(trace, LAYER)
    reports: list[list[Any]] = []
    for recorded in trace["phases"]:
        done = search.phase(recorded["phase"])
        assert "error" not in done
        assert trial_recorder.differences(done["events"], recorded["events"], case) == []
        reports += recorded["reports"]
    trial_searches.check_reports(det, 1, reports)


def test_refused_hyperparameters_end_the_run(det: Det) -> None:
    class Refused(Trial):
        def metrics(self, labels: Any) -> dict[str, Any]:
            def refuse(batches: list[Any]) -> Any:
                raise InvalidHP("this rate is too high")

            return {"refused": self.context.make_metric(labels, refuse, "float32")}

    before = Trial.closed
    train(Refused)
    assert programs.trial(det)["early_exit"] is not None
    assert Trial.closed == before + 1


def test_the_exception_of_a_reducer_is_that_of_the_run() -> None:
    class Wrong(Trial):
        def metrics(self, labels: Any) -> dict[str, Any]:
            def fail(batches: list[Any]) -> Any:
                raise KeyError("x")

            return {"wrong": self.context.make_metric(labels, fail, "float32")}

    with pytest.raises(KeyError, match="x"):
        train(Wrong)


def test_every_hook_hears_of_the_end(tmp_path: pathlib.Path) -> None:
    class Hook(RunHook):
        def on_trial_close(self) -> None:
            closed.append(self)
            raise RuntimeError("a hook failed to close")

    class Closes(Trial):
        def build_train_spec(self) -> Any:
            return tf.estimator.TrainSpec(self.rows, hooks=hooks)

    hooks = [Hook(), Hook()]
    closed: list[Hook] = []
    with pytest.raises(RuntimeError, match="failed to close"):
        train(Closes)
    assert closed == hooks
    assert list(tmp_path.parent.glob("tmp/estimator-*")) == []


def test_an_input_that_ends_is_refused() -> None:
    class Ends(Trial):
        def build_train_spec(self) -> Any:
            return tf.estimator.TrainSpec(
                lambda: v1.data.make_one_shot_iterator(self.rows()).get_next()
            )

    with pytest.raises(AssertionError, match="a Dataset, which is repeated"):
        train(Ends)


@pytest.mark.parametrize(
    "returned", [{"a": 1}, {1: len}, ["a"]], ids=["no function", "no name", "no dict"]
)
def test_what_is_exported_is_functions_by_name(returned: Any) -> None:
    class Exports(Trial):
        def build_serving_input_receiver_fns(self) -> Any:
            return returned

    with pytest.raises(TypeError, match="build_serving_input_receiver_fns"):
        train(Exports)


def test_by_hand_everything_is_as_it_was_given() -> None:
    context = EstimatorTrialContext.from_config(CONFIG)
    rows = tf.data.Dataset.range(2)
    assert context.wrap_dataset(rows) is rows and context.wrap_optimizer("SGD") == "SGD"
    with tf.Graph().as_default(), v1.Session() as session:
        value, update = context.experimental.make_metric(tf.constant([1, 2]), sum, "int64")
        session.run(update)
        assert session.run(value).tolist() == [1, 2]


def test_metrics_are_of_the_batches_of_all_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = {0: [[0, 1], [2]], 1: []}

    class Count(detcore.estimator.MetricReducer):
        count = 0

        def accumulate(self, metric: Any) -> int:
            self.count += len(metric["rows"])
            return self.count

        def cross_slot_reduce(self, per_slot_metrics: list[Any]) -> Any:
            return sum(count or 0 for count in per_slot_metrics)

    def work(ranks: Any) -> Any:
        core_context: Any = types.SimpleNamespace(distributed=ranks)
        environment = Environment(ExperimentConfig(CONFIG), CONFIG["hyperparameters"])
        context = EstimatorTrialContext(environment, core_context)
        with tf.Graph().as_default(), v1.Session() as session:
            rows = v1.placeholder(tf.int64, [None])
            values, updates = zip(
                context.make_metric([rows], lambda b: sum(int(r.sum()) for (r,) in b), "float32"),
                context.make_metric({"rows": rows}, Count(), np.int64),
            )
            for batch in batches[ranks.rank] + [[ranks.rank + 10]]:
                session.run(updates, {rows: batch})
            return session.run(values)

    monkeypatch.setenv("DET_DISTRIBUTED_SECRET", "secret")
    assert in_threads(work, 1, 2) == [(24.0, 5), (24.0, 5)]


def test_checkpoints_of_others_are_refused(tmp_path: pathlib.Path) -> None:
    model = ModelDirectory()
    assert not model.has_model()
    with pytest.raises(CheckFailedError, match="has no model of an estimator"):
        model.load_from(tmp_path)
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "/elsewhere/model.ckpt-9"\n')
    (tmp_path / "model.ckpt-1.index").write_text("")
    with pytest.raises(CheckFailedError, match=r"lacks model\.ckpt-9"):
        model.load_from(tmp_path)
    (tmp_path / "model.ckpt-9.index").write_text("")
    model.load_from(tmp_path)
    assert v1.train.latest_checkpoint(str(model.path)) == str(model.path / "model.ckpt-9")
    model.remove()
    assert not model.path.exists()

    with core.init() as context:
        with context.checkpoint.store_path({"steps_completed": 1}) as (path, storage_id):
            (path / "load_data.json").write_text(json.dumps({"trial_type": "TFKerasTrial"}))
        hparams = CONFIG["hyperparameters"]
        environment = Environment(ExperimentConfig(CONFIG), hparams, latest_checkpoint=storage_id)
        with pytest.raises(CheckFailedError, match="that of a TFKerasTrial"):
            Controller(Trial, EstimatorTrialContext(environment, context), context, None)  # type: ignore[arg-type]


def test_scripts_written_against_determined_find_it() -> None:
    assert importlib.import_module(compat.MODULES["determined.estimator"]) is detcore.estimator
