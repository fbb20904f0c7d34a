"""Trials that are interrupted, and go on as if nothing had been."""

from __future__ import annotations

import random
import types
from collections.abc import Callable
from typing import Any

import programs
import pytest
from conftest import Det


def check_goes_on(
    det: Det, interrupted: Any, train: Callable[..., Any], config: dict[str, Any]
) -> None:
    """Of a trial that fails behind each of its `batches`, once: as one that never does."""
    config = {
        **config,
        "searcher": {**config["searcher"], "max_length": {"batches": 15}},
        "min_checkpoint_period": {"batches": 2},
        "reproducibility": {"experiment_seed": 7},
    }
    train(types.new_class("Undisturbed", (interrupted,)), config)
    interrupted.batches[:] = sorted(random.sample(range(1, 16), 4))
    for batch in list(interrupted.batches):
        with pytest.raises(ConnectionError, match=str(batch)):
            train(interrupted, config)
    train(interrupted, config)
    assert curve(det, 1) == curve(det, 2)


def curve(det: Det, trial_id: int) -> dict[Any, Any]:
    """By batch: one that was trained again is reported again."""
    return {(group, steps): each for group, steps, each in programs.reports(det, trial_id)}
