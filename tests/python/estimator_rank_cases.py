"""What a rank of the tests of detcore.estimator does."""

from __future__ import annotations

import json
import random
import sys
import tempfile
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import estimator_recorder
import numpy as np
import trial_recorder
from detcore import InvalidHP, core
from detcore.core import PreemptMode
from detcore.estimator import EstimatorTrial, EstimatorTrialContext, RunHook
from detcore.estimator._controller import Controller
from detcore.trial import CheckFailedError, Environment, ExperimentConfig, Sequencer, Workload
from detcore.trial._tensorflow import tf
from ranks import ending_refused
from trial_recorder import KINDS, differences

if TYPE_CHECKING:
    from detcore.core import DistributedContext

v1: Any = tf.compat.v1
keras: Any = tf.keras
RECORDED = Path(__file__).resolve().parents[1] / "data/trials/mpi"
CONFIG: dict[str, Any] = {
    "scheduling_unit": 2,
    "min_validation_period": {"batches": 2},
    "resources": {"slots_per_trial": 2},
    "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 100}},
    "hyperparameters": {"global_batch_size": 8},
}
ROWS = np.sin(np.arange(96, dtype=np.float32)).reshape(24, 4)
LABELS = ROWS[:, :1] - 2 * ROWS[:, 1:2] * ROWS[:, 2:3]


def run(name: str, ranks: DistributedContext) -> None:
    """A recorded run, or a function of this module."""
    path = RECORDED / f"{name}.json"
    if path.exists():
        recorded(json.loads(path.read_text()), ranks)
    else:
        globals()[name](ranks)


def recorded(trace: dict[str, Any], ranks: DistributedContext) -> None:
    about = trace["input"]
    given = about["config"]
    # Theirs never averaged these.
    config = {**CONFIG, **given, "optimizations": {**given.get("optimizations", {})}}
    config["optimizations"]["average_training_metrics"] = False
    ids: dict[str, str] = {}
    for number, recorded in enumerate(trace["phases"]):
        phase, theirs = recorded["phase"], recorded["ranks"][ranks.rank]
        recorder = estimator_recorder.Recorder(about)
        recorder.checkpoints = ids
        with core.init(
            distributed=ranks, config=CONFIG, preempt_mode=PreemptMode.ChiefOnly
        ) as context:
            checkpoints = trial_recorder.RecordingCheckpoints(recorder, context.checkpoint, {})
            environment = Environment(
                ExperimentConfig(config),
                about["hparams"],
                steps_completed=theirs.get("steps_completed", 0),
                latest_checkpoint=next(iter(ids)) if "restore" in phase else None,
            )
            run: Any = types.SimpleNamespace(
                checkpoint=checkpoints, train=context.train, distributed=ranks
            )
            trial = estimator_recorder.recording_trial(recorder)
            workloads: Any = trial_recorder.Workloads(recorder, phase)
            Controller(trial, EstimatorTrialContext(environment, run), run, workloads).run()
        ids.update(ranks.broadcast(ids))
        for event in theirs["events"]:
            if event[:2] == ["wrap", "optimizer"]:
                event[2]["same_object"] = True  # theirs is another
        found = differences(in_order(recorder.events), in_order(theirs["events"]), f"{number}")
        assert not found, "\n".join(found[:6])


def in_order(events: list[Any]) -> list[Any]:
    return [event for event in events if event[0] != "reducer"]


