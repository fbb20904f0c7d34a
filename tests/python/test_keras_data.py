"""How trials of detcore.keras are fed."""

from __future__ import annotations

import importlib
import itertools
import os
import sys
import types
from typing import Any

import numpy as np
import pytest

pytest.importorskip("detcore.keras", reason="TensorFlow is not installed")

from detcore.keras import TFKerasTrialContext, _data
from detcore.keras._arrays import Arrays
from detcore.keras._enqueuer import Enqueuer
from detcore.keras._feed import Feed
from detcore.keras._tensorflow import tf
from detcore.trial import (
    CheckFailedError,
    Environment,
    ExperimentConfig,
    InvalidDataTypeException,
    InvalidExperimentException,
)
from keras_trials import Rows

X = np.arange(100, dtype=np.float32).reshape(-1, 1)


def context(**environment: Any) -> TFKerasTrialContext:
    config = ExperimentConfig({})
    return TFKerasTrialContext(Environment(config, {"global_batch_size": 16}, **environment))


def test_arrays_in_batches_whose_last_is_shorter() -> None:
    arrays = Arrays(X, X, None, 16)
    assert len(arrays) == 7
    batches = list(arrays.of_indices(range(7)).as_numpy_iterator())
    assert [len(x) for x, _ in batches] == [16] * 6 + [4]
    assert np.concatenate([x for x, _ in batches]).tolist() == X.tolist()


@pytest.mark.parametrize("form", [lambda x: [x, x + 1], lambda x: {"a": x, "b": x + 1}])
def test_structures_of_arrays_stay(form: Any) -> None:
    ((x, y, weight),) = Arrays(form(X), X, X[:, 0], 16).of_indices([3]).as_numpy_iterator()
    parts = list(x.values()) if isinstance(x, dict) else x
    assert isinstance(x, (dict, tuple))
    assert [part[0].item() for part in parts] == [48, 49]
    assert (len(y), weight[-1]) == (16, 63)


