"""Trains a trial, whichever way the program was started."""

from __future__ import annotations

import gc
import logging
import os
import signal
from typing import TYPE_CHECKING, Any

from detcore import core
from detcore._det_run import read_config
from detcore.errors import InvalidHP
from detcore.trial._environment import Environment
from detcore.trial._errors import InvalidExperimentException
from detcore.trial._offline import environment_of
from detcore.trial._one_batch import OneBatch, unkept_run
from detcore.trial._refusal import refused_by_all
from detcore.trial._sequencer import Sequencer
from detcore.trial._uploads import Uploads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from detcore.trial._context import TrialContext
    from detcore.trial._trial import Trial, TrialController
    from detcore.trial._workloads import WorkloadSource


def run(
    trial_class: type[Trial],
    config: dict[str, Any] | str | os.PathLike[str] | None = None,
    hparams: Mapping[str, Any] | None = None,
    **options: Any,
) -> None:
    """Trains a trial until its search has no more work, or until it is asked to stop.

    Under mpirun all ranks call it. SIGTERM asks the trial to save a checkpoint and leave. InvalidHP
    ends the program with status 0. Files below get_tensorboard_path() are brought to storage after
    each workload. On ranks except the chief, event files are left out.

    Args:
        trial_class: The class of the trial.
        config: The experiment configuration, or the name of its file. It is ignored under `det run`
            and in a cluster, which give their own.
        hparams: The hyperparameters of a new trial.
        options: Options of core.init(). With an `external_id` the next start resumes the trial.
    """
    ended: SystemExit | None = None
    try:
        _train(trial_class, config, hparams, options)
    except SystemExit as end:
        # A new exception: the frames of the first one refer to the model.
        ended = SystemExit(end.code)
    finally:
        gc.collect()  # the model and its job refer to each other, and MPI ends with the job
    if ended is not None:
        raise ended


def _train(
    trial_class: type[Trial],
    config: dict[str, Any] | str | os.PathLike[str] | None,
    hparams: Mapping[str, Any] | None,
    options: dict[str, Any],
) -> None:
    ranks = trial_class._join_ranks()
    options.setdefault("preempt_signals", [signal.SIGTERM])
    if ranks.rank > 0:  # once is enough
        logging.getLogger("detcore").setLevel(logging.WARNING)
    with (
        ranks,
        core.init(
            distributed=ranks,
            preempt_mode=core.PreemptMode.ChiefOnly,
            config=_for_ranks(config, ranks.size),
            hparams=hparams,
            **options,
        ) as context,
    ):
        environment = Environment.of_run(context.info)
        slots = max(environment.experiment_config.slots_per_trial(), 1)
        if slots != ranks.size:
            raise InvalidExperimentException(
                f"resources.slots_per_trial is {slots}, and this job has {ranks.size} ranks: start "
                f"it with `det run`, or with mpirun -n {slots}"
            )
        trial = trial_class.trial_context_class(environment, context)
        workloads: WorkloadSource = Sequencer(context, trial.get_global_batch_size())
        mode = core.TensorboardMode(options.get("tensorboard_mode", core.TensorboardMode.AUTO))
        if ranks.rank > 0 or mode is core.TensorboardMode.MANUAL:
            workloads = Uploads(workloads, context)
        with refused_by_all(workloads):
            try:
                controller = _controller(trial_class, trial, context, workloads)
            except InvalidHP as refusal:
                workloads.respond(refusal)
                raise
            controller.run()
        if isinstance(workloads, Uploads):
            workloads.upload()  # files that callbacks wrote at the end of training


def test_one_batch(
    trial_class: type[Trial],
    config: dict[str, Any] | str | os.PathLike[str] | None = None,
    hparams: Mapping[str, Any] | None = None,
) -> None:
    """Tests a trial: it trains one batch, validates with one, and saves a checkpoint.

    It runs in this process, and keeps nothing. InvalidHP is raised.

    Args:
        trial_class: The class of the trial.
        config: The experiment configuration, or the name of its file.
        hparams: The hyperparameters. None: they are drawn from their ranges in `config`.
    """
    given = {**(read_config(config) if config is not None else {}), "scheduling_unit": 1}
    offline = environment_of(given, None if hparams is None else dict(hparams))
    with unkept_run(offline) as context:
        environment = Environment.of_run(context.info, test_mode=True)
        trial = trial_class.trial_context_class(environment, context)
        _controller(trial_class, trial, context, OneBatch()).run()


def _controller(
    trial_class: type[Trial], trial: TrialContext, run: core.Context, workloads: WorkloadSource
) -> TrialController:
    assert trial_class.trial_controller_class is not None
    return trial_class.trial_controller_class(trial_class, trial, run, workloads)


def _for_ranks(
    config: dict[str, Any] | str | os.PathLike[str] | None, ranks: int
) -> dict[str, Any] | None:
    """Returns the configuration with a slot for each rank, unless it has a number of slots.

    A configuration from a file has 1 slot by default.
    """
    if config is None:
        return None
    given = read_config(config)
    resources = {"slots_per_trial": ranks, **(given.get("resources") or {})}
    if not isinstance(config, dict) and resources["slots_per_trial"] == 1:
        resources["slots_per_trial"] = ranks
    return {**given, "resources": resources}
