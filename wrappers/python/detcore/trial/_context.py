"""What a trial is given when it is made."""

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
    """Facts and services for a trial, which its `__init__` is given."""

    #: The kind of trial, as errors name it.
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
        """A context for looking at a trial by hand: what it makes is used with plain calls of its
        framework. One slot; hyperparameters are drawn from their ranges in `config`."""
        return cls(environment_of(config))

    def get_experiment_config(self) -> dict[str, Any]:
        return self.env.experiment_config

    def get_data_config(self) -> dict[str, Any]:
        """The `data` section of the configuration, or {}."""
        return self.get_experiment_config().get("data") or {}

    def get_experiment_id(self) -> int:
        """0 without a run."""
        return int(self.env.det_experiment_id or 0)

    def get_trial_id(self) -> int:
        """0 without a run."""
        return int(self.env.det_trial_id or 0)

    def get_trial_seed(self) -> int:
        return self.env.trial_seed

    def get_initial_batch(self) -> int:
        """How many batches were trained before this process started."""
        return self.env.steps_completed

    def get_global_batch_size(self) -> int:
        """Of all slots together: the configured one, rounded down to a multiple of the slots."""
        return self._batch_sizes.global_

    def get_per_slot_batch_size(self) -> int:
        return self._batch_sizes.per_slot

    def get_hparams(self) -> dict[str, Any]:
        """All hyperparameters, nested as they are configured."""
        return self.env.hparams

    def get_hparam(self, name: str) -> Any:
        """A hyperparameter, or a dict of them; `name` is one of the outermost. ValueError: there is
        none of that name."""
        if name not in self.env.hparams:
            raise ValueError(
                f"there is no hyperparameter {name!r}; there are "
                f"{', '.join(sorted(self.env.hparams)) or 'none'}"
            )
        if name == "global_batch_size":
            _log.warning(
                "the hyperparameter global_batch_size is as configured; get_global_batch_size() "
                "and get_per_slot_batch_size() tell what is trained with"
            )
        return self.env.hparams[name]

    def get_stop_requested(self) -> bool:
        return self._stop_requested

    def set_stop_requested(self, stop_requested: bool) -> None:
        """With True the trial ends at the end of the workload that it is in, with a checkpoint."""
        assert isinstance(stop_requested, bool), (
            f"stop_requested is True or False, not {stop_requested!r}"
        )
        if stop_requested:
            _log.info("the trial was asked to stop: it ends with this workload and a checkpoint")
        self._stop_requested = stop_requested

    def get_tensorboard_path(self) -> pathlib.Path:
        """The directory for TensorBoard files of this rank; without a run, one for all."""
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
    """Whatever job this process is a part of."""
    return DistributedContext(
        rank=0, size=1, local_rank=0, local_size=1, cross_rank=0, cross_size=1
    )