def test_floats_become_those_of_keras_and_integers_stay() -> None:
    x, y = Arrays(X.astype(np.float64), np.arange(100), None, 4).of_indices([0]).element_spec
    assert (x.dtype, y.dtype) == (tf.float32, tf.int64)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((X, X[:-1], None, 4), "100 rows and y 99"),
        ((X[:3], X[:3], None, 4), "3 rows do not fill a batch of 4"),
        ((X, X, np.ones(9), 4), "9 sample weights for 100 rows"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(parts: Any, message: str) -> None:
    with pytest.raises(CheckFailedError, match=message):
        Arrays(*parts)


@pytest.mark.parametrize("wrong", [None, "text", (X,), (X, None), [X, X], (1, 2), iter([])])
def test_other_forms_are_refused_with_what_is_accepted(wrong: Any) -> None:
    with pytest.raises(InvalidDataTypeException, match=r"tf\.keras\.utils\.Sequence"):
        _data.adapt(wrong, 4)


ORDER = [[2, 0, 1], [1, 2, 0]]


@pytest.mark.parametrize(("workers", "processes"), [(0, False), (1, False), (5, False), (2, True)])
def test_sequence_is_read_in_order(workers: int, processes: bool) -> None:
    sequence = Rows(X[:9], X[:9], 3)
    enqueuer = Enqueuer(sequence, workers=workers, use_multiprocessing=processes, max_queue_size=2)
    read = [int(x[0, 0]) // 3 for x, _ in enqueuer.data(ORDER)]
    assert read == [2, 0, 1, 1, 2, 0]
    assert sequence.epochs_ended == 2


@pytest.mark.parametrize("workers", [0, 2])
def test_sequence_that_raises(workers: int) -> None:
    sequence = Rows(X[:9], X[:9], 3, raise_at=1)
    enqueuer = Enqueuer(sequence, workers=workers, use_multiprocessing=False, max_queue_size=4)
    with pytest.raises(ValueError, match="sequence failed at 1"):
        list(enqueuer.data([[0, 1, 2]]))
    assert str(enqueuer.failure) == "sequence failed at 1"


class Dying(Rows):
    def __getitem__(self, index: int) -> Any:
        os._exit(3)


def test_process_that_dies_is_told() -> None:
    enqueuer = Enqueuer(
        Dying(X[:9], X[:9], 3), workers=1, use_multiprocessing=True, max_queue_size=4
    )
    with pytest.raises(ValueError, match="a process that read batches of the Sequence died"):
        list(enqueuer.data([[0, 1]]))
    enqueuer.stop()
    enqueuer.stop()


def test_queue_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="max_queue_size"):
        Enqueuer(Rows(X, X, 3), workers=1, use_multiprocessing=False, max_queue_size=0)


def test_endless_training_goes_on_where_it_was() -> None:
    given = context(steps_completed=5)
    given.configure_fit(shuffle=False)
    fed = Feed(given, _data.adapt((X, X), 16), _data.adapt((X, X), 16)).training()
    first = [int(x[0, 0]) // 16 for x, _ in itertools.islice(fed.as_numpy_iterator(), 6)]
    assert first == [5, 6, 0, 1, 2, 3]


def test_validation_of_one_batch_in_test_mode() -> None:
    given = context(test_mode=True)
    with Feed(given, _data.adapt((X, X), 16), _data.adapt((X, X), 16)).validation() as (_, steps):
        assert steps == 1


def test_each_rank_needs_a_batch() -> None:
    given = context()
    given.distributed = types.SimpleNamespace(rank=0, size=3)  # type: ignore[assignment]
    two, seven = _data.adapt((X[:32], X[:32]), 16), _data.adapt((X, X), 16)
    for what, parts in {"training": (two, seven), "validation": (seven, two)}.items():
        with pytest.raises(CheckFailedError, match=f"the {what} data have 2 batches for 3 ranks"):
            Feed(given, *parts)
    Feed(given, seven, seven)


def test_several_steps_at_once_are_refused() -> None:
    given = context()
    model = given.wrap_model(tf.keras.Sequential([tf.keras.layers.Dense(1)]))
    with pytest.raises(InvalidExperimentException, match="steps_per_execution=8"):
        model.compile("sgd", "mse", steps_per_execution=8)
    model.compile("sgd", "mse", steps_per_execution=1)


def test_options_of_fit_are_merged() -> None:
    given = context()
    given.configure_fit(verbose=False, workers=5, class_weight={0: 2})
    given.configure_fit(use_multiprocessing=True, validation_steps=3)
    assert (given._fit.workers, given._fit.class_weight) == (5, {0: 2})
    given.configure_fit(class_weight=None)
    assert given._fit.class_weight is None
    assert vars(given._fit) == {
        "verbose": False,
        "class_weight": None,
        "workers": 5,
        "use_multiprocessing": True,
        "max_queue_size": 10,
        "shuffle": True,
        "validation_steps": 3,
    }


def test_without_a_controller_nothing_is_wrapped() -> None:
    given = TFKerasTrialContext.from_config({"hyperparameters": {"global_batch_size": 4}})
    for wrap in (given.wrap_model, given.wrap_optimizer, given.wrap_dataset):
        one = object()
        assert wrap(one) is one


def test_without_tensorflow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    monkeypatch.delitem(sys.modules, "detcore.trial._tensorflow")
    with pytest.raises(ImportError, match=r"need TensorFlow .*pip install 'tensorflow>="):
        importlib.import_module("detcore.trial._tensorflow")


def test_tensorflow_that_is_too_new_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf, "__version__", "2.16.1")
    monkeypatch.delitem(sys.modules, "detcore.trial._tensorflow")
    with pytest.raises(ImportError, match=r"TensorFlow 2\.16\.1 .*<2\.16"):
        importlib.import_module("detcore.trial._tensorflow")
