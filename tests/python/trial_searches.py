"""Recorded runs whose workloads a search asked for, again, by ours and against a real store."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import time
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import programs
import trial_recorder
from conftest import Det
from detcore import InvalidHP, core
from detcore.trial import Environment, Sequencer, Workload, WorkloadKind

KINDS = {kind: name for name, kind in trial_recorder.KINDS.items()}
RECORDED = ("trial", "hook", "weights", "workload", "response", "action", "workloads_end")


class Layer(NamedTuple):
    """A kind of trials."""

    #: With Recorder and recording_trial().
    recorder: Any
    context: Any
    controller: Any
    #: What the search looks at.
    metric: str
    #: What is recorded of a controller when it is done.
    outcome: Callable[[Any], dict[str, Any]] = lambda controller: {}


class RecordedSequencer(Sequencer):
    """In front of the search: what it asks for, and what it is answered."""

    def __init__(self, recorder: trial_recorder.Recorder, run: core.Context, about: Any) -> None:
        batch = about["hparams"]["global_batch_size"]
        super().__init__(run, batch, about["sequenced"])
        self._recorder, self._run = recorder, run
        self._preempt_at = about["searcher"].get("preempt_poll", 0)
        self._kind = ""

    def next(self) -> Workload | None:
        workload = super().next()
        if workload is None:
            self._recorder.add("workloads_end")
            return None
        self._kind = KINDS[workload.kind]
        batches = [workload.num_batches] * (workload.kind is WorkloadKind.RUN_STEP)
        self._recorder.add("workload", self._kind, *batches)
        return workload

    def respond(self, response: dict[str, Any] | InvalidHP) -> None:
        shown: Any = response
        if isinstance(response, InvalidHP):
            shown = {"marker": "InvalidHP"}
        elif "uuid" in response:
            shown = {"uuid": self._recorder.checkpoints[response["uuid"]]}
        self._recorder.add("response", self._kind, shown)
        self._preempt_at -= 1
        if self._preempt_at == 0:
            signal.raise_signal(signal.SIGTERM)
            while not self._run.preempt.should_preempt():
                time.sleep(0.001)
        super().respond(response)


def config(about: dict[str, Any], searcher: dict[str, Any], metric: str) -> dict[str, Any]:
    """Of an experiment like that of the recorded run."""
    lengths = [*searcher["ops"], 1]  # 1: where there was none, one that is completed before
    length = {searcher["unit"]: lengths[0]} if searcher["unit"] else lengths[0]
    search = {"name": "single", "metric": metric, "smaller_is_better": True}
    made = {"searcher": {**search, "max_length": length}, "hyperparameters": about["hparams"]}
    for name, value in about.get("config", {}).items():
        made[name] = {**made.get(name, {}), **value} if name == "searcher" else value
    return {
        name: {k: v for k, v in value.items() if v != "<absent>"} if name == "searcher" else value
        for name, value in made.items()
        if value != "<absent>"
    }


class Search:
    """The phases of a recorded run."""

    def __init__(self, trace: dict[str, Any], layer: Layer) -> None:
        self._layer = layer
        self._about = trace["input"]
        self._ids: dict[str, str] = {}

    def phase(self, phase: dict[str, Any]) -> dict[str, Any]:
        layer = self._layer
        recorder = layer.recorder.Recorder(self._about)
        recorder.checkpoints = self._ids
        done: dict[str, Any] = {"events": recorder.events}
        controller, stage = None, "from_trial"
        given = config(self._about, phase["searcher"], layer.metric)
        # What a master would have filled in is as the recorded run had it.
        plain = {name: value for name, value in given.items() if not name.startswith("min_")}
        name = f"trial {phase.get('trial_id', 1)}"
        if not phase["searcher"]["ops"]:
            with core.init(config=plain, external_id=name) as run:
                for operation in run.searcher.operations():
                    operation.report_completed(1.0)
        if "known" in phase:  # to the master, of a validation that the trial does not know of
            with core.init(config=plain, external_id=name) as run:
                run.train.report_validation_metrics(
                    phase["known"]["validation"], {layer.metric: 1.0}
                )
        with (
            contextlib.suppress(SystemExit),
            core.init(config=plain, external_id=name, preempt_signals=[signal.SIGTERM]) as run,
        ):
            try:
                environment = self._environment(phase, Environment.of_run(run.info))
                seen: Any = types.SimpleNamespace(
                    checkpoint=trial_recorder.RecordingCheckpoints(recorder, run.checkpoint, {}),
                    train=run.train,
                    distributed=run.distributed,
                )
                context: Any = layer.context(environment, seen)
                about = {**self._about, "sequenced": given, "searcher": phase["searcher"]}
                trial = layer.recorder.recording_trial(recorder)
                workloads = RecordedSequencer(recorder, run, about)
                controller = layer.controller(trial, context, seen, workloads)
                stage = "run"
                controller.run()
            except Exception as failure:
                kinds = [kind.__name__ for kind in type(failure).__mro__]
                done["error"] = {"stage": stage, "type": kinds[0], "bases": kinds[1:-1]}
                if isinstance(failure, InvalidHP):
                    raise
        if controller is not None:
            done.update(layer.outcome(controller))
        done["events"] = [event for event in recorder.events if event[0] in RECORDED]
        return done

    def _environment(self, phase: dict[str, Any], given: Environment) -> Environment:
        config = {**given.experiment_config, **self._about.get("config", {})}
        given = dataclasses.replace(given, trial_seed=self._about.get("seed", 0))
        given.experiment_config.update(
            {k: v for k, v in config.items() if k != "searcher" and v != "<absent>"}
        )
        if "trial_id" in phase:  # it starts from what another trial has learned
            names = {name: storage_id for storage_id, name in self._ids.items()}
            given = dataclasses.replace(given, latest_checkpoint=names[phase["restore"]])
        assert given.steps_completed == phase.get("steps_completed", 0)
        return given


def check_reports(det: Det, trial_id: int, theirs: list[list[Any]]) -> None:
    metrics = [one for one in theirs if one[0] in ("training", "validation")]
    ours = [[group, steps] for group, steps, _ in programs.reports(det, trial_id)]
    assert ours == metrics
    shown = programs.trial(det, trial_id)
    assert (shown["early_exit"] is not None) == (["early_exit"] in theirs)
    completed = [one[1] for one in theirs if one[0] == "completed"]
    told = [operation["metric"] for operation in shown["operations"] if operation["completed"]]
    if completed:
        assert trial_recorder.differences(told, completed) == []
