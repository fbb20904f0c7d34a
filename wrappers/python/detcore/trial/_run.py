"""Training a trial, in whatever way this program was started."""

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
    """Trains the trial until its search has no more work for it, or it is asked to leave.

    `config` is an experiment configuration, or the file of one; under `det run` and in a cluster,
    which have it already, it is not looked at. `options` are those of core.init(): with an
    `external_id` the next start goes on where this one ended or was killed. Under mpirun all ranks
    call it. SIGTERM asks the trial to save a checkpoint and leave. InvalidHP ends the program, in
    good order. What each workload wrote below get_tensorboard_path() is brought to storage, also
    with `tensorboard_mode=core.TensorboardMode.MANUAL`; of ranks above 0 no event files.
    """
    ended: SystemExit | None = None
    try:
        _train(trial_class, config, hparams, options)
    except SystemExit as end:
        # Without what it was raised from, whose frames have what was trained.
        ended = SystemExit(end.code)
    finally:
        gc.collect()  # what was trained refers to its job in circles, and MPI ends with the job
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
            workloads.upload()  # what callbacks wrote at the end of training


def test_one_batch(
    trial_class: type[Trial],
    config: dict[str, Any] | str | os.PathLike[str] | None = None,
    hparams: Mapping[str, Any] | None = None,
) -> None:
    """Trains one batch, validates with one, and saves a checkpoint: whether a trial runs at all.

    In this process; nothing of it is kept. Hyperparameters that `config` searches for are drawn
    from their ranges. InvalidHP is raised.
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
    """A slot for each rank, unless it says something else. That of a file has a 1 if it says
    nothing."""
    if config is None:
        return None
    given = read_config(config)
    resources = {"slots_per_trial": ranks, **(given.get("resources") or {})}
    if not isinstance(config, dict) and resources["slots_per_trial"] == 1:
        resources["slots_per_trial"] = ranks
    return {**given, "resources": resources}
