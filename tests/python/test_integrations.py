"""What the callbacks of all libraries do, without any of the libraries."""

from __future__ import annotations

import importlib
import math
import os
import sys
from typing import Any

import pytest
from conftest import Det
from detcore import client, core
from detcore.integrations._trial import Reports, TrialCallback

CONFIG = {"searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 4}}}


class Callback(TrialCallback):
    """Of a library that trains by batches and validates after each."""

    def train(self, length: int) -> None:
        while self.steps < length and not self.preempted:
            self.steps += 1
            self._report("validation", {"accuracy": 0.5, "loss": 1 / self.steps})
            self._report_progress()
            self._asked_to_stop()
            self._save(lambda path: (path / "weights").write_text(str(self.steps)))


@pytest.fixture(autouse=True)
def no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_default", None)


@pytest.mark.parametrize(
    ("module", "library", "package"),
    [
        ("keras", "keras", "tensorflow"),
        ("lightgbm", "lightgbm", "lightgbm"),
        ("lightning", "lightning", "lightning"),
        ("sklearn", "joblib", "scikit-learn"),
        ("transformers", "transformers", "transformers"),
        ("xgboost", "xgboost", "xgboost"),
    ],
)
def test_module_without_its_library_says_what_to_install(
    module: str, library: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setitem(sys.modules, "pytorch_lightning", None)
    with pytest.raises(
        ImportError, match=f"detcore.integrations.{module} needs .*pip install {package}"
    ):
        importlib.import_module(f"detcore.integrations.{module}")


def test_operation_is_completed_with_the_metric_of_the_search() -> None:
    with core.init(config=CONFIG) as context:
        callback = Callback(context)
        for operation in callback.operations():
            callback.train(operation.length)
    (done,) = client.get_trial(1).operations
    assert (done["length"], done["metric"]) == (4, 0.25)
    assert client.get_trial(1).progress == 1


def test_metric_that_is_not_validated_is_an_error_that_names_those_that_are() -> None:
    what = r"needs the metric 'recall', and .* had accuracy, loss"
    with pytest.raises(ValueError, match=what), core.init(config=CONFIG) as context:
        callback = Callback(context, metric="recall")
        for operation in callback.operations():
            callback.train(operation.length)


def test_trial_that_nobody_compares_completes_with_its_first_metric() -> None:
    with core.init() as context:
        callback = Callback(context)
        for operation in callback.operations():
            callback.train(operation.length)
    (done,) = client.get_trial(1).operations
    assert done["metric"] == 0.5


def test_preempted_trial_completes_nothing_and_goes_on() -> None:
    steps = []
    for stop in (True, False):
        with core.init(config=CONFIG, external_id="trial") as context:
            callback = Callback(context)
            steps.append(callback.steps)
            if stop:
                context.preempt.request()
                while not context.preempt.should_preempt(auto_ack=False):
                    pass
            for operation in callback.operations():
                callback.train(operation.length)
            assert callback.preempted == stop
    assert steps == [0, 1]
    assert client.get_trial(1).state == "COMPLETED"
    assert [run["exit"] for run in client.get_trial(1).runs] == ["preempted", "ok"]


def test_what_was_trained_before_a_kill_is_completed_and_not_trained_again(det: Det) -> None:
    child = os.fork()
    if child == 0:
        context = core.init(config=CONFIG, external_id="trial")
        context.start()
        callback = Callback(context)
        for operation in callback.operations():
            callback.train(operation.length)
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

    with core.init(config=CONFIG, external_id="trial") as context:
        callback = Callback(context)
        assert (callback.steps, callback.validation) == (4, {"accuracy": 0.5, "loss": 0.25})
        assert list(callback.operations()) == []
    (done,) = client.get_trial(1).operations
    assert done["metric"] == 0.25


def test_only_numbers_are_reported_and_each_once_a_step() -> None:
    class Scalar:
        def __float__(self) -> float:
            return 1.5

    given: dict[str, Any] = {"a": Scalar(), "text": "3", "list": [1], "nan": math.nan, "none": None}
    with core.init() as context:
        reports = Reports(context)
        reported = reports.report("training", 1, given)
        assert reported.keys() == {"a", "nan"} and reported["a"] == 1.5
        assert reports.report("training", 1, {"a": 2, "b": 3}).keys() == {"a", "nan", "b"}
        assert reports.report("training", 2, {"a": 2}) == {"a": 2}
    rows = [(r.steps_completed, r.metrics) for r in client.get_trial(1).iter_metrics()]
    assert [(step, metrics.get("a")) for step, metrics in rows] == [(1, 1.5), (1, None), (2, 2)]
