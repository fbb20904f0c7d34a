"""The generators of random numbers that a trial of TensorFlow may draw from."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from detcore.trial._pickles import RANDOM
from detcore.trial._tensorflow import tf


def seed(trial_seed: int) -> None:
    """The same on every rank, so that the same model is built."""
    random.seed(trial_seed)
    np.random.seed(trial_seed)
    tf.random.set_seed(trial_seed)


def name_of(rank: int) -> str:
    """The file in a checkpoint. That of rank 0 is where the original has it, which keeps no
    other."""
    return RANDOM if rank == 0 else f"rng_state-{rank}.pkl"


def get() -> dict[str, Any]:
    states = {"np_rng_state": np.random.get_state(), "random_rng_state": random.getstate()}
    if not tf.executing_eagerly():  # whose operations keep their states to themselves
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
        # That of older checkpoints is a variable.
        numbers = np.asarray(state["tf2_rng_global_state"])
        algorithm = state["tf2_rng_global_algorithm"]
        tf.random.set_global_generator(tf.random.Generator(state=numbers, alg=algorithm))
    elif "tf_rng_global_seed" in state:
        tf.random.set_seed(state["tf_rng_global_seed"])
