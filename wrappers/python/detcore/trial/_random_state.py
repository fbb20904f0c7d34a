"""The generators of random numbers that a trial of TensorFlow may use."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from detcore.trial._pickles import RANDOM
from detcore.trial._tensorflow import tf


def seed(trial_seed: int) -> None:
    """Seeds all generators, the same on every rank, so that all ranks build the same model."""
    random.seed(trial_seed)
    np.random.seed(trial_seed)
    tf.random.set_seed(trial_seed)


def name_of(rank: int) -> str:
    """Returns the name of the file in a checkpoint. Determined keeps only that of rank 0."""
    return RANDOM if rank == 0 else f"rng_state-{rank}.pkl"


def get() -> dict[str, Any]:
    states = {"np_rng_state": np.random.get_state(), "random_rng_state": random.getstate()}
    if not tf.executing_eagerly():  # its operations do not expose their states
        return {**states, "tf_rng_global_seed": tf.compat.v1.get_seed(0)[0]}
    generator = tf.random.get_global_generator()
    return {
        **states,
        "tf2_rng_global_algorithm": int(generator.algorithm),
        "tf2_rng_global_state": generator.state.numpy(),
    }


def load(state: dict[str, Any]) -> None:
    np.random.set_state(state["np_rng_state"])
    random.setstate(state["random_rng_state"])
    if "tf2_rng_global_state" in state and tf.executing_eagerly():
        # In older checkpoints it is a variable.
        numbers = np.asarray(state["tf2_rng_global_state"])
        algorithm = state["tf2_rng_global_algorithm"]
        tf.random.set_global_generator(tf.random.Generator(state=numbers, alg=algorithm))
    elif "tf_rng_global_seed" in state:
        tf.random.set_seed(state["tf_rng_global_seed"])
