"""detcore.TrialContext, and what the trial layers share, without a framework."""

from __future__ import annotations

import itertools
import logging
import random
from typing import Any

import numpy as np
import pytest
from detcore import TrialContext
from detcore.trial import (
    CheckFailedError,
    Environment,
    ExperimentConfig,
    InvalidExperimentException,
)
from detcore.trial._sampler import epochs

HPARAMS = {"global_batch_size": 8, "a": {"b": 1}}


def context(slots: int = 1, **hparams: Any) -> TrialContext:
    config = ExperimentConfig({"resources": {"slots_per_trial": slots}})
    return TrialContext(Environment(config, hparams or HPARAMS))


@pytest.mark.parametrize(
    ("batch", "slots", "expected"),
    [(8, 1, (8, 8)), (10, 4, (2, 8)), (3, 0, (3, 3)), (True, 1, (1, 1)), (4, 4, (1, 4))],
)
def test_batch_is_divided_between_slots(
    batch: int, slots: int, expected: tuple[int, int], caplog: pytest.LogCaptureFixture
) -> None:
    made = context(slots, global_batch_size=batch)
    assert (made.get_per_slot_batch_size(), made.get_global_batch_size()) == expected
    assert (len(caplog.records) == 1) == (batch != expected[1])


@pytest.mark.parametrize(
    ("hparams", "message"),
    [
        ({"lr": 1}, "required hyperparameter of Trial"),
        ({"global_batch_size": 2.5}, "must be an integer, not float"),
        ({"global_batch_size": 2}, "batch_size is 2, and there are 4 slots"),
        ({"global_batch_size": -4}, "batch_size is -4"),
    ],
)
def test_batch_that_cannot_be_divided_is_refused(hparams: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidExperimentException, match=message):
        context(4, **hparams)


def test_a_null_is_as_if_it_were_left_out() -> None:
    config = ExperimentConfig(
        scheduling_unit=None,
        resources={"slots_per_trial": None},
        reproducibility={"experiment_seed": None},
        optimizations={"average_training_metrics": None, "aggregation_frequency": None},
    )
    assert config.scheduling_unit() == 100
    assert (config.slots_per_trial(), config.experiment_seed()) == (1, 0)
    assert config.get_optimizations_config() == {} and config.average_training_metrics_enabled()


def test_refusal_of_an_experiment_is_not_caught_by_handlers_of_exceptions() -> None:
    assert not issubclass(InvalidExperimentException, Exception)


def test_hyperparameters(caplog: pytest.LogCaptureFixture) -> None:
    made = context()
    assert made.get_hparams() is HPARAMS
    assert made.get_hparam("a") == {"b": 1}
    with pytest.raises(ValueError, match=r"'a\.b'"):
        made.get_hparam("a.b")
    assert made.get_hparam("global_batch_size") == 8
    assert "get_per_slot_batch_size" in caplog.text


def test_a_stop_is_asked_for_by_a_bool(caplog: pytest.LogCaptureFixture) -> None:
    made = context()
    for wrong in ("yes", 1):
        with pytest.raises(AssertionError, match=f"{wrong!r}"):
            made.set_stop_requested(wrong)  # type: ignore[arg-type]
    assert made.get_stop_requested() is False
    with caplog.at_level(logging.INFO, "detcore"):
        made.set_stop_requested(True)
    assert made.get_stop_requested() is True
    assert "it ends with this workload" in caplog.text


def test_context_from_a_configuration_has_one_slot_and_no_run() -> None:
    config = {
        "resources": {"slots_per_trial": 8},
        "reproducibility": {"experiment_seed": 5},
        "hyperparameters": {
            "global_batch_size": {"type": "const", "val": 16},
            "nested": {"n": {"type": "int", "minval": 7, "maxval": 8}, "text": "as it is"},
            "double": {"type": "double", "minval": 1, "maxval": 2},
            "log": {"type": "log", "base": 10, "minval": -2, "maxval": -1},
            "categorical": {"type": "categorical", "vals": ["only"]},
        },
    }
    made = TrialContext.from_config(config)
    hparams = made.get_hparams()
    assert hparams["nested"]["n"] in (7, 8) and hparams["nested"]["text"] == "as it is"
    assert hparams["categorical"] == "only"
    assert 1 <= hparams["double"] <= 2
    assert 0.01 <= hparams["log"] <= 0.1
    assert made.get_per_slot_batch_size() == made.get_global_batch_size() == 16
    assert (made.get_trial_id(), made.get_experiment_id(), made.get_trial_seed()) == (0, 0, 5)
    assert (made.get_data_config(), made.get_initial_batch()) == ({}, 0)
    assert made.get_experiment_config()["resources"]["slots_per_trial"] == 1
    assert (made.distributed.rank, made.distributed.size) == (0, 1)
    assert not made.env.managed_training
    assert made.get_tensorboard_path().is_dir()


def test_hyperparameters_of_an_unknown_kind_are_refused() -> None:
    refusals = [
        ({"type": "normal"}, ValueError, "hyperparameters.x"),
        (object(), TypeError, "object"),
    ]
    for wrong, kind, message in refusals:
        with pytest.raises(kind, match=message):
            TrialContext.from_config({"hyperparameters": {"global_batch_size": 1, "x": wrong}})


def test_shuffle_is_that_of_the_original() -> None:
    first = next(epochs(10, 0, 1, shuffle=True, seed=0))
    assert first == [2, 8, 4, 9, 1, 6, 7, 3, 0, 5]
    other = list(itertools.islice(epochs(10, 0, 1, shuffle=True, seed=777), 2))
    assert other == [[2, 0, 8, 3, 4, 5, 1, 9, 6, 7], [4, 1, 7, 0, 3, 2, 5, 8, 9, 6]]


def test_ranks_that_do_not_divide_an_epoch_go_on_in_the_next() -> None:
    turns = list(itertools.islice(epochs(10, 0, 3), 4))
    assert turns == [[0, 3, 6, 9], [2, 5, 8], [1, 4, 7], [0, 3, 6, 9]]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("skip", [0, 50, 350])
def test_each_rank_takes_its_share_of_one_stream(shuffle: bool, skip: int) -> None:
    state, order = np.random.RandomState(777), list(range(100))
    stream: list[int] = []
    for _ in range(20):
        if shuffle:
            state.shuffle(order)
        stream += order
    for rank, size in ((0, 1), (0, 3), (1, 3), (2, 3)):
        given = epochs(100, rank, size, shuffle=shuffle, seed=777, skip=skip)
        mine = list(itertools.islice(itertools.chain.from_iterable(given), 200))
        assert mine == stream[rank::size][skip : skip + 200]


def test_fewer_batches_than_ranks_are_refused() -> None:
    with pytest.raises(CheckFailedError, match=r"3 .*4"):
        epochs(3, 0, 4)


def test_values_are_drawn_by_the_generator_of_python() -> None:
    space = {"global_batch_size": 1, "x": {"type": "double", "minval": 0, "maxval": 1}}
    drawn = []
    for _ in range(2):
        random.seed(3)
        drawn.append(TrialContext.from_config({"hyperparameters": space}).get_hparam("x"))
    assert drawn[0] == drawn[1]
