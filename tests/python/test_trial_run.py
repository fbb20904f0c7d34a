"""Trials by their names: under det run, as jobs of ranks, and as scripts. Those of a framework of
our own, which starts at once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import detcore.compat  # counting_trial imports determined
import programs
import pytest
from conftest import PATIENCE, ROOT, Det
from detcore import InvalidHP, core, trial
from detcore.trial import InvalidExperimentException
from detcore.trial._entrypoint import check_entrypoint, entrypoint_of, load_trial_class
from detcore.trial._run import _for_ranks

CONFIG: dict[str, Any] = {
    "searcher": {"name": "single", "metric": "val_loss", "max_length": {"batches": 9}},
    "min_validation_period": {"batches": 4},
    "min_checkpoint_period": {"batches": 2},
    "scheduling_unit": 2,
    "checkpoint_policy": "none",
    "hyperparameters": {"global_batch_size": 4, "rate": 0.5},
    "reproducibility": {"experiment_seed": 7},
    "max_restarts": 1,
}

_RUN = Path(trial.run.__code__.co_filename)


@pytest.fixture(autouse=True)
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the program that defines the trials."""
    shutil.copy(Path(__file__).with_name("counting_trial.py"), tmp_path / "model_def.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("DETCORE_PYTHON", sys.executable)
    monkeypatch.delitem(sys.modules, "model_def", raising=False)
    return tmp_path


def det_run(entrypoint: str, status: int = 0, **changes: Any) -> str:
    """What it says."""
    Path("experiment.yaml").write_text(json.dumps({**CONFIG, "entrypoint": entrypoint, **changes}))
    command = [os.environ["DETCORE_COMMAND"], "run", "experiment.yaml", "--slots", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def train(name: str = "Counting", **options: Any) -> None:
    trial.run(
        load_trial_class(f"model_def:{name}"), {**CONFIG, **options.pop("config", {})}, **options
    )


def curve(det: Det, trial_id: int = 1) -> list[Any]:
    """Each once: a batch that was trained again is reported again."""
    return sorted(
        {json.dumps(report): report for report in programs.reports(det, trial_id)}.values(),
        key=repr,
    )


def test_a_search_over_a_class(det: Det) -> None:
    random = {**CONFIG["searcher"], "name": "random", "max_trials": 2, "max_concurrent_trials": 2}
    space = {"global_batch_size": 4, "rate": {"type": "double", "minval": 0.1, "maxval": 0.9}}
    det_run("model_def:Counting", searcher=random, hyperparameters=space)
    states = [programs.trial(det, number)["state"] for number in (1, 2)]
    assert states == ["COMPLETED", "COMPLETED"]
    assert curve(det, 1) != curve(det, 2)


def test_killed_and_preempted_trials_go_on_as_if_nothing_had_been(det: Det) -> None:
    det_run("model_def:Killed")
    assert programs.trial(det)["restarts"] == 1
    det_run("model_def:Counting")
    assert curve(det, 1) == curve(det, 2)
    at_end = {"min_validation_period": {"batches": 9}}  # after a pause one that is due comes late
    for _ in range(2):
        train("Preempted", external_id="a script", config=at_end)
    train(external_id="undisturbed", config=at_end)
    assert curve(det, 3) == curve(det, 4)
    assert [steps for _, steps, _ in programs.reports(det, 3)][-1] == 9


def test_two_ranks(det: Det) -> None:
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun")
    det_run("model_def:Counting", resources={"slots_per_trial": 2})
    assert [steps for group, steps, _ in programs.reports(det) if group == "validation"] == [
        4,
        8,
        9,
    ]
    launcher = [sys.executable, "-m", "determined.launch.horovod", "--trial", "model_def:Counting"]
    det_run(" ".join(launcher), resources={"slots_per_trial": 2})
    assert curve(det, 2) == curve(det, 1)
    with pytest.raises(InvalidExperimentException, match="mpirun -n 2"):
        train(config={"resources": {"slots_per_trial": 2}})


@pytest.mark.parametrize(("said", "slots"), [({}, 2), ({"slots_per_trial": 3}, 3)])
def test_a_job_without_det_run_has_a_slot_for_each_rank(said: dict[str, int], slots: int) -> None:
    config = {**CONFIG, "resources": said} if said else CONFIG
    Path("experiment.json").write_text(json.dumps(config))
    for given in (config, "experiment.json"):
        found = _for_ranks(given, 2)
        assert found is not None and found["resources"]["slots_per_trial"] == slots


def test_files_of_tensorboard_of_other_ranks(store: Path) -> None:
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun")
    det_run("model_def:Watched", resources={"slots_per_trial": 2})
    assert uploaded(store) == {
        "events.out.tfevents.1": "batch 9 of rank 0",
        "worker.xplane.pb": "batch 9 of rank 0",
        "worker#1.xplane.pb": "batch 9 of rank 1",
    }


def uploaded(store: Path, trial_id: int = 1) -> dict[str, str]:
    """Beside what det run itself writes."""
    [folder] = store.rglob(f"tensorboard/experiment/*/trial/{trial_id}")
    files = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: data.decode() for name, data in files.items() if data.startswith(b"batch")}


def test_files_of_tensorboard_in_the_manual_mode(store: Path, code: Path) -> None:
    manual = core.TensorboardMode.MANUAL
    hparams = {**CONFIG["hyperparameters"], "ends": True}
    with pytest.raises(trial.CheckFailedError, match="it ends"):
        train("Watched", hparams=hparams, tensorboard_mode=manual)
    names = ("events.out.tfevents.1", "worker#0.xplane.pb")
    assert uploaded(store) == dict.fromkeys(names, "batch 6 of rank 0")
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun")
    (code / "manual.py").write_text(
        "from detcore import core, trial\n"
        "from model_def import Watched\n"
        "trial.run(Watched, tensorboard_mode=core.TensorboardMode.MANUAL)\n"
    )
    ranks = f"{sys.executable} -m determined.launch.horovod {sys.executable} manual.py"
    det_run(ranks, resources={"slots_per_trial": 2})
    assert uploaded(store, 2) == {
        "events.out.tfevents.1": "batch 9 of rank 0",
        "worker#0.xplane.pb": "batch 9 of rank 0",
        "worker#1.xplane.pb": "batch 9 of rank 1",
    }


def test_early_exits(det: Det) -> None:
    for name, options in {
        "Counting": {"hparams": {"rate": 2, "global_batch_size": 4}},
        "Refusing": {},
    }.items():
        with pytest.raises(SystemExit) as ended:
            train(name, external_id=name, **options)
        assert ended.value.code == 0
        # Nothing keeps what was trained, with which MPI would not end.
        assert ended.value.__context__ is None and ended.traceback[-1].path == _RUN
    ends = [programs.trial(det, number)["runs"][0]["exit"] for number in (1, 2)]
    assert ends == ["invalid_hp", "invalid_hp"]
    train("Stopping")
    assert [steps for _, steps, _ in programs.reports(det, 3)] == [2, 4]
    with pytest.raises(trial.CheckFailedError):
        train("Failing")


def test_a_trial_that_one_rank_cannot_make(det: Det) -> None:
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun")
    det_run("model_def:Picky", resources={"slots_per_trial": 2})
    said = det("logs", "1")
    assert [run["exit"] for run in programs.trial(det)["runs"]] == ["invalid_hp"]
    assert "not here" in said and "another rank" in said


def test_one_batch_of_everything(det: Det, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "detcore.trial")
    space = {"global_batch_size": 4, "rate": {"type": "double", "minval": 0.1, "maxval": 0.9}}
    Path("config.yaml").write_text(json.dumps({**CONFIG, "hyperparameters": space}))
    trial.test_one_batch(load_trial_class("model_def:Counting"), "config.yaml")
    assert [line for line in caplog.messages if line.startswith("test mode")] != []
    with pytest.raises(InvalidHP):
        trial.test_one_batch(load_trial_class("model_def:Refusing"), CONFIG)
    command = [sys.executable, "-m", "detcore.trial", "--test", "--config", "config.yaml"]
    for name, status in {"Counting": 0, "Refusing": 1}.items():
        done = subprocess.run([*command, f"model_def:{name}"], capture_output=True, check=False)
        assert done.returncode == status, done.stderr
    assert "no store" in det("ls", status=3)


REFUSED = {
    "model_def": "module:Class",
    "model-def:Counting": "module:Class",
    "model_def:": "module:Class",
    "modeldef:Counting": "did you mean model_def?",
    "model_def.py:Counting": "did you mean model_def?",
    "model_def.trials:Counting": "no module model_def.trials",
    "model_def:counting": "did you mean Counting?",
    "broken:Counting": "no Counting in broken",
}
REFUSED_WHEN_IMPORTED = {
    "model_def:Counting.Inner": "no Counting.Inner",
    "model_def:NoTrial": "not of a trial",
    "model_def:build": "is function",
    "model_def:NoController": "trial_controller_class",
    "leaving:Counting": "ended the program",
}


@pytest.mark.parametrize("entrypoint", [*REFUSED, *REFUSED_WHEN_IMPORTED])
def test_refused_entrypoints(entrypoint: str) -> None:
    Path("broken.py").write_text("x = 1\n")
    Path("leaving.py").write_text("class Counting: ...\nraise SystemExit(3)\n")
    checks: Any = check_entrypoint
    if entrypoint in REFUSED_WHEN_IMPORTED:
        check_entrypoint(entrypoint)  # which runs nothing of it
        checks = load_trial_class
    with pytest.raises(InvalidExperimentException) as refused:
        checks(entrypoint)
    assert {**REFUSED, **REFUSED_WHEN_IMPORTED}[entrypoint] in str(refused.value)


def test_looking_for_a_class_runs_no_package_of_it(code: Path) -> None:
    (code / "package" / "inner").mkdir(parents=True)
    for folder in ("package", "package/inner"):
        Path(folder, "__init__.py").write_text("raise ImportError('it was run')\n")
    Path("package/inner/models.py").write_text("class Counting: ...\n")
    check_entrypoint("package.inner.models:Counting")
    with pytest.raises(InvalidExperimentException, match="did you mean Counting"):
        check_entrypoint("package.inner.models:Countin")


def test_what_cannot_be_started_is_not(det: Det, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "did you mean Counting?" in det_run("model_def:Countin", 2)
    assert "of the form module:Class" in det_run("model-def:Counting", 2)
    monkeypatch.setenv("DETCORE_PYTHON", "/nowhere/python")
    assert "/nowhere/python" in det_run("model_def:Counting", 3)
    monkeypatch.setenv("DETCORE_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", "")
    assert "install detcore for the Python that runs the trials" in det_run("model_def:Counting", 7)
    assert "Nothing here yet" in det("experiments")


def test_a_class_of_a_script_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    counting: Any = load_trial_class("model_def:Counting")
    assert entrypoint_of(counting) == "model_def:Counting"
    monkeypatch.setattr(counting, "__module__", "__main__")
    monkeypatch.setattr(
        sys.modules["__main__"], "__file__", str(Path("trials/mnist.py").absolute())
    )
    assert entrypoint_of(counting) == "trials.mnist:Counting"


def test_the_command_tells_how_it_is_used() -> None:
    command = [sys.executable, "-m", "detcore.trial"]
    done = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
    assert "MODULE:CLASS" in done.stdout
    done = subprocess.run(
        [*command, "model_def:NoTrial"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "") and "not of a trial" in done.stderr
    assert str(ROOT) not in done.stderr.replace(str(Path.cwd()), "")


SCRIPT = """
import os
import determined as det
with det.core.init() as context:
    for operation in context.searcher.operations():
        context.train.report_validation_metrics(operation.length, {"val_loss": 0.5})
        operation.report_completed(0.5)
    print("by", det.core.__name__, os.environ["PYTHONPATH"])
"""


@pytest.mark.parametrize(
    "entrypoint",
    ["python3 train.py", ["python3", "-u", "train.py"], "sh go.sh", f"{sys.executable} train.py"],
    ids=["text", "list", "script", "path"],
)
def test_a_command_may_run_a_script_that_imports_determined(
    det: Det, code: Path, entrypoint: Any
) -> None:
    (code / "train.py").write_text(SCRIPT)
    (code / "go.sh").write_text("exec python3 train.py")
    own = f"PYTHONPATH=/own:{ROOT}/wrappers/python"
    det_run(entrypoint, environment={"environment_variables": [own]})
    folder = Path(detcore.compat.__file__).parent / "path"
    assert f"by detcore.core {folder}:/own:{ROOT}/wrappers/python" in det("logs", "1")


def test_a_python_without_detcore_imports_its_own_determined(code: Path) -> None:
    stand_in = Path(detcore.compat.__file__).parent / "path"
    (code / "own" / "determined").mkdir(parents=True)
    (code / "own" / "determined" / "__init__.py").write_text("core = 'its own'")

    def said(*folders: Path) -> str:
        environment = {**os.environ, "PYTHONPATH": ":".join(map(str, folders))}
        command = [sys.executable, "-c", "import determined; print(determined.core)"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr.strip().rpartition("\n")[2]

    assert said(stand_in, code / "own") == "its own\n"
    assert "has neither determined nor detcore" in said(stand_in)
    assert said(stand_in, code / "own", ROOT / "wrappers" / "python").startswith("<module 'detcore")
