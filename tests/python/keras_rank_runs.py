"""What a rank of the tests of detcore.keras does whose workloads a search asks for."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any, ClassVar

import keras_rank_cases
from detcore import InvalidHP, core
from detcore.core import PreemptMode
from detcore.keras import TFKerasTrialContext
from detcore.keras._controller import Controller
from detcore.keras._tensorflow import tf
from detcore.keras.callbacks import EarlyStopping
from detcore.trial import Environment, Sequencer
from keras_rank_cases import Case, Normalized, check_equal
from ranks import ending_refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from detcore.core import DistributedContext

keras: Any = tf.keras
CONFIG: dict[str, Any] = {
    "scheduling_unit": 2,
    "min_validation_period": {"batches": 2},
    "searcher": {"name": "single", "metric": "val_loss", "max_length": {"batches": 9}},
}


def run(name: str, ranks: DistributedContext) -> None:
    """One of these, or of keras_rank_cases."""
    if name in globals():
        globals()[name](ranks)
    else:
        keras_rank_cases.run(name, ranks)


def train(trial: type[Case], ranks: DistributedContext, name: str, **changes: Any) -> Any:
    """The model, as far as the run of this name and those before it trained it."""
    config = {
        **CONFIG,
        **changes,
        "resources": {"slots_per_trial": ranks.size},
        "hyperparameters": {"global_batch_size": trial.batch * ranks.size},
    }
    with core.init(
        distributed=ranks,
        config=config,
        external_id=name,
        preempt_mode=PreemptMode.ChiefOnly,
        preempt_signals=[signal.SIGTERM],
    ) as context:
        trial.core = context  # type: ignore[attr-defined]
        given = TFKerasTrialContext(Environment.of_run(context.info), context)
        controller = Controller(trial, given, context, Sequencer(context, 4 * ranks.size))
        controller.run()
    return controller._model


def after_batch(work: Callable[[Case, int], None], base: type[Case] = Case) -> type[Case]:
    """A trial of Adam, which with `work` looks at the loss of each batch."""

    class Trial(base):  # type: ignore[misc,valid-type]
        losses: ClassVar[list[float]] = []
        validations: ClassVar[list[Any]] = []

        def optimizer(self) -> Any:
            return keras.optimizers.Adam(0.05)

        def keras_callbacks(self) -> list[Any]:
            def end(batch: int, logs: Any) -> None:
                self.losses.append(logs["loss"])
                work(self, len(self.losses))

            def end_of_test(logs: Any) -> None:
                self.validations.append(logs)

            looks = {"on_train_batch_end": end, "on_test_end": end_of_test}
            return [keras.callbacks.LambdaCallback(**looks)]

    return Trial


def preempted(ranks: DistributedContext) -> None:
    """All leave behind the same batch, and go on as if nothing had been: validations, too, are the
    same to the last bit, though each rank has moving means of its own."""

    def signalled(trial: Case, batch: int) -> None:
        if batch == 3 and ranks.rank == 0:
            os.kill(os.getpid(), signal.SIGTERM)
            while not trial.core.preempt.should_preempt():  # type: ignore[attr-defined]
                time.sleep(0.001)

    at_end = {"min_validation_period": {"batches": 6}}  # after a pause one that is due comes late
    whole = after_batch(lambda trial, batch: None, Normalized)
    expected = train(whole, ranks, "undisturbed", **at_end)
    trial = after_batch(signalled, Normalized)
    train(trial, ranks, "preempted", **at_end)
    assert ranks.allgather(len(trial.losses)) == [4] * ranks.size  # type: ignore[attr-defined]
    check_equal(ranks, train(trial, ranks, "preempted", **at_end), expected)
    assert trial.losses == whole.losses  # type: ignore[attr-defined]
    assert len(whole.losses) == 9  # type: ignore[attr-defined]
    assert trial.validations == whole.validations  # type: ignore[attr-defined]
    assert len(whole.validations) == 2  # type: ignore[attr-defined]


def early_stopping(ranks: DistributedContext) -> None:
    """By what all ranks validated: with another patience on one of them, all stop with the first
    that wants to."""
    trial = after_batch(lambda trial, batch: None)
    trial.optimizer = lambda self: keras.optimizers.SGD(0.0)  # type: ignore[method-assign]
    looks = trial.keras_callbacks
    trial.keras_callbacks = lambda self: [  # type: ignore[method-assign]
        *looks(self),
        EarlyStopping("val_loss", patience=2 if ranks.rank == 0 else 1),
    ]
    train(trial, ranks, "early")
    assert len(trial.losses) == 4  # type: ignore[attr-defined]


def refusing(_: DistributedContext) -> None:
    """One rank finds the hyperparameters invalid: while all train, and before they do."""

    def refuse(trial: Case, batch: int) -> None:
        if batch == 3 and trial.context.distributed.rank == 1:
            raise InvalidHP("not these")

    with ending_refused("while training") as ranks:
        train(after_batch(refuse), ranks, "while training")

    class Unready(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_begin(self, logs: Any = None) -> None:
            if ranks.rank == 1:
                raise InvalidHP("not these")

    class Trial(Case):
        def keras_callbacks(self) -> list[Any]:
            return [Unready()]

    with ending_refused("before") as ranks:
        train(Trial, ranks, "before")
