"""The generators of random numbers that a trial may draw from."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from detcore.keras._tensorflow import tf


def get() -> dict[str, Any]:
    generator = tf.random.get_global_generator()
    return {
        "np_rng_state": np.random.get_state(),
        "random_rng_state": random.getstate(),
        "tf2_rng_global_algorithm": int(generator.algorithm),
        "tf2_rng_global_state": generator.state.numpy(),
    }


def load(state: dict[str, Any]) -> None:
    np.random.set_state(state["np_rng_state"])
    random.setstate(state["random_rng_state"])
    if "tf2_rng_global_state" in state:
        # That of older checkpoints is a variable.
        numbers = np.asarray(state["tf2_rng_global_state"])
        algorithm = state["tf2_rng_global_algorithm"]
        tf.random.set_global_generator(tf.random.Generator(state=numbers, alg=algorithm))
    elif "tf_rng_global_seed" in state:
        tf.random.set_seed(state["tf_rng_global_seed"])
