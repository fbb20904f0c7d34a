"""detcore.search.optuna: samplers, pruners and storages of Optuna drive real experiments."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
from detcore import search
from detcore.client import Client
from detcore.search import SearcherState
from detcore.search.optuna import OptunaSearch
from experiments import QUICK, trial
from optuna.storages.journal import JournalFileBackend

CONFIG: dict[str, Any] = {
    "name": "optuna",
    "searcher": {"name": "custom", "metric": "loss"},
    "hyperparameters": {"x": {"type": "double", "minval": 0, "maxval": 1}},
    "max_restarts": 0,
}
SPACE = {
    "fixed": 7,
    "also_fixed": {"type": "const", "val": [1, 2]},
    "listed": [1, {"type": "int"}],
    "empty": {},
    "net": {
        "width": {"type": "int", "minval": 8, "maxval": 16},
        "deep": {"drop": {"type": "double", "minval": 0.0, "maxval": 0.5}, "act": "relu"},
    },
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
    "opt": {"type": "categorical", "vals": ["adam", "sgd", None]},
    "shape": {"type": "categorical", "vals": [[3, 3], {"a": 1}]},
    "odd": {"type": "categorical", "vals": [True, 1]},
}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(optuna.logging.INFO)


def study(**options: Any) -> optuna.Study:
    options.setdefault("sampler", optuna.samplers.TPESampler(seed=1, n_startup_trials=3))
    return optuna.create_study(**options)


class Play:
    """A method with an experiment played to it: the loss of a trial is what `loss` says."""

    def __init__(self, method: OptunaSearch) -> None:
        self.method = method
        self.state = SearcherState()
        self.lengths: dict[uuid.UUID, list[int]] = {}
        self.hparams: dict[uuid.UUID, dict[str, Any]] = {}
        self.waiting: list[search.Operation] = []
        self.ended: search.Shutdown | None = None

    def run(self, loss: Any) -> Play:
        self.waiting += self.method.initial_operations(self.state)
        while self.waiting:
            self.step(self.waiting.pop(0), loss)
            assert 0 <= self.method.progress(self.state) <= 1
        return self

    def step(self, operation: search.Operation, loss: Any) -> None:
        operation.to_json()
        if isinstance(operation, search.Create):
            self.hparams[operation.request_id] = operation.hparams
            self.state.trials_created.add(operation.request_id)
            self.lengths[operation.request_id] = []
            self.waiting += self.method.on_trial_created(self.state, operation.request_id)
        elif isinstance(operation, search.ValidateAfter):
            one, length = operation.request_id, operation.length
            self.lengths[one].append(length)
            value = loss(self.hparams[one], length)
            if isinstance(value, search.ExitedReason):
                self.state.failures.add(one)
                self.waiting += self.method.on_trial_exited_early(self.state, one, value)
                self.close(one)
            else:
                self.waiting += self.method.on_validation_completed(self.state, one, value, length)
        elif isinstance(operation, search.Close):
            self.close(operation.request_id)
        elif isinstance(operation, search.Shutdown):
            self.ended = operation

    def close(self, one: uuid.UUID) -> None:
        self.state.trials_closed.add(one)
        self.waiting += self.method.on_trial_closed(self.state, one)


def states(of: optuna.Study) -> list[str]:
    return [trial.state.name for trial in of.trials]


def test_every_kind_of_hyperparameter_is_searched() -> None:
    method = OptunaSearch(study(), SPACE, max_trials=12, max_length=1)
    play = Play(method).run(lambda hparams, _: hparams["lr"])
    for hparams in play.hparams.values():
        assert hparams["fixed"] == 7 and hparams["also_fixed"] == [1, 2] and hparams["empty"] == {}
        assert hparams["listed"] == [1, {"type": "int"}]
        assert 8 <= hparams["net"]["width"] <= 16 and isinstance(hparams["net"]["width"], int)
        assert 0 <= hparams["net"]["deep"]["drop"] <= 0.5
        assert hparams["net"]["deep"]["act"] == "relu" and 1e-4 <= hparams["lr"] <= 0.1
        assert hparams["opt"] in ("adam", "sgd", None) and hparams["shape"] in ([3, 3], {"a": 1})
        assert hparams["odd"] in (True, 1)
        json.dumps(hparams)
    assert len({hparams["lr"] for hparams in play.hparams.values()}) == 12
    assert {type(hparams["odd"]) for hparams in play.hparams.values()} == {bool, int}
    assert play.ended == search.Shutdown() and method.progress(play.state) == 1
    assert set(method.study.best_params) == {
        "net.width",
        "net.deep.drop",
        "lr",
        "opt",
        "shape",
        "odd",
    }


def test_validations_are_intermediate_values_and_the_pruner_ends_trials() -> None:
    pruner = optuna.pruners.MedianPruner(n_startup_trials=2, n_warmup_steps=0)
    method = OptunaSearch(
        study(pruner=pruner, direction="maximize"),
        CONFIG["hyperparameters"],
        max_trials=10,
        max_length=7,
        period=3,
        max_concurrent_trials=1,
    )
    play = Play(method).run(lambda hparams, length: hparams["x"] * length)
    by_state = {"COMPLETE": [3, 6, 7], "PRUNED": [3]}
    assert set(states(method.study)) == set(by_state)
    for one, lengths in play.lengths.items():
        trial = method.study.trials[method.numbers[one]]
        assert (
            list(trial.intermediate_values) == lengths == by_state[trial.state.name][: len(lengths)]
        )
    best = method.study.best_trial
    assert best.value == 7 * max(trial.params["x"] for trial in method.study.trials)


def test_no_more_trials_at_once_than_allowed() -> None:
    most: list[int] = []

    def loss(_: Any, __: int) -> float:
        most.append(len(play.state.trials_created) - len(play.state.trials_closed))
        return 1.0

    method = OptunaSearch(study(), SPACE, max_trials=7, max_length=1, max_concurrent_trials=3)
    play = Play(method)
    play.run(loss)
    assert len(play.hparams) == 7 and max(most) <= 3


def test_what_goes_wrong_is_told_to_the_study() -> None:
    answers: list[Any] = [
        float("nan"),
        "text",
        None,
        search.ExitedReason.ERRORED,
        search.ExitedReason.INVALID_HP,
        1.0,
        2.0,
    ]
    method = OptunaSearch(study(), SPACE, max_trials=6, max_length=1, max_concurrent_trials=1)
    play = Play(method).run(lambda *_: answers.pop(0))
    assert states(method.study) == ["FAIL"] * 5 + ["COMPLETE"] * 2, "one was replaced"
    assert play.ended == search.Shutdown()
    failing = OptunaSearch(study(), SPACE, max_trials=2, max_length=1)
    assert Play(failing).run(lambda *_: float("nan")).ended == search.Shutdown(failure=True)


@pytest.mark.parametrize("kept", ["memory", "sqlite", "journal"])
def test_a_restored_search_goes_on_as_it_would_have(tmp_path: Path, kept: str) -> None:
    def make(kept: str) -> OptunaSearch:
        storage: Any = None
        if kept == "sqlite":
            storage = f"sqlite:///{tmp_path}/study.db"
        if kept == "journal":
            backend = JournalFileBackend(str(tmp_path / "study"))
            storage = optuna.storages.JournalStorage(backend)
        return OptunaSearch(
            study(storage=storage),
            {"lr": SPACE["lr"]},
            max_trials=5,
            max_length=1,
            max_concurrent_trials=2,
        )

    def loss(hparams: dict[str, Any], _: int) -> float:
        return abs(float(hparams["lr"]) - 0.01)

    other = OptunaSearch(study(), {}, max_trials=1, max_length=1)
    broken = Play(make(kept))
    straight = Play(make("memory")).run(loss)
    broken.waiting += broken.method.initial_operations(broken.state)
    while broken.waiting:
        (tmp_path / "state").mkdir(exist_ok=True)
        broken.step(broken.waiting.pop(0), loss)
        # What came after the state was kept is taken back, but for what a storage has.
        broken.method.save_method_state(tmp_path / "state")
        if len(broken.state.trials_closed) in (2, 3):
            broken.method._next_trials(SearcherState(trials_closed=set(broken.method.numbers)))
        broken.method = copy.deepcopy(other)
        broken.method.load_method_state(tmp_path / "state")
    assert [*broken.hparams.values()] == [*straight.hparams.values()]
    complete = [trial for trial in broken.method.study.trials if trial.state.name == "COMPLETE"]
    assert len(complete) == 5 and "RUNNING" not in states(broken.method.study)


def test_optuna_drives_an_experiment(store: Path) -> None:
    method = OptunaSearch(
        study(),
        CONFIG["hyperparameters"],
        max_trials=5,
        max_length=1,
        max_concurrent_trials=2,
    )
    runner = search.LocalSearchRunner(method, store / "search", quiet=True, slots=2)
    runner.run(CONFIG, command=trial(QUICK))
    with Client() as client:
        experiment = client.get_experiment(1)
        assert experiment.state == "COMPLETED" and experiment.progress == 1
        best = experiment.best_trial()
        found = {trial.request_id: trial.hparams["x"] for trial in experiment.list_trials()}
    assert best is not None and best.trial.hparams["x"] == method.study.best_params["x"]
    assert method.study.best_value == pytest.approx(min(found.values()))
    for request_id, x in found.items():
        assert request_id is not None
        assert method.study.trials[method.numbers[request_id]].params["x"] == x


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_trials": 0}, "max_trials"),
        ({"max_length": 1.5}, "max_length"),
        ({"period": True}, "period"),
        ({"hyperparameters": {"x": {"type": "triangle"}}}, "the type 'triangle' is unknown"),
        ({"hyperparameters": {"x": {"type": "int", "minval": 1}}}, "maxval"),
        ({"hyperparameters": {"x": {"type": "double", "minval": 2, "maxval": 1}}}, "x"),
        ({"hyperparameters": {"a.b": {"type": "int", "minval": 1, "maxval": 2},
                              "a": {"b": {"type": "int", "minval": 1, "maxval": 2}}}}, "two named"),
    ],
)  # fmt: skip
def test_bad_input(options: dict[str, Any], text: str) -> None:
    given = {"hyperparameters": SPACE, "max_trials": 3, "max_length": 2, **options}
    with pytest.raises(ValueError, match=text):
        OptunaSearch(study(), **given)


def test_several_objectives_are_refused() -> None:
    with pytest.raises(ValueError, match="2 directions"):
        OptunaSearch(study(directions=["minimize"] * 2), SPACE, max_trials=1, max_length=1)


def test_without_optuna_it_says_what_to_do() -> None:
    program = "import sys; sys.modules['optuna'] = None; import detcore.search.optuna"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install optuna" in done.stderr and "import detcore.search" not in done.stdout
