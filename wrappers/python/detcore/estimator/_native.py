"""Trials of scripts without a class: init() gives a context, and the script gives it the parts."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from detcore import core
from detcore.estimator import _prepare
from detcore.estimator._context import EstimatorContext
from detcore.estimator._controller import Controller
from detcore.estimator._trial import EstimatorTrial
from detcore.trial import Environment, InvalidExperimentException, Sequencer
from detcore.trial._horovod import join_ranks
from detcore.trial._offline import environment_of
from detcore.trial._one_batch import OneBatch, unkept_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from detcore.core import Context
    from detcore.trial import WorkloadSource


class EstimatorNativeContext(EstimatorContext):
    """The context that init() gives a script that trains an estimator."""

    _trial = "an estimator's script"

    def __init__(self, env: Environment, run: Context | None = None) -> None:
        super().__init__(env, run)
        #: Receivers by name. Each checkpoint has a directory of that name with its SavedModel.
        self.serving_input_receiver_fns: dict[str, Callable[..., Any]] = {}
        self._stack = contextlib.ExitStack()

    def train_and_evaluate(self, estimator: Any, train_spec: Any, eval_spec: Any) -> None:
        """Trains the estimator, as a trial with these parts is trained.

        In a run it ends the program, because the trial is over then. In test mode it returns after
        one batch of everything, and keeps nothing. In test mode you may call it again.
        """
        serving = self.serving_input_receiver_fns

        class Given(EstimatorTrial):
            def build_estimator(self) -> Any:
                return estimator

            def build_train_spec(self) -> Any:
                return train_spec

            def build_validation_spec(self) -> Any:
                return eval_spec

            def build_serving_input_receiver_fns(self) -> dict[str, Callable[..., Any]]:
                return serving

        if self.env.test_mode:
            with unkept_run(self.env) as run:
                Controller(Given, self, run, OneBatch()).run()
            return
        started = self._core
        assert started is not None
        with self._stack:
            workloads: WorkloadSource = Sequencer(started, self.get_global_batch_size())
            Controller(Given, self, started, workloads).run()
        sys.exit()


def init(
    config: dict[str, Any] | None = None,
    local: bool = False,
    test: bool = False,
    context_dir: str = "",
    command: list[str] | None = None,
    master_url: str | None = None,
) -> EstimatorNativeContext:
    """Begins the trial of a script. From then on TensorFlow behaves as version 1.

    Under `det run`, whose entrypoint starts the script, and in a cluster, it uses the trial of the
    run and ignores all arguments. Elsewhere, `local=True, test=True` tries one batch with `config`.
    Nothing else is possible, because detcore does not submit scripts to a master.

    Args:
        config: The experiment configuration. It needs the hyperparameter `global_batch_size`.
        local: True: run here.
        test: True: only try one batch.
        context_dir: The directory of the script.
        command: Accepted for determined, and not used.
        master_url: Accepted for determined, and not used.

    Raises:
        AssertionError: `global_batch_size` is missing.
        NotImplementedError: The arguments ask to submit the script.
        InvalidExperimentException: They do so without a `context_dir`.
    """
    info = core.get_cluster_info()
    if info is not None and info.trial is not None:
        return _of_run()
    if not local:
        if not context_dir:
            raise InvalidExperimentException(
                "init() needs a context_dir, the directory of the script, if no run started it; "
                "to try it here, use local=True, test=True"
            )
        raise NotImplementedError(
            "init() submits nothing: start the script by `det run` with a configuration whose "
            f"entrypoint is [python3, {os.path.basename(sys.argv[0]) or 'SCRIPT'}]"
        )
    if not test:
        raise NotImplementedError(
            "init(local=True) only tries a batch: add test=True, or train by `det run`"
        )
    if "global_batch_size" not in ((config or {}).get("hyperparameters") or {}):
        raise AssertionError("init() needs global_batch_size in config['hyperparameters']")
    offline = environment_of({**(config or {}), "scheduling_unit": 1})
    _prepare.version_one(offline.trial_seed)
    return EstimatorNativeContext(
        dataclasses.replace(offline, managed_training=True, test_mode=True)
    )


def _of_run() -> EstimatorNativeContext:
    with contextlib.ExitStack() as stack:
        ranks = stack.enter_context(join_ranks())
        run = stack.enter_context(
            core.init(
                distributed=ranks,
                preempt_mode=core.PreemptMode.ChiefOnly,
                preempt_signals=[signal.SIGTERM],
            )
        )
        environment = Environment.of_run(run.info)
        _prepare.version_one(environment.trial_seed)
        context = EstimatorNativeContext(environment, run)
        context._stack = stack.pop_all()
    return context
