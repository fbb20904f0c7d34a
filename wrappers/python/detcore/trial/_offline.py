"""Makes the environment of a trial without a run, for its author to look at."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from detcore._trial import env_from_config
from detcore.trial._environment import Environment, ExperimentConfig

if TYPE_CHECKING:
    from collections.abc import Mapping


def environment_of(config: Mapping[str, Any], hparams: dict[str, Any] | None = None) -> Environment:
    """Makes it from an experiment configuration, with one slot.

    Hyperparameters are random if `hparams` does not give them.
    """
    made = env_from_config(config, random.getrandbits(32), hparams)
    return Environment(
        ExperimentConfig(made["experiment_config"]),
        made["hparams"],
        trial_seed=made["trial_seed"],
        managed_training=False,
    )
