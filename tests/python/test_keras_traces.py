"""detcore.keras does what the original did: its recorded runs, again, by ours."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

pytest.importorskip("detcore.keras", reason="TensorFlow is not installed")

from detcore.keras._tensorflow import tf
from keras_ours import OURS
from keras_runs import Run, check_same
from trial_recorder import differences

FOLDER = ROOT / "tests/data/trials/keras"
# The models of the others are so small that making graphs of them takes longest.
AS_GRAPHS = ("k-ckpt", "k-data", "k-fit", "k-num", "k-order-midepoch", "k-subclass")


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
