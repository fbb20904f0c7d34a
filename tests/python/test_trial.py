"""What trial layers share, from Python: beside NumPy, and beside what the original recorded."""

from __future__ import annotations

import json
import math
import pathlib
from typing import Any

import numpy
import pytest
from detcore import _trial, core

DATA = pathlib.Path(__file__).parents[1] / "data" / "trials"
CONFIG = {
    "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 5}},
    "scheduling_unit": 3,
}


def recorded(rule: str) -> list[Any]:
    lines = map(json.loads, (DATA / "rules.jsonl").read_text().splitlines())
    return [pytest.param(one, id=one["case"]) for one in lines if one["rule"] == rule]


def train_all(sequencer: _trial.Sequencer) -> list[tuple[int, ...]]:
    done = []
    while workload := sequencer.next():
        done.append(tuple(workload))
        if workload.kind == _trial.TRAIN:
            sequencer.respond({"metrics": {"avg_metrics": {"loss": math.nan}}})
        elif workload.kind == _trial.VALIDATE:
            sequencer.respond({"metrics": {"validation_metrics": {"loss": 0.5}}})
        else:
            sequencer.respond({"uuid": "c", "stop_requested": False})
    return done


def test_a_trial_from_start_to_end() -> None:
    with core.init() as context:
        sequencer = _trial.Sequencer(context.train._core, 4, CONFIG)
        assert train_all(sequencer) == [(1, 1, 1, 0), (3, 1, 0, 1), (2, 1, 0, 1)]
        assert sequencer.state()["last_ckpt"] == 1
        with pytest.raises(ValueError, match="checkpoint_policy"):
            _trial.Sequencer(context.train._core, 4, {**CONFIG, "checkpoint_policy": "some"})


def test_invalid_hparams_end_a_trial() -> None:
    with core.init() as context:
        sequencer = _trial.Sequencer(context.train._core, 4, CONFIG)
        sequencer.load_state({**sequencer.state(), "trial_id": 999999})
        assert sequencer.next() == (1, 1, 1, 0)
        sequencer.respond_invalid_hparams()
        assert sequencer.next() is None


def test_batches_are_divided() -> None:
    assert _trial.divide_batch({"global_batch_size": 8}, 4, "T") == (2, 8, None)
    per_slot, whole, warning = _trial.divide_batch({"global_batch_size": 10}, 4, "T")
    assert (per_slot, whole) == (2, 8)
    assert warning is not None and "10" in warning
    with pytest.raises(ValueError, match="required hyperparameter of T"):
        _trial.divide_batch({}, 4, "T")


def test_an_environment_without_a_master() -> None:
    space = {"lr": {"type": "log", "base": 10, "minval": -3, "maxval": -1}, "size": 3}
    made = _trial.env_from_config({"hyperparameters": space, "resources": {"slots": 8}}, 7)
    assert 1e-3 <= made["hparams"]["lr"] <= 1e-1
    assert made["experiment_config"]["resources"]["slots_per_trial"] == 1
    assert made == _trial.env_from_config(made["experiment_config"], 7)
    assert _trial.env_from_config(None, 7, {"a": {"b": 1}})["hparams"] == {"a": {"b": 1}}


@pytest.mark.parametrize(("shard", "shards"), [(0, 1), (0, 3), (1, 3), (2, 3)])
@pytest.mark.parametrize("skip", [0, 50, 350])
@pytest.mark.parametrize("shuffle", [False, True])
def test_shards_take_turns_in_one_stream(shard: int, shards: int, skip: int, shuffle: bool) -> None:
    random, batches, stream = numpy.random.RandomState(777), list(range(100)), list[int]()
    for _ in range(20):
        if shuffle:
            random.shuffle(batches)
        stream += batches
    sampler = _trial.Sampler(100, shard, shards, shuffle, 777, skip)
    expected = stream[shard::shards][skip:]
    seen = [index for _ in range(4) for index in sampler.epoch()]
    assert len(seen) > 90
    assert seen == expected[: len(seen)]


@pytest.mark.parametrize("case", recorded("EarlyStopping"))
def test_early_stopping_as_recorded(case: dict[str, Any]) -> None:
    options = {k: v for k, v in case["options"].items() if k != "restore_best_weights"}
    rule = _trial.EarlyStoppingRule(**options)
    for value, expected in zip(case["values"], case["states"]):
        again = _trial.EarlyStoppingRule(**options)
        again.load_state(rule.state())  # as a trial that goes on from a checkpoint
        rule = again
        stop, _ = rule.update(None if case["case"].endswith("missing-monitor") else value)
        if case["case"].endswith("baseline") and expected["wait"] >= options["patience"]:
            assert stop  # there it waited for ever
            break
        assert stop == expected["stop"]
        assert rule.state() == {key: number(expected[key]) for key in rule.state()}


@pytest.mark.parametrize("case", recorded("ReduceLROnPlateau"))
def test_plateaus_as_recorded(case: dict[str, Any]) -> None:
    rule, rate = _trial.PlateauRule(**case["options"]), 0.001
    for value, expected in zip(case["values"], case["states"]):
        again = _trial.PlateauRule(**case["options"])
        again.load_state(rule.state())
        rule = again
        rate = rule.update(value, rate)
        assert rate == pytest.approx(expected["lr"], rel=1e-6)
        assert rule.state() == {key: number(expected[key]) for key in rule.state()}


def number(value: Any) -> Any:
    return float(value) if value == "Infinity" else value
