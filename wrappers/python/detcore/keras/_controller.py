"""Trains a TFKerasTrial, workload by workload."""

from __future__ import annotations

import logging
import sys
import time
from typing import TYPE_CHECKING, Any

from detcore._trial_gradients import average_metrics
from detcore.errors import InvalidHP
from detcore.keras import _checkpoint, _distributed_optimizer, _prepare, _ranks
from detcore.keras._feed import Feed
from detcore.keras._metrics import numbers
from detcore.keras._multiplexer import Multiplexer
from detcore.keras._tensorflow import tf
from detcore.trial import CheckFailedError, Workload, WorkloadKind, WorkloadSource
from detcore.trial._finished import Finished, until_finished
from detcore.trial._horovod import gradients_of

if TYPE_CHECKING:
    from detcore.core import Context
    from detcore.keras._context import TFKerasTrialContext

_log = logging.getLogger("detcore.keras")


class Controller:
    """Runs one fit() of Keras for the whole trial.

    Validations and checkpoints happen in its callbacks, between two batches. Each rank has one, and
    all ranks call each method in step.
    """

    def __init__(
        self,
        trial_class: type[_prepare.Builder],
        context: TFKerasTrialContext,
        core: Context,
        workloads: WorkloadSource,
    ) -> None:
        _prepare.seed(context.env.trial_seed)
        self._context = context
        self._distributed = context.distributed
        self._is_chief = context.distributed.rank == 0
        self._core = core
        self._workloads = workloads
        self._workload: Workload | None = None
        self._is_over = False
        self._started = 0.0
        trial = trial_class(context)
        _prepare.devices(trial.session_config(), context.distributed.local_rank)
        training, validation = _prepare.data(trial, context)
        trial.build_model()
        self._model = context._compile()
        self._gradients = gradients_of(self._distributed, context.env.experiment_config)
        if self._gradients is not None:
            _distributed_optimizer.distribute(
                context._optimizers(), self._model.optimizer, self._gradients
            )
        callbacks = _prepare.callbacks(trial, context)
        self._feed = Feed(context, training, validation)
        params = {
            "batch_size": context.get_per_slot_batch_size(),
            "epochs": None,
            "steps": None,
            "samples": None,
            "verbose": False,
            "do_validation": False,
            "metrics": self._model.metrics_names,
        }
        batches = _prepare.batches_per_epoch(context)
        self._multiplexer = Multiplexer(callbacks, batches, params, self, self._is_chief)
        self._checkpoint = _checkpoint.Checkpoint(
            self._model, context, self._multiplexer, workloads, trial_class
        )
        if context.env.latest_checkpoint is not None:
            _log.info("resuming from checkpoint %s", context.env.latest_checkpoint)
            with core.checkpoint.restore_path(context.env.latest_checkpoint) as path:
                self._checkpoint.restore(path)
        before = []
        if self._distributed.size > 1:
            before = [_ranks.Broadcast(context)]
        # Keras uses a ready callback list unchanged. To measure the time of hooks would take time.
        self._callbacks = tf.keras.callbacks.CallbackList(
            [*before, self._multiplexer], model=self._model
        )
        self._callbacks._check_timing = False

    def run(self) -> None:
        """Trains until no workload is left. An InvalidHP of training is answered, and raised on
        every rank."""
        try:
            with until_finished(self._own_failure, self._refuse):
                self._model.fit(
                    self._feed.training(),
                    class_weight=self._context._fit.class_weight,
                    callbacks=self._callbacks,
                    shuffle=False,
                    steps_per_epoch=sys.maxsize,
                    epochs=sys.maxsize,
                    verbose=0,
                )
        finally:
            self._feed.close()
            if self._gradients is not None:
                self._gradients.close()

    def _own_failure(self, failure: Exception) -> BaseException:
        """Returns the exception of a Sequence or another rank, of which Keras has only the text."""
        of_ranks = self._gradients.failure if self._gradients is not None else None
        return self._feed.failure or of_ranks or failure

    def next_training(self) -> int:
        """Does all workloads before the next training, and returns its number of batches."""
        while (workload := self._workloads.next()) is not None:
            self._workload = workload
            self._started = time.monotonic()
            if workload.kind is WorkloadKind.RUN_STEP:
                self._model.reset_metrics()
                return workload.num_batches
            work = (
                self._validate
                if workload.kind is WorkloadKind.COMPUTE_VALIDATION_METRICS
                else self._save
            )
            try:
                response = work()
            except InvalidHP as refusal:
                self._respond(refusal)
            else:
                self._respond(response)
        self._is_over = True
        self._multiplexer.end()
        raise Finished

    def average_training(self, batches: list[dict[str, Any]]) -> dict[str, Any]:
        """Returns the metrics over all batches. Keras' logs are means since a reset, so it takes
        the last."""
        if not self._context.env.experiment_config.average_training_metrics_enabled():
            return batches[-1]
        return self._averaged(batches[-1])

    def _averaged(self, metrics: dict[str, Any]) -> dict[str, Any]:
        if self._distributed.size == 1:
            return metrics
        return average_metrics(self._distributed, metrics)

    def end_training(self, batches: list[dict[str, Any]], averages: dict[str, Any]) -> None:
        of_batch = self._context.get_per_slot_batch_size() * self._distributed.size
        records = len(batches) * of_batch
        self._log_speed("trained", records, len(batches))
        if not self._is_chief:
            stop = self._context.get_stop_requested()
            self._respond({"stop_requested": True} if stop else {})
            return
        metrics = {"num_inputs": records, "batch_metrics": batches, "avg_metrics": averages}
        self._respond({"metrics": metrics, "stop_requested": self._context.get_stop_requested()})

    def request_stop(self) -> None:
        if not self._context.get_stop_requested():
            self._context.set_stop_requested(True)

    def _validate(self) -> dict[str, Any]:
        _ranks.share_untrained(self._distributed, self._model)
        try:
            logs = self._evaluate()
        except InvalidHP:
            self._distributed.allgather(None)
            raise
        tested = self._distributed.allgather(self._multiplexer.tested)
        if None in tested:
            raise InvalidHP("a validation on another rank found the hyperparameters invalid")
        metrics = {f"val_{name}": value for name, value in numbers(logs).items()}
        if not metrics:
            raise CheckFailedError("evaluating the model gave no metrics: compile it with a loss")
        metrics = self._averaged(metrics)
        self._multiplexer.end_test(dict(metrics))
        batches = sum(tested)
        records = batches * self._context.get_per_slot_batch_size()
        self._log_speed("validated", records, batches)
        reported = {"num_inputs": records, "validation_metrics": metrics}
        return {
            "metrics": reported if self._is_chief else {},
            "stop_requested": self._context.get_stop_requested(),
        }

    def _evaluate(self) -> dict[str, Any]:
        with self._feed.validation() as (data, steps):
            # In graph mode evaluate() returns values in the order of metrics_names.
            options = {"return_dict": True} if tf.executing_eagerly() else {}
            try:
                found: Any = self._model.evaluate(
                    data, steps=steps, callbacks=self._callbacks, verbose=0, **options
                )
            except Exception as failure:
                raise self._own_failure(failure) from None
        if isinstance(found, dict):
            return found
        values = found if isinstance(found, list) else [found]
        return dict(zip(self._model.metrics_names, values))

    def _save(self) -> dict[str, Any]:
        """Saves a checkpoint on the chief, with the random state of each rank."""
        _ranks.share_untrained(self._distributed, self._model)
        states = self._distributed.gather(self._checkpoint.random_state())
        if states is None:
            return {}
        assert self._workload is not None
        steps = self._workload.total_batches_processed
        metadata = {
            "steps_completed": steps,
            "framework": f"tensorflow-{tf.__version__}",
            "format": "saved_weights",
        }
        with self._core.checkpoint.store_path(metadata) as (path, storage_id):
            self._checkpoint.save(path, states)
        return {"uuid": storage_id}

    def _refuse(self, refusal: InvalidHP) -> None:
        if not self._is_over:  # after the end no rank receives it
            self._respond(refusal)

    def _respond(self, response: dict[str, Any] | InvalidHP) -> None:
        self._workload = None
        self._workloads.respond(response)

    def _log_speed(self, what: str, records: int, batches: int) -> None:
        if not self._is_chief:
            return
        seconds = max(time.monotonic() - self._started, 1e-9)
        _log.info(
            "%s: %d records in %.4gs (%.4g records/s), in %d batches (%.4g batches/s)",
            what,
            records,
            seconds,
            records / seconds,
            batches,
            batches / seconds,
        )
