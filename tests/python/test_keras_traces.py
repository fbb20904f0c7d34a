"""detcore.keras does what the original did: its recorded runs, again, by ours."""

from __future__ import annotations

import json
import re
import types
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

pytest.importorskip("detcore.keras", reason="TensorFlow is not installed")

import keras_recorder
import trial_recorder
from detcore import core
from detcore.keras import TFKerasTrialContext
from detcore.keras._controller import Controller
from detcore.keras._tensorflow import tf
from detcore.trial import Environment, ExperimentConfig
from keras_ours import OURS
from trial_recorder import differences

FOLDER = ROOT / "tests/data/trials/keras"
CONFIG: dict[str, Any] = {
    "scheduling_unit": 100,
    "resources": {"slots_per_trial": 1},
    "optimizations": {"aggregation_frequency": 1, "average_training_metrics": True},
    "searcher": {"name": "single", "metric": "val_loss", "max_length": {"batches": 100}},
}


# The models of the others are so small that making graphs of them takes longest.
AS_GRAPHS = ("k-ckpt", "k-data", "k-fit", "k-num", "k-order-midepoch", "k-subclass")


class Run:
    """A recorded run, by ours."""

    def __init__(self, trace: dict[str, Any]) -> None:
        self.trace = trace
        self.ids: dict[str, str] = {}
        self.files: dict[str, list[str]] = {}

    def phase(self, recorded: dict[str, Any]) -> dict[str, Any]:
        phase = recorded["phase"]
        recorder = keras_recorder.Recorder({**self.trace["input"], **phase.get("spec", {})})
        recorder.checkpoints = self.ids
        done: dict[str, Any] = {"events": recorder.events}
        controller = None
        stage = "context"
        with core.init(config=CONFIG) as context:
            run: Any = types.SimpleNamespace(
                checkpoint=trial_recorder.RecordingCheckpoints(
                    recorder, context.checkpoint, self.files
                ),
                train=context.train,
                distributed=context.distributed,
            )
            try:
                given: Any = TFKerasTrialContext(self.environment(recorder.about, phase), run)
                stage = "from_trial"
                workloads = trial_recorder.Workloads(recorder, phase)
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
        if controller is not None:
            done.update(outcome(controller))
        return done

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


@pytest.mark.parametrize("case", sorted(path.stem for path in FOLDER.glob("*.json")))
def test_recorded_run(
    case: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    trace = json.loads((FOLDER / f"{case}.json").read_text())
    monkeypatch.chdir(tmp_path)
    tf.config.run_functions_eagerly(not case.startswith(AS_GRAPHS))
    (tmp_path / "model_def.py").write_text("")
    (tmp_path / "spec.json").write_text("{}")
    run = Run(trace)
    ours = OURS.get(case)
    for number, recorded in enumerate(trace["phases"]):
        done = run.phase(recorded)
        theirs = [event for event in recorded["events"] if event[0] != "print"]
        if ours is not None and number in ours.same:
            same = ours.same[number]
            found = differences(done["events"][:same], theirs[:same], f"phase {number}")
            assert not found, "\n".join(found[:6])
            ours.check(number, done)
            continue
        if "failure" in done and "error" not in recorded:
            raise done["failure"]
        check_same(done, recorded, theirs, f"phase {number}")
        printed = [line for line in capsys.readouterr().out.splitlines() if "% complete" in line]
        lines = [event[1] for event in recorded["events"] if event[0] == "print"]
        assert differences([*map(parts, printed)], [*map(parts, lines)]) == []
        for name, checkpoint in recorded["checkpoints"].items():
            assert [n for n in checkpoint["files"] if n not in run.files[name]] == []


def parts(line: str) -> list[Any]:
    """Of a line of progress: its text, and its numbers of many digits."""
    text, _, metrics = line.partition(": {")
    return [
        text,
        *(float(number) for number in re.findall(r"[0-9.e-]+", metrics.partition(":")[2])),
    ]


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
