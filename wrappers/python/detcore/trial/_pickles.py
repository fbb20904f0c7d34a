"""The files of a checkpoint that hold Python objects."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pathlib

#: The states of random generators.
RANDOM = "rng_state.pkl"
#: The chief's position in the search.
SEQUENCER = "workload_sequencer.pkl"


def dump(path: pathlib.Path, value: Any) -> None:
    with path.open("wb") as file:
        pickle.dump(value, file)


def read(path: pathlib.Path) -> Any:
    with path.open("rb") as file:
        return pickle.load(file)
