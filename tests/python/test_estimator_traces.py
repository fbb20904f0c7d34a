"""detcore.estimator does what the original did: its recorded runs, again, by ours."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import tempfile
import types
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

pytest.importorskip("detcore.estimator", reason="TensorFlow is not installed")

import estimator_recorder
import trial_recorder
from detcore import core
from detcore.estimator import EstimatorTrialContext, load_estimator_from_checkpoint_path
from detcore.estimator._controller import Controller
from detcore.estimator._model_directory import ModelDirectory
from detcore.trial import CheckFailedError, Environment, ExperimentConfig
from detcore.trial._tensorflow import tf
from estimator_ours import OURS
from trial_recorder import differences

FOLDER = ROOT / "tests/data/trials/estimator"
CONFIG: dict[str, Any] = {
    "resources": {"slots_per_trial": 1},
    "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 100}},
    "checkpoint_storage": {"save_trial_latest": 100},
}


class Run:
    """A recorded run, by ours."""

    def __init__(self, trace: dict[str, Any], folder: Path) -> None:
        self.trace = trace
        self.folder = folder
        self.loads = any("mode" in recorded["phase"] for recorded in trace["phases"])
        self.ids: dict[str, str] = {}
        self.files: dict[str, list[str]] = {}

    def phase(self, recorded: dict[str, Any]) -> dict[str, Any]:
        phase = recorded["phase"]
        if phase.get("mode") == "load_estimator":
            return self.load(phase)
        if phase.get("mode") == "scan":
            return self.scan(phase)
        recorder = estimator_recorder.Recorder(self.trace["input"])
        recorder.checkpoints = self.ids
        done: dict[str, Any] = {"events": recorder.events}
        stage = "context"
        with core.init(config=CONFIG) as context:
            checkpoints = trial_recorder.RecordingCheckpoints(
                recorder, context.checkpoint, self.files
            )
            run: Any = types.SimpleNamespace(
                checkpoint=checkpoints, train=context.train, distributed=context.distributed
            )
            try:
                given: Any = EstimatorTrialContext(self.environment(phase), run)
                stage = "from_trial"
                workloads = trial_recorder.Workloads(recorder, phase)
                trial = estimator_recorder.recording_trial(recorder)
                controller = Controller(trial, given, run, workloads)
                done["run_config"] = run_config(controller._estimator.config)
                stage = "run"
                controller.run()
                done["stop_requested"] = given.get_stop_requested()
            except BaseException as failure:
                done |= failed(stage, failure)
            for storage_id, name in self.ids.items():
                if self.loads and name in self.files:
                    context.checkpoint.download(storage_id, self.folder / name)
        return done

    def load(self, phase: dict[str, Any]) -> dict[str, Any]:
        path = self.folder / phase["path"]
        if "mutate" in phase:
            path = Path(shutil.copytree(path, self.folder / "changed", dirs_exist_ok=True))
        for change in phase.get("mutate", []):
            facts = path / change["file"]
            if change["op"] == "set":
                facts.write_text(json.dumps({**json.loads(facts.read_text()), **change["values"]}))
            else:
                facts.unlink()
        try:
            with tf.__internal__.eager_context.eager_mode():
                found = load_estimator_from_checkpoint_path(str(path), **phase.get("kwargs", {}))
                return {"loaded": loaded(found)}
        except BaseException as failure:
            return failed("load", failure)

    def scan(self, phase: dict[str, Any]) -> dict[str, Any]:
        """Restores a model from a directory of several, of which the newest is kept."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        for name in phase["files"]:
            (folder / name).write_text("")
        below = folder if phase.get("absolute", True) else Path()
        listed = [str(below / name) for name in phase["listed"]]
        tf.compat.v1.train.update_checkpoint_state(str(folder), listed[-1], listed)
        model = ModelDirectory()
        try:
            model.load_from(folder)
            state = tf.train.get_checkpoint_state(str(model.path))
            newest = state.model_checkpoint_path.replace(str(model.path), "<dir>")
            done: dict[str, Any] = {"scan": [{"name": "model", "model_checkpoint_path": newest}]}
            if "then_clean" in phase:
                files = sorted(path.name for path in model.path.iterdir())
                text = str(state).replace(str(model.path), "<dir>")
                done["after_clean"] = {"files": files, "state": text}
            return done
        except CheckFailedError as failure:
            return failed("scan", failure)
        finally:
            model.remove()

    def environment(self, phase: dict[str, Any]) -> Environment:
        names = {name: storage_id for storage_id, name in self.ids.items()}
        return Environment(
            ExperimentConfig({**CONFIG, **self.trace["input"].get("config", {})}),
            self.trace["input"]["hparams"],
            steps_completed=phase.get("steps_completed", 0),
            latest_checkpoint=names.get(phase.get("restore", "")),
            test_mode=phase.get("test_mode", False),
            det_trial_id="1",
            det_experiment_id="1",
        )


