"""State that is some attributes."""

from __future__ import annotations

from typing import Any


def get(owner: Any, names: tuple[str, ...]) -> dict[str, Any]:
    # Releases of Keras differ in what they have.
    return {name: getattr(owner, name) for name in names if hasattr(owner, name)}


def load(owner: Any, names: tuple[str, ...], state: dict[str, Any]) -> None:
    unknown = sorted(state.keys() - set(names))
    if unknown:
        raise ValueError(
            f"the checkpoint has {', '.join(unknown)} of {type(owner).__name__}, which this "
            "release does not know"
        )
    vars(owner).update(state)
