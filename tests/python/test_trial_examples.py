"""Examples of trials, under `det run` as people start them. What is paused and killed records what
is recorded undisturbed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import experiments
import programs
import pytest
from conftest import ROOT, Det
from detcore._det_run import read_config

pytest.importorskip("detcore.keras", reason="TensorFlow is not installed")

EXAMPLES = ROOT / "examples/python"
NAMES = ["dnn_classifier", "keras_cnn"]


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another folder than that of the repository, in which nothing is to be written."""
    monkeypatch.setenv("DETCORE_PYTHON", sys.executable)
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "2")
    monkeypatch.chdir(tmp_path)
    yield


class Example:
    """Its search, cut short."""

    def __init__(self, name: str, file: str, det: Det, **changes: Any) -> None:
        for program in (EXAMPLES / name).glob("*.py"):
            shutil.copy(program, Path.cwd())
        config = read_config(EXAMPLES / name / file)
        config["data"] = {"images": str(ROOT / "examples/data/digits.csv")}
        config["searcher"] |= changes
        Path(file).write_text(json.dumps(config))
        self._file, self._det = file, det

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [os.environ["DETCORE_COMMAND"], "run", *(arguments or [self._file])]
        with open("said", "ab") as said:
            return subprocess.Popen(
                [*command, "--slots", "2"], stdout=said, stderr=said, stdin=subprocess.DEVNULL
            )

    def run(self, *arguments: str, status: int = 0) -> None:
        assert self.start(*arguments).wait(150) == status, Path("said").read_text()

    def validations(self, trial_id: int) -> list[Any]:
        listed = programs.reports(self._det, trial_id)
        return [report for report in listed if report[0] == "validation"]

    def wait_for_validation(self, trial_id: int, at_least: int) -> None:
        def came() -> bool:
            try:
                return len(self.validations(trial_id)) >= at_least
            except (AssertionError, json.JSONDecodeError):  # there is no such trial yet
                return False

        experiments.wait_until(came, f"validation {at_least} of trial {trial_id}", 90)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_that_is_killed_and_paused(name: str, det: Det) -> None:
    example = Example(name, "const.yaml", det, max_length={"epochs": 3})
    process = example.start()
    example.wait_for_validation(1, 1)
    os.kill(programs.trial(det)["runs"][-1]["pid"], signal.SIGKILL)
    example.wait_for_validation(1, 2)
    process.send_signal(signal.SIGINT)
    if process.wait(100) != 0:  # it may have been done just before
        example.run("--resume", "1")
    assert [steps for _, steps, _ in example.validations(1)] == [30, 60, 90]
    assert programs.trial(det)["state"] == "COMPLETED"
    example.run()
    assert example.validations(1) == example.validations(2)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_over_two_ranks(name: str, det: Det) -> None:
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun")
    example = Example(name, "distributed.yaml", det, max_length={"epochs": 1})
    example.run()
    [(_, steps, metrics)] = example.validations(1)
    assert steps == 30 and metrics["accuracy" if "accuracy" in metrics else "val_accuracy"] > 0.5


@pytest.mark.parametrize("name", NAMES)
def test_a_search_with_an_example(name: str, det: Det) -> None:
    example = Example(name, "adaptive.yaml", det, max_length={"epochs": 1}, max_trials=2)
    example.run()
    assert [programs.trial(det, number)["state"] for number in (1, 2)] == ["COMPLETED"] * 2
    assert all(example.validations(number) for number in (1, 2))


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*/*.yaml")), ids=lambda p: p.parent.name)
def test_configurations_are_right(file: Path, det: Det) -> None:
    det("config", "check", str(file))