class Case(EstimatorTrial):
    """A trial of these models, of which each case is a class with changes."""

    restore: str | None = None
    done = 0
    optimizer: Any = None
    data: Any = (ROWS, LABELS)
    hooks: tuple[Any, ...] = ()
    eval_hooks: tuple[Any, ...] = ()

    def __init__(self, context: EstimatorTrialContext) -> None:
        self.context = context
        self.seen: list[Any] = []

    def build_estimator(self) -> Any:
        return tf.estimator.Estimator(self.model)

    def predict(self, features: Any) -> Any:
        # Of rank 0 these count.
        begin = v1.constant_initializer(0.1 + self.context.distributed.rank)
        hidden = v1.layers.dense(features, 3, tf.tanh)
        return v1.layers.dense(hidden, 1, kernel_initializer=begin)

    def model(self, features: Any, labels: Any, mode: Any) -> Any:
        loss = self.loss(features, labels)
        train = self.train_op(loss) if mode == tf.estimator.ModeKeys.TRAIN else None
        metrics = self.metrics(labels)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops=metrics)

    def loss(self, features: Any, labels: Any) -> Any:
        return tf.reduce_mean(tf.square(self.predict(features) - labels))

    def metrics(self, labels: Any) -> dict[str, Any]:
        return {}

    def train_op(self, loss: Any) -> Any:
        optimizer = self.context.wrap_optimizer(type(self).optimizer())
        return optimizer.minimize(loss, global_step=v1.train.get_global_step())

    def rows(self) -> Any:
        rows = self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices(self.data))
        return rows.batch(self.context.get_per_slot_batch_size())

    def build_train_spec(self) -> Any:
        class Watch(RunHook):
            def after_run(_, run_context: Any, run_values: Any) -> None:
                self.seen.append(run_context.session.run(v1.trainable_variables()))

        type(self).last = self  # type: ignore[attr-defined]
        return tf.estimator.TrainSpec(self.rows, hooks=[Watch(), *(make() for make in self.hooks)])

    def build_validation_spec(self) -> Any:
        return tf.estimator.EvalSpec(self.rows, hooks=[make() for make in self.eval_hooks])


class Workloads:
    def __init__(self, kinds: tuple[Any, ...]) -> None:
        self._left = list(kinds)
        self._done = 0
        self.responses: list[Any] = []

    def next(self) -> Workload | None:
        if not self._left:
            return None
        asked = self._left.pop(0)
        batches = asked if isinstance(asked, int) else 0
        workload = Workload(KINDS["T" if batches else asked], batches, self._done)
        self._done += batches
        return workload

    def respond(self, response: Any) -> None:
        self.responses.append(response)

    def state(self) -> dict[str, int]:
        return {}


class Done:
    """What came of a trial on this rank. `kinds` of its workloads are V, C, numbers of batches."""

    def __init__(
        self, trial: type[Case], ranks: DistributedContext, *kinds: Any, **config: Any
    ) -> None:
        workloads: Any = Workloads(kinds)
        with core.init(distributed=ranks, config=CONFIG, preempt_mode=PreemptMode.ChiefOnly) as run:
            environment = Environment(
                ExperimentConfig({**CONFIG, **config}),
                CONFIG["hyperparameters"],
                steps_completed=trial.done,
                latest_checkpoint=trial.restore,
            )
            given = EstimatorTrialContext(environment, run)
            Controller(trial, given, run, workloads).run()
            self.responses = workloads.responses
            answers = [given for given in self.responses if isinstance(given, dict)]
            saved = [answer["uuid"] for answer in answers if "uuid" in answer]
            self.checkpoints = ranks.broadcast(saved)
            self.folder = ""
            if self.checkpoints:
                self.folder = tempfile.mkdtemp()
                run.checkpoint.download(self.checkpoints[0], self.folder)
        self.weights = trial.last.seen  # type: ignore[attr-defined]

    def check_equal(self, ranks: DistributedContext, expected: list[Any]) -> None:
        for other in ranks.allgather(self.weights[-1]):
            for mine, theirs in zip(self.weights[-1], other):
                np.testing.assert_array_equal(mine, theirs)
        if ranks.rank == 0:
            assert len(expected) == len(self.weights[-1]) > 0
            for mine, theirs in zip(self.weights[-1], expected):
                np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-6)


def by_one_process(trial: type[Case], start: str, batch: int, steps: int) -> list[Any]:
    """The weights by plain train() with the batches of all ranks, from the checkpoint `start`."""
    alone = trial(EstimatorTrialContext.from_config(CONFIG))
    given = alone.build_estimator()

    def rows() -> Any:
        return tf.data.Dataset.from_tensor_slices(alone.data).repeat().batch(batch)

    def model_fn(features: Any, labels: Any, mode: Any, config: Any) -> Any:
        return given.model_fn(features, labels, mode, config)

    with tempfile.TemporaryDirectory() as folder:
        plain = tf.estimator.Estimator(model_fn, folder, warm_start_from=start)
        plain.train(rows, alone.build_train_spec().hooks, steps)
    return alone.seen[-1]  # type: ignore[no-any-return]


