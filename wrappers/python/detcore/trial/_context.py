"""The context that a trial gets when it is made."""

from __future__ import annotations

import logging
import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any

from detcore._trial import BatchSizes, divide_batch
from detcore.core import DistributedContext
from detcore.errors import InvalidArgumentError
from detcore.trial._environment import Environment
from detcore.trial._errors import InvalidExperimentException
from detcore.trial._offline import environment_of

if TYPE_CHECKING:
    from typing_extensions import Self

    from detcore.core import Context

_log = logging.getLogger("detcore.trial")


class TrialContext:
    """The facts and services that the `__init__` of a trial gets."""

    #: The kind of trial, for messages.
    _trial: str = "Trial"

    def __init__(self, env: Environment, core: Context | None = None) -> None:
        self.env: Environment = env
        #: The ranks of this trial.
        self.distributed: DistributedContext = core.distributed if core is not None else _alone()
        self._core = core
        self._stop_requested = False
        slots = env.experiment_config.slots_per_trial()
        self._batch_sizes = _divided(env.hparams, slots, self._trial)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Makes a context to look at a trial by hand, with plain calls of its framework.

        It has one slot. Hyperparameters are drawn at random from their ranges in `config`.
        """
        return cls(environment_of(config))

    def get_experiment_config(self) -> dict[str, Any]:
        """Returns the experiment configuration."""
        return self.env.experiment_config

    def get_data_config(self) -> dict[str, Any]:
        """Returns the `data` section of the configuration, or {}."""
        return self.get_experiment_config().get("data") or {}

    def get_experiment_id(self) -> int:
        """Returns the id of the experiment; 0 without a run."""
        return int(self.env.det_experiment_id or 0)

    def get_trial_id(self) -> int:
        """Returns the id of the trial; 0 without a run."""
        return int(self.env.det_trial_id or 0)

    def get_trial_seed(self) -> int:
        """Returns the seed for random numbers, the same on all ranks."""
        return self.env.trial_seed

    def get_initial_batch(self) -> int:
        """Returns the number of batches that the trial had trained when this process started."""
        return self.env.steps_completed

    def get_global_batch_size(self) -> int:
        """Returns the records of a batch over all slots together.

        It is the configured size, rounded down to a multiple of the slots.
        """
        return self._batch_sizes.global_

    def get_per_slot_batch_size(self) -> int:
        """Returns the records of a batch on one slot."""
        return self._batch_sizes.per_slot

    def get_hparams(self) -> dict[str, Any]:
        """Returns all hyperparameters, nested as in the configuration."""
        return self.env.hparams

    def get_hparam(self, name: str) -> Any:
        """Returns one hyperparameter, or a dict of nested ones.

        Args:
            name: A name of the outermost level.

        Raises:
            ValueError: The configuration does not have this hyperparameter.
        """
        if name not in self.env.hparams:
            raise ValueError(
                f"there is no hyperparameter {name!r}; there are "
                f"{', '.join(sorted(self.env.hparams)) or 'none'}"
            )
        if name == "global_batch_size":
            _log.warning(
                "the hyperparameter global_batch_size is the configured value; "
                "get_global_batch_size() and get_per_slot_batch_size() return the sizes in use"
            )
        return self.env.hparams[name]

    def get_stop_requested(self) -> bool:
        """Returns True if set_stop_requested() asked the trial to stop."""
        return self._stop_requested

    def set_stop_requested(self, stop_requested: bool) -> None:
        """Asks the trial to stop after its current workload, with a checkpoint."""
        assert isinstance(stop_requested, bool), (
            f"stop_requested is True or False, not {stop_requested!r}"
        )
        if stop_requested:
            _log.info("the trial was asked to stop: it ends with this workload and a checkpoint")
        self._stop_requested = stop_requested

    def get_tensorboard_path(self) -> pathlib.Path:
        """Returns the directory for TensorBoard files of this rank. Without a run it is one for
        all."""
        if self._core is not None:
            return self._core.train.get_tensorboard_path()
        path = pathlib.Path(tempfile.gettempdir(), f"tensorboard-{os.getuid()}")
        path.mkdir(mode=0o700, exist_ok=True)
        return path


def _divided(hparams: dict[str, Any], slots: int, trial: str) -> BatchSizes:
    try:
        sizes = divide_batch(hparams, slots, trial)
    except InvalidArgumentError as refusal:
        raise InvalidExperimentException(str(refusal)) from None
    if sizes.warning is not None:
        _log.warning("%s", sizes.warning)
    return sizes


def _alone() -> DistributedContext:
    """Makes a job of this process alone, even if it is part of another job."""
    return DistributedContext(
        rank=0, size=1, local_rank=0, local_size=1, cross_rank=0, cross_size=1
    )
