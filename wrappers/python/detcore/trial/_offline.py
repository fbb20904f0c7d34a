"""The environment of a trial that its author looks at by hand, without a run."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from detcore.trial._environment import Environment, ExperimentConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

# What belongs to the place where an experiment runs.
_OF_THE_CLUSTER = ("bind_mounts", "checkpoint_storage", "environment", "resources", "optimizations")


def environment_of(config: Mapping[str, Any], hparams: dict[str, Any] | None = None) -> Environment:
    """Of an experiment configuration: one slot, and values of its hyperparameters at random where
    `hparams` does not give them."""
    merged = ExperimentConfig(
        {
            "scheduling_unit": 100,
            "resources": {"slots_per_trial": 1, "native_parallel": False},
            "optimizations": {
                "aggregation_frequency": 1,
                "average_aggregated_gradients": True,
                "average_training_metrics": True,
                "gradient_compression": False,
                "mixed_precision": "O0",
            },
            "checkpoint_storage": {"type": "shared_fs", "host_path": "/tmp"},
            "searcher": {"name": "single", "max_length": {"batches": 100}},
            **{name: value for name, value in config.items() if name not in _OF_THE_CLUSTER},
        }
    )
    if hparams is None:
        hparams = sampled(merged.get("hyperparameters") or {})
    seed = merged.experiment_seed()
    return Environment(merged, hparams, trial_seed=seed, managed_training=False)


def sampled(space: Mapping[str, Any]) -> dict[str, Any]:
    """One value of each hyperparameter, nested as they are."""
    return {name: _value(name, given) for name, given in space.items()}


def _value(name: str, given: Any) -> Any:
    if given is None or isinstance(given, (int, float, str, list)):
        return given
    if not isinstance(given, dict):
        raise ValueError(f"hyperparameter {name}: a {type(given).__name__} describes no values")
    kind = given.get("type")
    if kind is None:
        return sampled(given)
    if kind == "const":
        return given["val"]
    if kind == "categorical":
        return random.choice(given["vals"])
    if kind == "int":
        return random.randint(given["minval"], given["maxval"])
    if kind == "double":
        return random.uniform(given["minval"], given["maxval"])
    if kind == "log":
        return given.get("base", 10) ** random.uniform(given["minval"], given["maxval"])
    raise ValueError(
        f"hyperparameter {name}: type is one of const, int, double, log and categorical, not "
        f"{kind!r}"
    )
