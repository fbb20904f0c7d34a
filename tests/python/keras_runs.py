"""Recorded runs of a TFKerasTrial, again, by ours."""

from __future__ import annotations

import types
from typing import Any

import event_files
import keras_recorder
import trial_recorder
import trial_searches
from detcore import core
from detcore.core import DistributedContext, PreemptMode
from detcore.keras import TFKerasTrialContext
from detcore.keras._controller import Controller
from detcore.trial import Environment, ExperimentConfig
from trial_recorder import differences

CONFIG: dict[str, Any] = {
    "scheduling_unit": 100,
    "resources": {"slots_per_trial": 1},
    "optimizations": {"aggregation_frequency": 1, "average_training_metrics": True},
    "searcher": {"name": "single", "metric": "val_loss", "max_length": {"batches": 100}},
}


class Run:
    """A recorded run, by ours."""

    def __init__(self, trace: dict[str, Any], ranks: DistributedContext | None = None) -> None:
        self.trace = trace
        self._ranks = ranks
        self.ids: dict[str, str] = {}
        self.files: dict[str, list[str]] = {}

    def phase(self, recorded: dict[str, Any]) -> dict[str, Any]:
        phase = recorded["phase"]
        recorder = keras_recorder.Recorder({**self.trace["input"], **phase.get("spec", {})})
        recorder.checkpoints = self.ids
        done: dict[str, Any] = {"events": recorder.events}
        controller = None
        stage = "context"
        environment = self.environment(recorder.about, phase)
        with core.init(
            distributed=self._ranks,
            config=self._config(environment, phase),
            preempt_mode=PreemptMode.ChiefOnly,
        ) as context:
            run: Any = types.SimpleNamespace(
                checkpoint=trial_recorder.RecordingCheckpoints(
                    recorder, context.checkpoint, self.files
                ),
                train=context.train,
                distributed=context.distributed,
            )
            try:
                given: Any = TFKerasTrialContext(environment, run)
                stage = "from_trial"
                workloads: Any = self._workloads(recorder, context, phase)
                trial = keras_recorder.recording_trial(recorder)
                controller = Controller(trial, given, run, workloads)
                stage = "run"
                controller.run()
            except BaseException as failure:
                if isinstance(failure, KeyboardInterrupt):
                    raise
                kinds = [kind.__name__ for kind in type(failure).__mro__]
                done["error"] = {"stage": stage, "type": kinds[0], "bases": kinds[1:-1]}
                done["failure"] = failure
            boards = context.train.get_tensorboard_path()
        if phase.get("dump_tb"):
            done["tfevents"] = [list(scalar) for scalar in event_files.scalars(boards)]
        if controller is not None:
            done.update(outcome(controller))
        if self._ranks is not None:
            self.ids.update(self._ranks.broadcast(self.ids))
        return done

    def _workloads(self, recorder: Any, run: core.Context, phase: dict[str, Any]) -> Any:
        if "workloads" in phase:
            if phase.get("dump_tb"):
                return ReportedWorkloads(recorder, phase, run)
            return trial_recorder.Workloads(recorder, phase)
        about = {**self.trace["input"], "sequenced": None, "searcher": phase["searcher"]}
        return trial_searches.RecordedSequencer(recorder, run, about)

    @staticmethod
    def _config(environment: Environment, phase: dict[str, Any]) -> dict[str, Any]:
        """Of the run, which matters where a search asks for work."""
        if "searcher" not in phase:
            return CONFIG
        length = {"batches": sum(phase["searcher"]["ops"])}
        searcher = {**environment.experiment_config["searcher"], "max_length": length}
        return {**environment.experiment_config, "searcher": searcher}

    def environment(self, about: dict[str, Any], phase: dict[str, Any]) -> Environment:
        config = {**CONFIG}
        for name, value in about.get("config", {}).items():
            both = isinstance(value, dict) and isinstance(config.get(name), dict)
            config[name] = {**config[name], **value} if both else value
        config = {name: value for name, value in config.items() if value != "<absent>"}
        names = {name: storage_id for storage_id, name in self.ids.items()}
        return Environment(
            ExperimentConfig(config),
            about["hparams"],
            trial_seed=about.get("seed", 0),
            steps_completed=phase.get("steps_completed", 0),
            latest_checkpoint=names.get(phase.get("restore", "")),
            test_mode=phase.get("test_mode", False),
            det_trial_id="1",
            det_experiment_id="1",
        )


class ReportedWorkloads(trial_recorder.Workloads):
    """Those of a list, of whose metrics the run is told as by a search."""

    def __init__(self, recorder: Any, phase: dict[str, Any], run: core.Context) -> None:
        super().__init__(recorder, phase)
        self._train = run.train

    def respond(self, response: Any) -> None:
        metrics = response.get("metrics", {})
        if "batch_metrics" in metrics:
            averages, batches = metrics["avg_metrics"], metrics["batch_metrics"]
            self._train.report_training_metrics(self._total, averages, batches)
        elif metrics:
            self._train.report_validation_metrics(self._total, metrics["validation_metrics"])
        super().respond(response)


def outcome(controller: Controller) -> dict[str, Any]:
    model, multiplexer = controller._model, controller._multiplexer
    state = multiplexer._progress
    return {
        "optimizers": [type(o).__name__ for o in controller._context._optimizers()],
        "final_weights": keras_recorder.arrays(model.weights),
        "multiplexer_state": vars(state),
        "callback_order": [
            _NAMES.get(type(c).__name__, type(c).__name__) for c in multiplexer._callbacks
        ],
        "history": model.history.history,
        "stop_requested": controller._context.get_stop_requested(),
        "optimizer_iterations": int(model.optimizer.iterations.numpy()),
    }


_NAMES = {"History": "_DeterminedHistory", "Progress": "_DeterminedProgress"}


def check_same(done: dict[str, Any], recorded: dict[str, Any], events: list[Any], at: str) -> None:
    found = []
    for n, (o, t) in enumerate(zip(done["events"], events)):
        found += differences(o, t, f"{at} event {n}")
        if found:
            break
    more, less = done["events"][len(events) :], events[len(done["events"]) :]
    if not found and (more or less):
        found.append(f"{at}: {more} more, {less} missing")
    for name in recorded.keys() - {"events", "phase", "checkpoints"}:
        found += differences(done.get(name), recorded[name], f"{at} {name}")
    assert not found, "\n".join(found[:6])