def check_as_one(
    ranks: DistributedContext, trial: type[Case], steps: int = 6, by: int = 1, **config: Any
) -> None:
    done = Done(trial, ranks, "C", steps, **config)
    expected: list[Any] = []
    if ranks.rank == 0:
        expected = by_one_process(trial, done.folder, 8 * by, steps // by)
    done.check_equal(ranks, expected)


def with_optimizer(make: Any, base: type[Case] = Case) -> type[Case]:
    return type("Trial", (base,), {"optimizer": staticmethod(make)})


def sgd() -> Any:
    return v1.train.GradientDescentOptimizer(0.1)


def adam() -> Any:
    return v1.train.AdamOptimizer(0.05)


def sgd_of_version_one(ranks: DistributedContext) -> None:
    check_as_one(ranks, with_optimizer(sgd))


def adam_of_version_one(ranks: DistributedContext) -> None:
    check_as_one(ranks, with_optimizer(adam))


class Clipped(Case):
    """Between computing gradients and applying them."""

    def train_op(self, loss: Any) -> Any:
        optimizer = self.context.wrap_optimizer(v1.train.MomentumOptimizer(0.1, 0.9))
        gradients, variables = zip(*optimizer.compute_gradients(loss))
        clipped, _ = tf.clip_by_global_norm(gradients, 0.2)
        return optimizer.apply_gradients(zip(clipped, variables), v1.train.get_global_step())


class OwnGradients(Case):
    def train_op(self, loss: Any) -> Any:
        optimizer = self.context.wrap_optimizer(sgd())
        variables = v1.trainable_variables()
        # Together, since an update of one variable may else be seen by the gradients of others.
        pairs = zip(v1.tuple(tf.gradients(loss, variables)), variables)
        return optimizer.apply_gradients(pairs, v1.train.get_global_step())


def gradients_in_hand(ranks: DistributedContext) -> None:
    check_as_one(ranks, Clipped)
    check_as_one(ranks, OwnGradients)


class TwoOptimizers(Case):
    def train_op(self, loss: Any) -> Any:
        first, second = self.context.wrap_optimizer(sgd()), self.context.wrap_optimizer(adam())
        variables = v1.trainable_variables()
        one = first.compute_gradients(loss, variables[:2])
        other = second.compute_gradients(loss, variables[2:])
        # Else the update of one may be seen by the gradients of the other.
        with tf.control_dependencies([gradient for gradient, _ in (*one, *other)]):
            return tf.group(
                first.apply_gradients(one, v1.train.get_global_step()),
                second.apply_gradients(other),
            )


def two_optimizers(ranks: DistributedContext) -> None:
    check_as_one(ranks, TwoOptimizers)


class OfKeras(Case):
    def predict(self, features: Any) -> Any:
        with v1.variable_scope("model", use_resource=True):  # as these optimizers want them
            return super().predict(features)

    def train_op(self, loss: Any) -> Any:
        optimizer = self.context.wrap_optimizer(type(self).optimizer())
        optimizer.iterations = v1.train.get_global_step()
        return optimizer.get_updates(loss, v1.trainable_variables())[0]


def optimizer_of_keras(ranks: DistributedContext) -> None:
    check_as_one(ranks, with_optimizer(lambda: keras.optimizers.legacy.Adam(0.05), OfKeras))


class Words(Case):
    data = (np.arange(48).reshape(24, 2) * 5 % 11, LABELS)

    def predict(self, features: Any) -> Any:
        table = v1.get_variable("words", [11, 3])
        return v1.layers.dense(v1.layers.flatten(tf.nn.embedding_lookup(table, features)), 1)


def sparse(ranks: DistributedContext) -> None:
    """Momentum leaves the rows alone that no rank had."""
    check_as_one(ranks, with_optimizer(lambda: v1.train.MomentumOptimizer(0.1, 0.9), Words))


class Premade(Case):
    data = ({"x": ROWS}, (LABELS > 0).astype(np.int32))

    def build_estimator(self) -> Any:
        given = self.context.wrap_optimizer(type(self).optimizer)
        return tf.estimator.DNNClassifier(
            [5], [tf.feature_column.numeric_column("x", shape=(4,))], optimizer=given
        )


def premade(ranks: DistributedContext) -> None:
    def make() -> Any:
        return keras.optimizers.legacy.Adam(0.05)

    check_as_one(ranks, with_optimizer(make, Premade))

    class Object(Premade):
        optimizer = property(lambda self: make())

        def build_estimator(self) -> Any:
            given = self.context.wrap_optimizer(make())
            return tf.estimator.DNNClassifier(
                [5], [tf.feature_column.numeric_column("x", shape=(4,))], optimizer=given
            )

    check_as_one(ranks, Object)
    check_raises("a name cannot be", lambda: Done(with_optimizer("Adam", Named), ranks, 1))


class Named(Premade):
    def build_estimator(self) -> Any:
        return self.context.wrap_optimizer("Adam")


def aggregation(ranks: DistributedContext) -> None:
    twice = {"aggregation_frequency": 2}
    # Adam of Keras looks at the iterations, which are one more for each batch.
    momentum = with_optimizer(lambda: keras.optimizers.legacy.SGD(0.05, momentum=0.9), OfKeras)
    for trial in (with_optimizer(adam), momentum):
        check_as_one(ranks, trial, by=2, optimizations=twice)
    sums = Done(
        with_optimizer(sgd),
        ranks,
        "C",
        2,
        optimizations={**twice, "average_aggregated_gradients": False},
    )
    expected: list[Any] = []
    if ranks.rank == 0:
        quick = with_optimizer(lambda: v1.train.GradientDescentOptimizer(0.2))
        expected = by_one_process(quick, sums.folder, 16, 1)
    sums.check_equal(ranks, expected)


class Unlike(Case):
    optimizer = staticmethod(sgd)

    def loss(self, features: Any, labels: Any) -> Any:
        return 0 * super().loss(features, labels) + self.context.distributed.rank + 1.0


def metrics(ranks: DistributedContext) -> None:
    trained, validated = Done(Unlike, ranks, 2, "V").responses
    if ranks.rank > 0:
        assert (trained, validated["metrics"]) == ({}, {})
        return
    assert [batch["loss"] for batch in trained["metrics"]["batch_metrics"]] == [1.0, 1.0]
    assert trained["metrics"]["avg_metrics"]["loss"] == 1.5
    found = validated["metrics"]["validation_metrics"]
    assert found == {"loss": 1.5, "global_step": 2} and isinstance(found["global_step"], int)


def refused_hyperparameters(ranks: DistributedContext) -> None:
    class Refusing(v1.train.SessionRunHook):  # type: ignore[misc]
        def after_run(self, run_context: Any, run_values: Any) -> None:
            if ranks.rank == 1:
                raise InvalidHP("not these")

    class Refused(Case):
        optimizer = staticmethod(sgd)
        eval_hooks = (Refusing,)

        def metrics(self, labels: Any) -> dict[str, Any]:
            return {"sum": self.context.make_metric(labels, len, "int64")}

    _, first, _, second = Done(Refused, ranks, 1, "V", 1, "V").responses
    assert isinstance(first, InvalidHP) and isinstance(second, InvalidHP)


def checkpoints(ranks: DistributedContext) -> None:
    """Each rank draws on where it was, and the last of them trains as if nothing had been."""

    class Drawing(Case):
        optimizer = staticmethod(adam)
        drawn: ClassVar[list[float]] = []

        def build_train_spec(self) -> Any:
            class Draw(RunHook):
                def after_run(self, run_context: Any, run_values: Any) -> None:
                    Drawing.drawn.append(random.random())

            spec = super().build_train_spec()
            if not self.restore:
                random.seed(ranks.rank)
            return tf.estimator.TrainSpec(spec.input_fn, hooks=[*spec.hooks, Draw()])

    whole = Done(Drawing, ranks, 6)
    undisturbed, Drawing.drawn[:] = list(Drawing.drawn), []
    [Drawing.restore] = Done(Drawing, ranks, 3, "C").checkpoints
    Drawing.done = 3
    rest = Done(Drawing, ranks, 3)
    assert Drawing.drawn == undisturbed
    assert len(set(ranks.allgather(undisturbed[0]))) == ranks.size
    rest.check_equal(ranks, whole.weights[-1])


class Normalized(Case):
    optimizer = staticmethod(adam)

    def predict(self, features: Any) -> Any:
        hidden = v1.layers.dense(features, 5, tf.tanh)
        is_training = self.mode == tf.estimator.ModeKeys.TRAIN
        hidden = v1.layers.batch_normalization(hidden, training=is_training, momentum=0.5)
        return v1.layers.dense(hidden, 1)

    def model(self, features: Any, labels: Any, mode: Any) -> Any:
        self.mode = mode
        return super().model(features, labels, mode)

    def train_op(self, loss: Any) -> Any:
        return tf.group(super().train_op(loss), *v1.get_collection(v1.GraphKeys.UPDATE_OPS))


def moving_means(ranks: DistributedContext) -> None:
    """What a rank has seen of its own share is as a checkpoint has it: validations behind one are
    those of a trial that nothing stopped, to the last bit."""

    def validations(done: Done) -> list[Any]:
        return [
            answer["metrics"]["validation_metrics"]
            for answer in done.responses
            if answer.get("metrics", {}).get("validation_metrics")
        ]

    # In three batches each rank has its share of all rows: then data begin anew, as in a restart.
    whole = Done(Normalized, ranks, 3, "C", "V", 3, "V")
    [Normalized.restore] = whole.checkpoints
    Normalized.done = 3
    rest = Done(Normalized, ranks, "V", 3, "V")
    assert len(validations(whole)) == (2 if ranks.rank == 0 else 0)
    assert validations(rest) == validations(whole)
    for mine, theirs in zip(rest.weights[-1], whole.weights[-1]):
        np.testing.assert_array_equal(mine, theirs)


def a_stop(ranks: DistributedContext) -> None:
    """That one rank asks for, and all take."""

    class Stop(RunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            if ranks.rank == 1:
                run_context.request_stop()

    class Stopping(Case):
        optimizer = staticmethod(sgd)
        hooks = (Stop,)

    with core.init(distributed=ranks, config=CONFIG, preempt_mode=PreemptMode.ChiefOnly) as run:
        context = EstimatorTrialContext(Environment.of_run(run.info), run)
        Controller(Stopping, context, run, Sequencer(run, 8)).run()
    assert len(Stopping.last.seen) == 2  # type: ignore[attr-defined]


def refusing(_: DistributedContext) -> None:
    """One rank finds the hyperparameters invalid while all train."""

    class Refuse(RunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            if ranks.rank == 1:
                raise InvalidHP("not these")

    class Refused(Case):
        optimizer = staticmethod(sgd)
        hooks = (Refuse,)

    with (
        ending_refused("refused") as ranks,
        core.init(
            distributed=ranks,
            config=CONFIG,
            external_id="refused",
            preempt_mode=PreemptMode.ChiefOnly,
        ) as run,
    ):
        context = EstimatorTrialContext(Environment.of_run(run.info), run)
        Controller(Refused, context, run, Sequencer(run, 8)).run()


def other_models(ranks: DistributedContext) -> None:
    class Other(Case):
        optimizer = staticmethod(sgd)

        def predict(self, features: Any) -> Any:
            return v1.layers.dense(v1.layers.dense(features, 5 + ranks.rank), 1)

    check_raises("[4, 6]", lambda: Done(Other, ranks, 1), CheckFailedError)


def check_raises(said: str, work: Any, kind: Any = Exception) -> None:
    try:
        work()
    except kind as failure:
        assert said in str(failure), failure
    else:
        raise AssertionError(f"nothing was raised that says {said}")


def raising(ranks: DistributedContext) -> None:
    """The job ends with this."""

    class Raise(RunHook):
        batches = 0

        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.batches += 1
            if ranks.rank == 1 and self.batches == 3:
                raise RuntimeError("a batch of rank 1 is broken")

    class Raising(Case):
        optimizer = staticmethod(sgd)
        hooks = (Raise,)

    Done(Raising, ranks, 1000000)


if __name__ == "__main__":
    sys.exit("trial_rank.py runs these")
