"""Keeps the states of callbacks in checkpoints."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from detcore.keras.callbacks import Callback

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Callbacks that configure_fit() adds: their states may remain unused.
_INTERNAL = ("Progress#", "History#")


def get(callbacks: Sequence[Any]) -> dict[str, Any]:
    """Returns the states of callbacks that keep one."""
    return {key: callback.get_state() for key, callback in _named(callbacks)}


def load(callbacks: Sequence[Any], states: Any, running: Sequence[Any]) -> None:
    """Gives each callback its state. `running` are those of `callbacks` that this rank calls."""
    named = dict(_named(callbacks))
    for key, state in _by_key(callbacks, states).items():
        if key not in named and not key.startswith(_INTERNAL):
            raise ValueError(
                f"the checkpoint has the state of the callback {key}, which keras_callbacks() "
                f"does not give; given are {', '.join(sorted(named)) or 'none'}"
            )
        if named.get(key) in running:
            named[key].load_state(state)


def _by_key(callbacks: Sequence[Any], states: Any) -> dict[str, Any]:
    if isinstance(states, list):  # Determined's: one for each callback, by position
        if len(states) == len(callbacks) + 1 and _is_of_profiler(states[-1]):
            states = states[:-1]
        if len(states) != len(callbacks):
            raise ValueError(
                f"the checkpoint has the states of {len(states)} callbacks by position, and "
                f"there are {len(callbacks)}: give the ones that it was saved with"
            )
        keys = {id(callback): key for key, callback in _named(callbacks)}
        pairs = ((keys.get(id(c)), state) for c, state in zip(callbacks, states))
        states = {key: state for key, state in pairs if key is not None}
    return {key: state for key, state in states.items() if state is not None}


def _is_of_profiler(state: Any) -> bool:
    """Recognises the state of a callback that Determined up to 0.19 had after all others."""
    return isinstance(state, dict) and state.keys() == {"total_batch"}


def _named(callbacks: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Names callbacks by class and occurrence, so that one more or less does not shift the
    others."""
    seen: collections.Counter[str] = collections.Counter()
    for callback in callbacks:
        if isinstance(callback, Callback):
            name = type(callback).__qualname__
            seen[name] += 1
            yield f"{name}#{seen[name]}", callback
