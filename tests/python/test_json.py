"""What values of NumPy and of other frameworks are, everywhere that Python values become JSON."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Det
from detcore import core, storage
from detcore._json import encode
from detcore.client import Client
from detcore.search import Create
from detcore.search._state_directory import StateDirectory


class Tensor:
    """As those of TensorFlow, which give an array."""

    def __init__(self, value: Any) -> None:
        self._value = np.asarray(value)

    def __float__(self) -> float:
        return float(self._value)

    def numpy(self) -> Any:
        return self._value


BIG = 2**60 + 1  # which no double holds
VALUES: list[tuple[Any, Any]] = [
    (np.int64(BIG), BIG),
    (np.uint64(2**64 - 1), 2**64 - 1),
    (np.int8(-3), -3),
    (np.bool_(True), True),
    (np.bool_(False), False),
    (np.float32(0.5), 0.5),
    (np.float16(0.5), 0.5),
    (np.longdouble(0.5), 0.5),
    (np.str_("text"), "text"),
    (np.array(BIG), BIG),
    (np.array(True), True),
    (np.array([3]), [3]),
    (np.array([[BIG], [0]]), [[BIG], [0]]),
    (np.array([True, False]), [True, False]),
    (np.array([0.5], np.longdouble), [0.5]),
    (np.datetime64("2026-01-02T03:04:05.000000006"), "2026-01-02T03:04:05.000000006"),
    (np.array(["2026-01-02"], "M8[D]"), ["2026-01-02"]),
    (Tensor(BIG), BIG),
    (Tensor(np.bool_(True)), True),
    (Tensor([[0.5]]), [[0.5]]),
    ({"deep": [np.int64(BIG), {"er": np.bool_(False)}]}, {"deep": [BIG, {"er": False}]}),
]


@pytest.mark.parametrize(("given", "kept"), VALUES, ids=[repr(given) for given, _ in VALUES])
def test_a_value_keeps_its_kind_and_its_digits(given: Any, kept: Any) -> None:
    found = json.loads(encode(given, "it"))
    assert (found, repr(found)) == (kept, repr(kept))


@pytest.mark.parametrize("given", [np.complex64(1j), np.array([1j]), np.timedelta64(3, "D"), {1}])
def test_what_is_no_json_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="it cannot hold a "):
        encode({"a": given}, "it")


#: Of every kind that loses something as a float.
GIVEN = {"count": np.int64(BIG), "on": np.bool_(True), "shape": np.array([3])}
KEPT = {"count": BIG, "on": True, "shape": [3]}


def hyperparameters(_: Path) -> Any:
    with core.init(hparams=GIVEN) as run:
        assert run.info.trial is not None
        return run.info.trial.hparams


def of_the_trial(_: Path) -> Any:
    with core.init() as run:
        run.train.set_metadata(GIVEN)
        return run.train.get_metadata()


def of_a_checkpoint(_: Path) -> Any:
    with core.init() as run:
        with run.checkpoint.store_path({"steps_completed": np.int64(3), **GIVEN}) as (_path, name):
            pass
        found = run.checkpoint.get_metadata(name)
        assert repr(found.pop("steps_completed")) == "3"
        return found


def of_a_directory(folder: Path) -> Any:
    (folder / "files").mkdir()
    name = storage.Storage(folder / "storage").upload(folder / "files", GIVEN)
    return json.loads((folder / "storage" / name / "metadata.json").read_text())


def of_a_new_trial(_: Path) -> Any:
    return json.loads(Create(uuid.UUID(int=1), GIVEN).to_json()["createTrial"]["hyperparams"])


def of_a_search(folder: Path) -> Any:
    states = StateDirectory(folder / "search")
    states.save(GIVEN, lambda _: None)
    found = states.read()
    assert found is not None
    return found[0]


@pytest.mark.parametrize(
    "keep",
    [hyperparameters, of_the_trial, of_a_checkpoint, of_a_directory, of_a_new_trial, of_a_search],
)
def test_it_is_so_wherever_values_are_kept(keep: Callable[[Path], Any], tmp_path: Path) -> None:
    found = {name: value for name, value in keep(tmp_path).items() if name in KEPT}
    assert repr(found) == repr(KEPT)


def test_an_integer_completes_an_operation_as_one(det: Det) -> None:
    with core.init() as run:
        next(run.searcher.operations()).report_completed(np.int64(3))
    for metric in (np.float32("inf"), Tensor(math.nan)):
        with core.init() as run:
            next(run.searcher.operations()).report_completed(metric)


def test_what_a_program_tells_a_master_may_be_of_numpy() -> None:
    with core.init():
        pass
    with Client() as client:
        (experiment,) = client.list_experiments()
        client.update_experiment(experiment.id, archived=np.bool_(True), name=np.str_("a"))
        experiment.reload()
        assert experiment.archived is True and experiment.name == "a"
