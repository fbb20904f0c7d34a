"""Doing what the search asks."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Det
from detcore import core
from detcore.core import DistributedContext, SearcherMode, Unit
from ranks import in_processes


def config(searcher: dict[str, Any]) -> dict[str, Any]:
    return {"searcher": {"name": "single", "metric": "loss", **searcher}}


def test_an_operation_is_trained_reported_and_completed() -> None:
    with core.init(config=config({"max_length": {"epochs": 5}})) as run:
        assert run.searcher.get_configured_units() is Unit.EPOCHS
        lengths = []
        for operation in run.searcher.operations():
            lengths.append(operation.length)
            operation.report_progress(2)
            operation.report_progress(np.float32(2.5))  # type: ignore[arg-type]
            with pytest.raises(ValueError, match="progress"):
                operation.report_progress(math.nan)
            with pytest.raises((TypeError, ValueError)):
                operation.report_progress("half")  # type: ignore[arg-type]
            operation.report_completed(0.5)
            operation.report_progress(5)
            with pytest.raises(RuntimeError, match="progress"):
                operation.report_progress(4)
            with pytest.raises(RuntimeError, match="completed before"):
                operation.report_completed(0.5)
        assert lengths == [5]
        run.searcher.acknowledge_out_of_ops()


@pytest.mark.parametrize(
    ("searcher", "unit"),
    [
        ({"max_length": 50}, None),
        ({"max_length": {"batches": 5}}, Unit.BATCHES),
        ({"max_length": {"records": 5}}, Unit.RECORDS),
    ],
)
def test_units_are_those_of_the_configuration(searcher: dict[str, Any], unit: Unit | None) -> None:
    with core.init(config=config(searcher)) as run:
        assert run.searcher.get_configured_units() is unit


def test_the_names_are_those_of_the_original() -> None:
    assert {mode.name: mode.value for mode in SearcherMode} == {
        "WorkersAskChief": "WORKERS_ASK_CHIEF",
        "ChiefOnly": "CHEIF_ONLY",
    }
    assert [unit.value for unit in Unit] == ["EPOCHS", "RECORDS", "BATCHES"]


def test_an_operation_that_was_not_completed_is_an_error() -> None:
    with core.init() as run:
        operations = run.searcher.operations()
        assert not next(operations)._completed
        with pytest.raises(RuntimeError, match=r"must call op\.report_completed"):
            next(operations)


def test_who_left_the_loop_early_gets_the_operation_again() -> None:
    with core.init() as run:
        first = next(iter(run.searcher.operations()))
        seen = []
        for operation in run.searcher.operations():
            seen.append(operation)
            operation.report_completed(1.0)
        assert seen == [first]
        assert list(run.searcher.operations()) == []


def test_a_wrong_mode_is_said_when_the_first_operation_is_asked_for() -> None:
    with core.init() as run:
        operations = run.searcher.operations("anybody")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="anybody"):
            next(operations)
        assert next(run.searcher.operations(SearcherMode.ChiefOnly)).length == 1
        with pytest.raises(RuntimeError):
            next(run.searcher.operations(SearcherMode.WorkersAskChief))


METRICS: list[tuple[Any, Any]] = [
    (1, 1), (0.25, 0.25), (np.float32(0.5), 0.5), (np.array(3), 3), (True, True), ("text", "text"),
    ({"loss": [1, None]}, {"loss": [1, None]}), (np.array([1.0, 2.0]), [1, 2]),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "kept"), METRICS, ids=repr)
def test_any_json_completes_an_operation(metric: Any, kept: Any) -> None:
    with core.init() as run:
        operation = next(run.searcher.operations())
        operation.report_completed(metric)
        assert operation._completed
        assert list(run.searcher.operations()) == []


def test_what_is_no_json_does_not_complete_it() -> None:
    with core.init() as run:
        operation = next(run.searcher.operations())
        with pytest.raises(TypeError, match="searcher_metric"):
            operation.report_completed(object())
        assert not operation._completed
        operation.report_completed(math.nan)


@pytest.mark.parametrize("length", ["5", "abc", None, True, [1]])
def test_progress_is_a_number(length: Any) -> None:
    with core.init() as run:
        operation = next(run.searcher.operations())
        with pytest.raises(TypeError, match="length must be a number"):
            operation.report_progress(length)
        operation.report_completed(1)


def of_ranks(context: DistributedContext) -> Any:
    with core.init(distributed=context) as run:
        refused = []
        lengths = []
        for operation in run.searcher.operations():
            lengths.append(operation.length)
            if context.rank == 0:
                operation.report_completed(1.0)
                continue
            for report in operation.report_progress, operation.report_completed:
                try:
                    report(1)
                except RuntimeError as failure:
                    refused.append(str(failure))
        return lengths, refused


def test_workers_get_what_the_chief_gets_but_do_not_report() -> None:
    chief, worker = in_processes(of_ranks, 2)
    assert chief == ([1], [])
    lengths, (progress, completed) = worker
    assert lengths == [1]
    assert "op.report_progress" in progress and "chief" in progress
    assert "op.report_completed" in completed and "chief" in completed


def by_the_chief_alone(context: DistributedContext) -> Any:
    with core.init(distributed=context) as run:
        try:
            return [op.length for op in _completed(run.searcher.operations(SearcherMode.ChiefOnly))]
        except RuntimeError as failure:
            return str(failure)


def _completed(operations: Any) -> Any:
    for operation in operations:
        yield operation
        operation.report_completed(1.0)


def test_where_only_the_chief_may_ask_workers_are_refused() -> None:
    chief, worker = in_processes(by_the_chief_alone, 2)
    assert chief == [1] and "searcher.operations" in worker and "chief" in worker


TRIAL = """
from detcore import core
with core.init() as run:
    trained = 0
    for operation in run.searcher.operations():
        while trained < operation.length:
            trained += 1
            operation.report_progress(trained)
        loss = run.info.trial.hparams["x"] / trained
        run.train.report_validation_metrics(trained, {"loss": loss})
        operation.report_completed(loss)
"""

SEARCH = """
entrypoint: {python} {program}
hyperparameters:
  x: {{type: double, minval: 1, maxval: 2}}
searcher:
  name: async_halving
  metric: loss
  num_rungs: 3
  divisor: 2
  max_length: {{batches: 8}}
  max_trials: 6
  max_concurrent_trials: 2
"""


def test_a_search_of_several_operations(det: Det, store: Path) -> None:
    program = store.parent / "trial.py"
    program.write_text(TRIAL)
    yaml = store.parent / "search.yaml"
    yaml.write_text(SEARCH.format(python=sys.executable, program=program))
    det("run", str(yaml))
    trials = [json.loads(line) for line in det("trials", "1", "--json").splitlines()]
    assert len(trials) == 6 and {trial["state"] for trial in trials} == {"COMPLETED"}
    steps = sorted(trial["steps_completed"] for trial in trials)
    assert steps[0] == 2 and steps[-1] == 8, trials
