"""What a rank of the tests of detcore.keras does."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from detcore import InvalidHP, core
from detcore.core import PreemptMode
from detcore.keras import TFKerasTrial, TFKerasTrialContext
from detcore.keras._controller import Controller
from detcore.keras._tensorflow import tf
from detcore.trial import (
    CheckFailedError,
    Environment,
    ExperimentConfig,
    InvalidExperimentException,
    Workload,
)
from keras_ours import goes_on
from keras_runs import CONFIG, Run
from trial_recorder import KINDS, differences

if TYPE_CHECKING:
    from detcore.core import DistributedContext

ROOT = Path(__file__).resolve().parents[2]


def run(name: str, ranks: DistributedContext) -> None:
    """A recorded run, or a function of this module."""
    path = ROOT / f"tests/data/trials/mpi/{name}.json"
    if path.exists():
        recorded(json.loads(path.read_text()), ranks)
    else:
        globals()[name](ranks)


def recorded(trace: dict[str, Any], ranks: DistributedContext) -> None:
    run = Run(trace, ranks)
    found: list[str] = []
    for number, phase in enumerate(trace["phases"]):
        theirs = phase["ranks"][ranks.rank]
        done = run.phase(phase)
        if trace["case"] in OURS:
            OURS[trace["case"]](ranks.rank, done)
            continue
        if "failure" in done:
            raise done["failure"]
        found += unlike(done, theirs, f"phase {number}")
    assert not found, "\n".join(found[:6])


def unlike(done: dict[str, Any], theirs: dict[str, Any], at: str) -> list[str]:
    events = [event for event in done["events"] if event[0] != "core"]
    found = []
    for n, (o, t) in enumerate(zip(events, theirs["events"])):
        if t[:2] == ["wrap", "optimizer"]:
            t[2]["same_object"] = True  # theirs is a copy, which a model may not be given
        if "files_present" in str(t):
            o[3]["files_present"].remove("rng_state-1.pkl")  # theirs keep that of rank 0 alone
        found += differences(o, t, f"{at} event {n}")
    if len(events) != len(theirs["events"]):
        found.append(f"{at}: {len(events)} events, not {len(theirs['events'])}")
    for name in theirs.keys() - {"events", "checkpoints"}:
        found += differences(done.get(name), theirs[name], f"{at} {name}")
    return found


def synchronised(_: int, done: dict[str, Any]) -> None:
    goes_on(_, done)
    first = next(event[3] for event in done["events"] if "on_test_end" in event)
    assert abs(first["val_loss"] - 42.1666667) < 1e-4  # of rank 0's weights, on both ranks


def agree(rank: int, done: dict[str, Any]) -> None:
    goes_on(rank, done)
    asked = [event[2] for event in done["events"] if event[0] == "response"]
    assert [answer.get("stop_requested", False) for answer in asked] == [False, True, True]


# What is better than it was recorded.
OURS = {"mk-initial-val-unsynced": synchronised, "mk-stop-chief": agree}
ROWS = np.sin(np.arange(96, dtype=np.float32)).reshape(24, 4)
LABELS = ROWS[:, :1] - 2 * ROWS[:, 1:2] * ROWS[:, 2:3]


ROWS_AND_LABELS = ROWS, LABELS


def dense(units: int, activation: str | None = None, **options: Any) -> Any:
    weights = tf.keras.initializers.GlorotUniform(seed=units)
    return tf.keras.layers.Dense(units, activation, kernel_initializer=weights, **options)


class Case(TFKerasTrial):
    """A trial of these models, of which each case is a class with changes."""

    restore: str | None = None
    done = 0  # batches, before it
    batch = 4  # of a rank
    data: Any = ROWS_AND_LABELS

    def __init__(self, context: TFKerasTrialContext) -> None:
        self.context = context
        context.configure_fit(verbose=False, shuffle=False)

    def model(self) -> Any:
        return tf.keras.Sequential([tf.keras.Input(4), dense(5, "tanh"), dense(1)])

    def optimizer(self) -> Any:
        return tf.keras.optimizers.SGD(0.1)

    def compile(self, model: Any, optimizer: Any) -> None:
        model.compile(optimizer, "mse")

    def build_model(self) -> Any:
        model = self.context.wrap_model(self.model())
        self.compile(model, self.context.wrap_optimizer(self.optimizer()))
        return model

    def build_training_data_loader(self) -> Any:
        return self.data

    build_validation_data_loader = build_training_data_loader


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


def controller_of(trial: type[Case], run: Any, workloads: Any, **config: Any) -> Controller:
    ranks = run.distributed.size
    environment = Environment(
        ExperimentConfig({**CONFIG, "resources": {"slots_per_trial": ranks}, **config}),
        {"global_batch_size": trial.batch * ranks},
        steps_completed=trial.done,
        latest_checkpoint=trial.restore,
    )
    return Controller(trial, TFKerasTrialContext(environment, run), run, workloads)


def train(
    trial: type[Case], ranks: DistributedContext, *kinds: Any, **config: Any
) -> tuple[Any, list[Any]]:
    """The trained model, and the responses of this rank. `kinds` are V, C, numbers of
    batches."""
    workloads = Workloads(kinds)
    with core.init(distributed=ranks, config=CONFIG, preempt_mode=PreemptMode.ChiefOnly) as run:
        controller = controller_of(trial, run, workloads, **config)
        controller.run()
    return controller._model, workloads.responses


def with_optimizer(make: Any) -> type[Case]:
    return type("Case", (Case,), {"optimizer": lambda self: make()})


def by_one_process(trial: type[Case], batch: int, steps: int) -> Any:
    """The model, trained by plain fit() with the batches of all ranks together."""
    alone = TFKerasTrialContext.from_config({"hyperparameters": {"global_batch_size": batch}})
    of = trial(alone)
    x, y = (np.concatenate([rows] * 8)[: batch * steps] for rows in of.data)
    model = of.build_model()
    model.fit(x, y, batch_size=batch, shuffle=False, verbose=0)
    return model


def check_equal(ranks: DistributedContext, model: Any, expected: Any) -> None:
    values = model.get_weights()
    for mine, theirs in zip(values, expected.get_weights()):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
    for other in ranks.allgather(values):
        for mine, theirs in zip(values, other):
            np.testing.assert_array_equal(mine, theirs)


keras: Any = tf.keras
OPTIMIZERS: dict[str, Any] = {
    "SGD": lambda: keras.optimizers.SGD(0.1),
    "momentum": lambda: keras.optimizers.SGD(0.05, momentum=0.9, clipnorm=0.3),
    "Adam": lambda: keras.optimizers.Adam(0.05),
    "legacy momentum": lambda: keras.optimizers.legacy.SGD(0.05, momentum=0.9),
    "legacy Adam": lambda: keras.optimizers.legacy.Adam(0.05, clipnorm=0.3),
}


def as_one_process(ranks: DistributedContext) -> None:
    for make in OPTIMIZERS.values():
        trial = with_optimizer(make)
        model, _ = train(trial, ranks, 6)
        check_equal(ranks, model, by_one_process(trial, 4 * ranks.size, 6))


def aggregation(ranks: DistributedContext) -> None:
    for name in ("momentum", "legacy momentum"):
        trial = with_optimizer(OPTIMIZERS[name])
        model, _ = train(trial, ranks, 7, optimizations={"aggregation_frequency": 2})
        check_equal(ranks, model, by_one_process(trial, 8 * ranks.size, 3))
        assert int(model.optimizer.iterations) == 7
    trial = with_optimizer(OPTIMIZERS["SGD"])
    options = {"aggregation_frequency": 2, "average_aggregated_gradients": False}
    model, _ = train(trial, ranks, 2, optimizations=options)
    twice = with_optimizer(lambda: keras.optimizers.SGD(0.2))
    check_equal(ranks, model, by_one_process(twice, 8 * ranks.size, 1))


def half_precision(ranks: DistributedContext) -> None:
    trial = with_optimizer(OPTIMIZERS["SGD"])
    model, _ = train(trial, ranks, 3, optimizations={"gradient_compression": True})
    exact = by_one_process(trial, 4 * ranks.size, 3).get_weights()
    for mine, theirs in zip(model.get_weights(), exact):
        np.testing.assert_allclose(mine, theirs, atol=2e-3)
        assert mine.size == 1 or (mine != theirs).any()


def averages_by_horovod(ranks: DistributedContext) -> None:
    import horovod.tensorflow as hvd  # type: ignore[import-untyped,import-not-found,unused-ignore]

    names = []
    allreduce = hvd.allreduce

    def seen(*given: Any, **options: Any) -> Any:
        names.append(options["name"])
        return allreduce(*given, **options)

    hvd.allreduce = seen
    try:
        train(Case, ranks, 2)
    finally:
        hvd.allreduce = allreduce
    assert set(names) == {f"det.0.{number}" for number in range(4)}  # a graph may be made twice


class Words(Case):
    data = (np.arange(48).reshape(24, 2) * 5 % 11, LABELS)

    def model(self) -> Any:
        words = keras.layers.Embedding(
            11, 3, keras.initializers.RandomUniform(seed=3), input_length=2
        )
        ones = keras.initializers.Constant(0.5)
        layers = [words, keras.layers.Flatten(), keras.layers.Dense(1, kernel_initializer=ones)]
        return keras.Sequential(layers)


def sparse(ranks: DistributedContext) -> None:
    """Momentum leaves the rows alone that no rank had."""
    trial = type("Words", (Words,), {"optimizer": lambda self: OPTIMIZERS["legacy momentum"]()})
    model, _ = train(trial, ranks, 6)
    check_equal(ranks, model, by_one_process(trial, 4 * ranks.size, 6))
    check_raises(
        "sparse gradients",
        lambda: train(trial, ranks, 2, optimizations={"aggregation_frequency": 2}),
    )


class Pair(keras.Model):  # type: ignore[misc]
    """Each layer has an optimizer."""

    def __init__(self, first: Any, second: Any) -> None:
        super().__init__()
        self.layer = keras.Sequential([dense(5, "tanh"), dense(1)])
        self.others = first, second

    def call(self, inputs: Any) -> Any:
        return self.layer(inputs)

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape(persistent=True) as tape:
            loss = self.compiled_loss(y, self(x, training=True))
        for optimizer, layer in zip(self.others, self.layer.layers):
            variables = layer.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return {"loss": loss}


class TwoOptimizers(Case):
    def build_model(self) -> Any:
        wrap = self.context.wrap_optimizer
        first, second = keras.optimizers.Adam(0.05), keras.optimizers.SGD(0.1)
        self.pair = Pair(wrap(first), wrap(second))
        self.context.wrap_model(self.pair).compile(first, "mse")
        return self.pair


def two_optimizers(ranks: DistributedContext) -> None:
    model, _ = train(TwoOptimizers, ranks, 6)  # which has no weights before its first batch
    alone = TFKerasTrialContext.from_config({"hyperparameters": {"global_batch_size": 8}})
    of = TwoOptimizers(alone)
    of.build_model()
    x, y = (np.concatenate([rows] * 8)[: 24 * ranks.size] for rows in ROWS_AND_LABELS)
    of.pair.fit(x, y, batch_size=4 * ranks.size, shuffle=False, verbose=0)
    check_equal(ranks, model, of.pair)


class Mixed(Case):
    """A batch of rank 1 is not finite."""

    def optimizer(self) -> Any:
        return keras.optimizers.SGD(0.1)

    @property
    def data(self) -> Any:
        labels = LABELS.copy()
        labels[5] = np.inf
        return ROWS, labels


def not_finite(ranks: DistributedContext) -> None:
    keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        model, _ = train(Mixed, ranks, 3)
    finally:
        keras.mixed_precision.set_global_policy("float32")
    assert isinstance(model.optimizer, keras.mixed_precision.LossScaleOptimizer)
    values = [*model.get_weights(), model.optimizer.loss_scale.numpy()]
    assert all(np.isfinite(value).all() for value in values)
    assert values[-1] < 32768
    for other in ranks.allgather(values):
        for mine, theirs in zip(values, other):
            np.testing.assert_array_equal(mine, theirs)


def eagerly(ranks: DistributedContext) -> None:
    trial = with_optimizer(OPTIMIZERS["Adam"])
    trial.compile = lambda self, model, optimizer: model.compile(  # type: ignore[method-assign]
        optimizer, "mse", run_eagerly=True
    )
    model, _ = train(trial, ranks, 3)
    check_equal(ranks, model, by_one_process(trial, 4 * ranks.size, 3))


def check_raises(said: str, work: Any, kind: Any = Exception) -> None:
    try:
        work()
    except kind as failure:
        assert said in str(failure), failure
    else:
        raise AssertionError(f"nothing was raised that says {said}")


def other_models(ranks: DistributedContext) -> None:
    class Other(Case):
        def model(self) -> Any:
            size = 5 + ranks.rank
            return keras.Sequential(
                [keras.Input(4), dense(size, name=f"of_{ranks.rank}"), dense(1)]
            )

    for said in ("of_0/kernel:0 (float32 [4, 5]) on rank 0", "of_1/kernel:0 (float32 [4, 6])"):
        check_raises(said, lambda: train(Other, ranks, 1), CheckFailedError)

    class Longer(Case):
        def model(self) -> Any:
            return keras.Sequential([keras.Input(4), *(dense(5) for _ in range(2 + ranks.rank))])

    check_raises("6 on rank 1", lambda: train(Longer, ranks, 1), CheckFailedError)


def fed(ranks: DistributedContext) -> None:
    """By Datasets and Sequences, of which each rank has its share, as by arrays."""

    class Dataset(Case):
        def build_training_data_loader(self) -> Any:
            rows = tf.data.Dataset.from_tensor_slices(self.data)
            return self.context.wrap_dataset(rows).batch(self.batch)

        build_validation_data_loader = build_training_data_loader

    class Rows(keras.utils.Sequence):  # type: ignore[misc]
        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> Any:
            return tuple(rows[4 * index : 4 * index + 4] for rows in ROWS_AND_LABELS)

    class Sequence(Case):
        def build_training_data_loader(self) -> Any:
            return Rows()

        build_validation_data_loader = build_training_data_loader

    expected, validated = train(Case, ranks, 6, "V")
    for trial in (Dataset, Sequence):
        model, (_, response) = train(trial, ranks, 6, "V")
        check_equal(ranks, model, expected)
        if ranks.rank == 0:
            found, of_arrays = response["metrics"], validated[1]["metrics"]
            assert found["num_inputs"] == 24
            np.testing.assert_allclose(
                found["validation_metrics"]["val_loss"],
                of_arrays["validation_metrics"]["val_loss"],
                rtol=1e-5,
            )

    class Whole(Dataset):
        def build_training_data_loader(self) -> Any:
            share = tuple(rows[ranks.rank :: ranks.size] for rows in self.data)
            rows = tf.data.Dataset.from_tensor_slices(share)
            return self.context.wrap_dataset(rows, shard_dataset=False).batch(self.batch)

    model, _ = train(Whole, ranks, 6)
    check_equal(ranks, model, expected)


def compiled(ranks: DistributedContext) -> None:
    """XLA has no place for what ranks say to each other."""

    class Compiled(Case):
        def compile(self, model: Any, optimizer: Any) -> None:
            model.compile(optimizer, "mse", jit_compile=True)

    check_raises("jit_compile", lambda: train(Compiled, ranks, 1), InvalidExperimentException)


def strings(ranks: DistributedContext) -> None:
    """Variables of text are each rank's own."""

    class Named(keras.layers.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.text = tf.Variable(f"of rank {ranks.rank}", trainable=False)

        def call(self, inputs: Any) -> Any:
            return inputs

    class Texts(Case):
        def model(self) -> Any:
            return keras.Sequential([keras.Input(4), Named(), dense(1)])

    model, _ = train(Texts, ranks, 2)
    assert model.layers[0].text.numpy().decode() == f"of rank {ranks.rank}"
    weights = model.trainable_weights[0].numpy()
    np.testing.assert_array_equal(ranks.allgather(weights)[0], weights)


def metrics(ranks: DistributedContext) -> None:
    _, (trained, validated) = train(
        Case, ranks, 2, "V", optimizations={"average_training_metrics": False}
    )
    if ranks.rank == 0:
        trained = trained["metrics"]
        assert trained["avg_metrics"] == trained["batch_metrics"][-1]
        assert (trained["num_inputs"], validated["metrics"]["num_inputs"]) == (16, 24)

    class Unlike(Case):
        def compile(self, model: Any, optimizer: Any) -> None:
            model.compile(optimizer, "mse", metrics=["mae"] * ranks.rank)

    check_raises("'mae'", lambda: train(Unlike, ranks, 1))


def refused_hyperparameters(ranks: DistributedContext) -> None:
    class Refusing(keras.callbacks.Callback):  # type: ignore[misc]
        def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
            if ranks.rank == 1:
                raise InvalidHP("not these")

    class Trial(Case):
        def keras_callbacks(self) -> Any:
            return [Refusing()]

    _, (_, validated) = train(Trial, ranks, 1, "V")
    assert isinstance(validated, InvalidHP)


def checkpoints(ranks: DistributedContext) -> None:
    """Each rank draws on where it was, and the last of them trains as if nothing had been."""

    class Drawing(Case):
        drawn: ClassVar[list[float]] = []

        def optimizer(self) -> Any:
            return keras.optimizers.Adam(0.05)

        def keras_callbacks(self) -> Any:
            if not self.restore:
                np.random.seed(ranks.rank)
            draw = keras.callbacks.LambdaCallback(
                on_train_batch_end=lambda *_: self.drawn.append(np.random.random())
            )
            return [draw]

    whole, _ = train(Drawing, ranks, 6)
    undisturbed, Drawing.drawn[:] = list(Drawing.drawn), []
    _, (_, saved) = train(Drawing, ranks, 3, "C")
    Drawing.restore = ranks.broadcast(saved.get("uuid"))
    Drawing.done = 3
    rest, _ = train(Drawing, ranks, 3)
    assert Drawing.drawn == undisturbed
    assert len(set(ranks.allgather(undisturbed[0]))) == ranks.size
    check_equal(ranks, rest, whole)


class Normalized(Case):
    """By means of what each rank has seen."""

    more: Any = ()

    def model(self) -> Any:
        middle = [keras.layers.BatchNormalization(momentum=0.5), *(make() for make in self.more)]
        return keras.Sequential([keras.Input(4), dense(5, "tanh"), *middle, dense(1)])


class OwnMean(keras.layers.Layer):  # type: ignore[misc]
    """Not trained either, and trained with."""

    def build(self, shape: Any) -> None:
        self.mean = self.add_weight("mean", shape[-1:], initializer="zeros", trainable=False)

    def call(self, inputs: Any, training: bool = False) -> Any:
        if training:
            self.mean.assign(0.5 * self.mean + 0.5 * tf.reduce_mean(inputs, 0))
        return inputs - self.mean


def moving_means(ranks: DistributedContext) -> None:
    """Behind a checkpoint all ranks have those that it has: what comes then is to the last bit what
    would have come without a restart."""

    class Trial(Normalized):
        more = OwnMean, lambda: keras.layers.Dropout(0.2)

    class Unbuilt(Normalized):
        """Which has its weights with the first batch."""

        def model(self) -> Any:
            return keras.Sequential(super().model().layers)

    for trial in (Trial, Unbuilt):
        whole, before = train(trial, ranks, 3, "C", "V", 2, "V", 3, "V")
        trial.restore = ranks.broadcast(before[1].get("uuid"))
        trial.done = 3
        rest, after = train(trial, ranks, "V", 2, "V", 3, "V")
        assert len(after) == 5
        assert after == before[2:]
        for mine, theirs in zip(rest.get_weights(), whole.get_weights()):
            np.testing.assert_array_equal(mine, theirs)


def raising(ranks: DistributedContext) -> None:
    """The job ends with this."""

    class Raising(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if ranks.rank == 1 and batch == 2:
                raise RuntimeError("a batch of rank 1 is broken")

    class Trial(Case):
        def keras_callbacks(self) -> Any:
            return [Raising()]

    train(Trial, ranks, 1000000)


def killed(ranks: DistributedContext) -> None:
    class Dying(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if ranks.rank == ranks.size - 1 and batch == 2:
                os.kill(os.getpid(), signal.SIGKILL)

    class Trial(Case):
        def keras_callbacks(self) -> Any:
            return [Dying()]

    train(Trial, ranks, 1000000)
