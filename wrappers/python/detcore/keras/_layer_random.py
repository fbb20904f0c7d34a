"""Keeps the random numbers of layers such as Dropout."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from detcore.keras._tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Iterator

_log = logging.getLogger("detcore.keras")


def use_generators() -> None:
    """Makes new models use generators whose states can be kept.

    The default operations of Keras do not expose their states.
    """
    enable = getattr(tf.keras.backend.experimental, "enable_tf_random_generator", None)
    if enable is not None and tf.executing_eagerly():
        enable()


def get(model: Any) -> list[Any]:
    return [generator.state.numpy() for generator in _generators(model)]


def load(model: Any, states: list[Any]) -> None:
    generators = list(_generators(model))
    if len(generators) != len(states):
        _log.warning(
            "%d layers of the model draw random numbers, and %d did in the checkpoint: they begin "
            "anew.",
            len(generators),
            len(states),
        )
        return
    for generator, state in zip(generators, states):
        generator.state.assign(state)


def _generators(model: Any) -> Iterator[Any]:
    for layer in model._flatten_layers():
        numbers = getattr(layer, "_random_generator", None)
        if numbers is None:
            continue
        if hasattr(numbers, "_maybe_init"):  # the generator of a layer that was not called yet
            numbers._maybe_init()
        if getattr(numbers, "_generator", None) is not None:
            yield numbers._generator
