"""The environment of a trial that its author looks at by hand, without a run."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from detcore._trial import env_from_config
from detcore.trial._environment import Environment, ExperimentConfig

if TYPE_CHECKING:
    from collections.abc import Mapping


def environment_of(config: Mapping[str, Any], hparams: dict[str, Any] | None = None) -> Environment:
    """Of an experiment configuration: one slot, and values of its hyperparameters at random where
    `hparams` does not give them."""
    made = env_from_config(config, random.getrandbits(32), hparams)
    return Environment(
        ExperimentConfig(made["experiment_config"]),
        made["hparams"],
        trial_seed=made["trial_seed"],
        managed_training=False,
    )
