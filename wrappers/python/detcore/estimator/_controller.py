"""Trains an EstimatorTrial, workload by workload."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from detcore import InvalidHP
from detcore.estimator import _prepare
from detcore.estimator._checkpoint import Checkpoint
from detcore.estimator._hooks import ControlHook, StopHook
from detcore.estimator._model_directory import ModelDirectory
from detcore.trial import InvalidExperimentException, Workload, WorkloadKind, WorkloadSource
from detcore.trial._finished import Finished
from detcore.trial._tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Callable

    from detcore.core import Context
    from detcore.estimator._context import EstimatorContext
    from detcore.estimator._trial import EstimatorTrial

_log = logging.getLogger("detcore.estimator")


class Controller:
    """One train() of TensorFlow for the whole trial; validations and checkpoints happen in one of
    its hooks, between two batches."""

    def __init__(
        self,
        trial_class: Callable[[Any], EstimatorTrial],
        context: EstimatorContext,
        core: Context,
        workloads: WorkloadSource,
    ) -> None:
        if context.distributed.size > 1:
            raise InvalidExperimentException(
                f"an EstimatorTrial is trained on one rank, and there are "
                f"{context.distributed.size}: set slots_per_trial to 1"
            )
        _prepare.version_one(context.env.trial_seed)
        self._context = context
        self._core = core
        self._workloads = workloads
        self._workload: Workload | None = None
        #: Of the training, once there is one.
        self.session: Any = None
        self._scaffold: Any = None
        self._unsaved = False
        self._parts = _prepare.parts(trial_class(context))
        self._model = ModelDirectory()
        self._checkpoint = Checkpoint(self._model, self._parts, workloads)
        if context.env.latest_checkpoint is not None:
            _log.info("going on from checkpoint %s", context.env.latest_checkpoint)
            with core.checkpoint.restore_path(context.env.latest_checkpoint) as path:
                self._checkpoint.restore(path)
        self._estimator = _prepare.estimator(
            self._parts.estimator, context, str(self._model.path), self._hold_scaffold
        )

    def run(self) -> None:
        """Until there are no more workloads. InvalidHP of training is answered, and raised."""
        hooks = [*self._parts.train.hooks, StopHook(self._context)]
        try:
            self._estimator.train(
                _prepare.training_input(self._parts.train.input_fn, self._context),
                hooks=[*hooks, ControlHook(self, self._context)],
            )
            raise AssertionError(
                "training ended before the trial did: its input function must give batches for "
                "ever, or a Dataset, which is repeated"
            )
        except Finished:
            pass
        except InvalidHP as refusal:
            if self._workload is not None:
                self._respond(refusal)
            raise
        finally:
            with contextlib.ExitStack() as ends:  # also behind one that raises
                ends.callback(self._model.remove)
                for hook in reversed(self._parts.run_hooks()):
                    ends.callback(hook.on_trial_close)

    def next_training(self) -> int | None:
        """Does what comes before the next training; how many batches that has. None: a session is
        needed first."""
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
        self._unsaved = True
        averages = {name: float(np.mean([b[name] for b in batches])) for name in batches[0]}
        self._move_events()
        metrics = {
            "num_inputs": len(batches),
            "batch_metrics": batches,
            "avg_metrics": averages,
        }
        self._respond({"metrics": metrics, "stop_requested": self._context.get_stop_requested()})

    def _validate(self) -> dict[str, Any]:
        self._save_model()
        spec = self._parts.validation
        try:
            found = self._estimator.evaluate(
                spec.input_fn,
                steps=1 if self._context.env.test_mode else spec.steps,
                hooks=[*spec.hooks, StopHook(self._context)],
            )
        except tf.errors.OpError:
            if self._context._failure is not None:
                raise self._context._failure from None
            raise
        self._move_events()
        metrics = {name: _number(value) for name, value in found.items()}
        return {
            "metrics": {"validation_metrics": metrics},
            "stop_requested": self._context.get_stop_requested(),
        }

    def _save(self) -> dict[str, Any]:
        assert self._workload is not None
        self._save_model()
        metadata = {
            "steps_completed": self._workload.total_batches_processed,
            "framework": f"tensorflow-{tf.__version__}",
            "format": "saved_model",
        }
        with self._core.checkpoint.store_path(metadata) as (path, storage_id):
            self._checkpoint.save(path, self._estimator)
        return {"uuid": storage_id}

    def _save_model(self) -> None:
        """Where validations and checkpoints find it. As new as the last batch it may be there."""
        if not self._unsaved:
            return
        step = tf.compat.v1.train.get_global_step(self.session.graph)
        path = str(self._model.path / "model.ckpt")
        self._scaffold.saver.save(self.session, path, global_step=step)
        self._model.keep_newest()
        self._unsaved = False

    def _move_events(self) -> None:
        self._model.move_events(self._context.get_tensorboard_path())

    def _hold_scaffold(self, scaffold: Any) -> None:
        self._scaffold = scaffold

    def _respond(self, response: dict[str, Any] | InvalidHP) -> None:
        self._workload = None
        self._workloads.respond(response)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