def failed(stage: str, failure: BaseException) -> dict[str, Any]:
    if isinstance(failure, KeyboardInterrupt):
        raise failure
    kinds = [kind.__name__ for kind in type(failure).__mro__]
    error = {"stage": stage, "type": kinds[0], "bases": kinds[1:-1]}
    return {"error": error, "failure": failure}


def run_config(config: Any) -> dict[str, Any]:
    names = ["tf_random_seed", "save_checkpoints_steps", "save_summary_steps"]
    names += ["keep_checkpoint_max", "log_step_count_steps"]
    facts = {name: getattr(config, name) for name in names}
    return {**facts, "session_config": str(config.session_config).strip()}


def loaded(model: Any) -> dict[str, Any]:
    signatures = {name: model.signatures[name] for name in model.signatures}
    facts: dict[str, Any] = {"type": type(model).__name__, "signatures": list(signatures)}
    if "serving_default" in signatures:
        signature = signatures["serving_default"]
        [given] = signature.structured_input_signature[1].values()
        facts["inputs"] = {given.name: [given.dtype.name, str(tuple(given.shape.as_list()))]}
        predicted = signature(x=tf.constant([[0.0], [1.0], [2.0]]))
        facts["predict"] = {name: tensor.numpy() for name, tensor in predicted.items()}
    return facts


def in_order(events: list[Any]) -> list[Any]:
    """Metrics of a batch are made in any order: in that of their names."""
    tidy: list[Any] = []
    for _, some in itertools.groupby(events, _accumulates):
        tidy += sorted(some, key=lambda event: event[1] if _accumulates(event) else "")
    return tidy


def _accumulates(event: list[Any]) -> bool:
    return event[2:3] == ["accumulate"]


@pytest.mark.parametrize("case", sorted(path.stem for path in FOLDER.glob("*.json")))
def test_recorded_run(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = json.loads((FOLDER / f"{case}.json").read_text())
    code = tmp_path / "code"
    code.mkdir()
    monkeypatch.chdir(code)
    run = Run(trace, tmp_path)
    for number, recorded in enumerate(trace["phases"]):
        done = run.phase(recorded)
        ours = OURS.get((case, number))
        if ours is not None:
            mine, theirs = (of.get("events", [])[: ours.same] for of in (done, recorded))
            found = differences(mine, theirs, case)
            assert not found, "\n".join(found[:6])
            ours.check(done)
            continue
        if "failure" in done and "error" not in recorded:
            raise done["failure"]
        check_same(done, recorded, f"phase {number}")
        for name in recorded["checkpoints"].keys() & run.files.keys():
            files = {re.sub(r"/\d{10}/", "/<timestamp>/", file) for file in run.files[name]}
            kept = {file for file in files if not file.startswith("code/")}
            assert sorted(kept) == recorded["checkpoints"][name]["files"]


def check_same(done: dict[str, Any], recorded: dict[str, Any], at: str) -> None:
    found = []
    ours, theirs = in_order(done.get("events", [])), in_order(recorded.get("events", []))
    for n, (o, t) in enumerate(zip(ours, theirs)):
        found += differences(o, t, f"{at} event {n}")
        if found:
            break
    if not found and len(ours) != len(theirs):
        found.append(f"{at}: {ours[len(theirs) :]} more, {theirs[len(ours) :]} missing")
    for name in recorded.keys() - {"events", "phase", "checkpoints"}:
        found += differences(done.get(name), recorded[name], f"{at} {name}")
    assert not found, "\n".join(found[:6])
