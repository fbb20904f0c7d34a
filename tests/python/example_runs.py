"""Runs examples/python in children of this process, which has loaded their library already, and
ends them where a test wants it."""

from __future__ import annotations

import json
import os
import runpy
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from detcore import core

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/python"
# Measured by the clock, and so never the same.
_TIMES = ("runtime", "per_second")

Metrics = dict[tuple[str, int], dict[str, float]]


class Example:
    """An example that trains trial 1 of a store."""

    def __init__(self, script: str, store: Path, det: Callable[..., str]) -> None:
        self._script = EXAMPLES / "integrations" / script
        self._store = store
        self._det = det

    def run(self, number: int = 0, *, at: int = 0) -> tuple[int, list[int]]:
        """How a run ended, and the steps whose validation it reported. It gets a signal when it has
        reported that of step `at`."""
        receiver, sender = os.pipe()
        child = os.fork()
        if child == 0:
            os.environ["DET_HOME"] = str(self._store)
            watch_validations(sender, number, at)
            os._exit(self._status())
        os.close(sender)
        with os.fdopen(receiver) as reports:
            steps = [int(line) for line in reports]
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), steps

    def _status(self) -> int:
        try:
            runpy.run_path(str(self._script), run_name="__main__")
        except BaseException:
            traceback.print_exc()
            return 1
        return 0

    def metrics(self) -> Metrics:
        """What is recorded, by group and step."""
        recorded: Metrics = {}
        for row in self._rows("export", "1", "--format", "jsonl"):
            values = recorded.setdefault((row["group"], row["steps_completed"]), {})
            assert not values.keys() & row["metrics"].keys(), f"reported twice: {row}"
            values.update(row["metrics"])
        return {
            key: {name: value for name, value in values.items() if not name.endswith(_TIMES)}
            for key, values in recorded.items()
        }

    def checkpoints(self) -> list[int]:
        """The steps of those that are kept."""
        rows = self._rows("export", "1", "--table", "checkpoints", "--format", "jsonl")
        return [row["steps_completed"] for row in rows if row["state"] == "COMPLETED"]

    def trial(self) -> dict[str, Any]:
        (row,) = self._rows("show", "1", "--json")
        return row

    def _rows(self, *command: str) -> list[dict[str, Any]]:
        lines = self._det("--master", str(self._store), *command).splitlines()
        return [json.loads(line) for line in lines]


def watch_validations(sender: int, number: int, at: int) -> None:
    """Writes the steps of those reported to a file, and lets a signal follow on the one of `at`."""
    init = core.init

    def watched_init(**options: Any) -> core.Context:
        context = init(**options)
        train: Any = context.train
        report = train.report_validation_metrics  # which report_metrics() calls as well

        def watched(steps: int, metrics: Any) -> None:
            report(steps, metrics)
            os.write(sender, f"{steps}\n".encode())
            if number and steps == at:
                signal.raise_signal(number)
                _wait_until_asked(context)

        train.report_validation_metrics = watched
        return context

    core.init = watched_init


def _wait_until_asked(context: core.Context) -> None:
    if context.distributed.size > 1:  # a rank cannot look alone
        context.preempt.request()
        return
    while not context.preempt.should_preempt(auto_ack=False):
        time.sleep(0.001)


def check_goes_on(
    script: str, store: Path, det: Callable[..., str], *, killed_at: int, paused_at: int
) -> Metrics:
    """Runs that are killed, asked to stop, and left alone leave together what one alone does, each
    going on from a checkpoint of the one before. The signals come at these steps, when their
    validations are reported. Returns what is recorded."""
    store.mkdir(exist_ok=True)
    alone = Example(script, store / "alone", det)
    status, steps = alone.run()
    assert (status, len(steps)) == (0, len(set(steps)))

    example = Example(script, store / "ended", det)
    assert example.run(signal.SIGKILL, at=killed_at) == (-signal.SIGKILL, _until(steps, killed_at))
    saved = example.checkpoints()
    assert saved, "killed before it saved anything"
    status, again = example.run(signal.SIGTERM, at=paused_at)
    assert (status, again) == (0, [s for s in _until(steps, paused_at) if s > max(saved)])
    assert max(example.checkpoints()) >= paused_at

    status, rest = example.run()
    assert (status, rest) == (0, [step for step in steps if step > paused_at])
    assert example.trial()["state"] == "COMPLETED"
    assert [run["exit"] for run in example.trial()["runs"]] == ["died", "preempted", "ok"]
    recorded = example.metrics()
    assert recorded == alone.metrics()
    assert example.trial()["best_metric"] == alone.trial()["best_metric"]
    return recorded


def _until(steps: list[int], last: int) -> list[int]:
    return steps[: steps.index(last) + 1]
