"""Trains an EstimatorTrial, workload by workload."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from detcore.errors import InvalidHP
from detcore.estimator import _prepare, _ranks
from detcore.estimator._checkpoint import Checkpoint
from detcore.estimator._hooks import ControlHook, StopHook
from detcore.estimator._model_directory import ModelDirectory
from detcore.trial import Workload, WorkloadKind, WorkloadSource, _random_state
from detcore.trial._finished import Finished, until_finished
from detcore.trial._horovod import gradients_of
from detcore.trial._tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Callable

    from detcore.core import Context
    from detcore.estimator._context import EstimatorContext

_log = logging.getLogger("detcore.estimator")


class Controller:
    """Runs one train() of TensorFlow for the whole trial.

    Validations and checkpoints happen in one of its hooks, between two batches. Each rank has one,
    and all ranks call each method in step.
    """

    def __init__(
        self,
        trial_class: Callable[[Any], _prepare.Builder],
        context: EstimatorContext,
        core: Context,
        workloads: WorkloadSource,
    ) -> None:
        _prepare.version_one(context.env.trial_seed)
        self._context = context
        self._distributed = context.distributed
        self._is_chief = context.distributed.rank == 0
        self._core = core
        self._workloads = workloads
        self._workload: Workload | None = None
        #: The session of the training, as soon as it exists.
        self.session: Any = None
        self._scaffold: Any = None
        self._unsaved = False
        self._parts = _prepare.parts(trial_class(context))
        self._model = ModelDirectory()
        self._checkpoint = Checkpoint(self._model, self._parts, workloads, self._distributed.rank)
        if context.env.latest_checkpoint is not None:
            _log.info("resuming from checkpoint %s", context.env.latest_checkpoint)
            with core.checkpoint.restore_path(context.env.latest_checkpoint) as path:
                self._checkpoint.restore(path)
        self._gradients = gradients_of(self._distributed, context.env.experiment_config)
        self._estimator = _prepare.estimator(
            self._parts.estimator,
            context,
            str(self._model.path),
            self._gradients,
            self._hold_scaffold,
        )

    def run(self) -> None:
        """Trains until no workload is left. An InvalidHP of training is answered, and raised on
        every rank."""
        hooks = [*self._parts.train.hooks, StopHook(self._context)]
        if self._distributed.size > 1 and self._context.env.latest_checkpoint is None:
            hooks.insert(0, _ranks.Broadcast(self._distributed, self._change))
        try:
            with until_finished(self._own_failure, self._respond):
                self._estimator.train(
                    _prepare.training_input(self._parts.train.input_fn, self._context),
                    hooks=[*hooks, ControlHook(self, self._context)],
                )
                raise AssertionError(
                    "training ended before the trial did: its input function must give batches for "
                    "ever, or a Dataset, which is repeated"
                )
        finally:
            with contextlib.ExitStack() as ends:  # also after one that raises
                if self._gradients is not None:
                    ends.callback(self._gradients.close)
                ends.callback(self._model.remove)
                for hook in reversed(self._parts.run_hooks()):
                    ends.callback(hook.on_trial_close)

    def _own_failure(self, failure: Exception) -> BaseException:
        """Returns the exception of a reducer or another rank, of which TensorFlow has only the
        text."""
        if not isinstance(failure, tf.errors.OpError):
            return failure
        of_ranks = self._gradients.failure if self._gradients is not None else None
        return self._context._failure or of_ranks or failure

    def next_training(self) -> int | None:
        """Does all workloads before the next training, and returns its number of batches.

        None: a session is needed first.
        """
        while (workload := self._workload or self._workloads.next()) is not None:
            self._workload = workload
            if workload.kind is WorkloadKind.RUN_STEP:
                return workload.num_batches
            if workload.kind is WorkloadKind.COMPUTE_VALIDATION_METRICS:
                work = self._validate
            elif self.session is None and not self._model.has_model():
                return None
            else:
                work = self._save
            try:
                response: dict[str, Any] | InvalidHP = work()
            except InvalidHP as refusal:
                response = refusal
            self._respond(response)
        raise Finished

    def end_training(self, batches: list[dict[str, float]]) -> None:
        self._change()
        averages = {name: float(np.mean([b[name] for b in batches])) for name in batches[0]}
        if self._context.env.experiment_config.average_training_metrics_enabled():
            averages = _ranks.average(self._distributed, averages)
        self._move_events()
        stop = self._context.get_stop_requested()
        if not self._is_chief:
            self._respond({"stop_requested": True} if stop else {})
            return
        metrics = {
            "num_inputs": len(batches),
            "batch_metrics": batches,
            "avg_metrics": averages,
        }
        self._respond({"metrics": metrics, "stop_requested": stop})

    def _validate(self) -> dict[str, Any]:
        self._share_untrained()
        self._save_model()
        try:
            found = self._evaluate()
            _ranks.gather(self._distributed, None)
        except InvalidHP as refusal:
            _ranks.refuse(self._distributed, refusal)
            raise
        self._move_events()
        metrics = {name: _number(value) for name, value in found.items()}
        metrics = _ranks.average(self._distributed, metrics)
        return {
            "metrics": {"validation_metrics": metrics} if self._is_chief else {},
            "stop_requested": self._context.get_stop_requested(),
        }

    def _evaluate(self) -> dict[str, Any]:
        spec = self._parts.validation
        try:
            found: dict[str, Any] = self._estimator.evaluate(
                spec.input_fn,
                steps=1 if self._context.env.test_mode else spec.steps,
                hooks=[*spec.hooks, StopHook(self._context)],
            )
        except tf.errors.OpError as failure:
            raise self._own_failure(failure) from None
        return found

    def _save(self) -> dict[str, Any]:
        """Saves a checkpoint on the chief, with the random state of each rank."""
        self._share_untrained()
        states = self._distributed.gather(_random_state.get())
        if states is None:
            return {}
        assert self._workload is not None
        self._save_model()
        metadata = {
            "steps_completed": self._workload.total_batches_processed,
            "framework": f"tensorflow-{tf.__version__}",
            "format": "saved_model",
        }
        with self._core.checkpoint.store_path(metadata) as (path, storage_id):
            self._checkpoint.save(path, self._estimator, states)
        return {"uuid": storage_id}

    def _share_untrained(self) -> None:
        if self.session is not None:  # without a session all ranks have the restored state, or none
            _ranks.share_untrained(self._distributed, self.session)

    def _save_model(self) -> None:
        """Saves the model for validations and checkpoints, unless the state after the last batch is
        saved."""
        if not self._unsaved:
            return
        step = tf.compat.v1.train.get_global_step(self.session.graph)
        path = str(self._model.path / "model.ckpt")
        self._scaffold.saver.save(self.session, path, global_step=step)
        self._model.keep_newest()
        self._unsaved = False

    def _change(self) -> None:
        self._unsaved = True

    def _move_events(self) -> None:
        """Moves the chief's event files. Those of other ranks are deleted with their model."""
        if self._is_chief:
            self._model.move_events(self._context.get_tensorboard_path())

    def _hold_scaffold(self, scaffold: Any) -> None:
        self._scaffold = scaffold

    def _respond(self, response: dict[str, Any] | InvalidHP) -> None:
        self._workload = None
        self._workloads.respond(response)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
