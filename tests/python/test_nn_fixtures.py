"""tests/data/nn is what its generator writes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PATIENCE

pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
pytest.importorskip("safetensors", reason="safetensors is not installed")

TESTS = Path(__file__).resolve().parents[1]


def check(folder: Path, *rooms: str) -> subprocess.CompletedProcess[str]:
    generator = TESTS / "nn/fixtures/generate.py"
    command = [sys.executable, str(generator), "--check", "--folder", str(folder), *rooms]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_the_generator_computes_what_is_recorded(tmp_path: Path) -> None:
    # Quick ones, with what differs between processors.
    checked = check(TESTS / "data/nn", "losses", "metrics")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    # It sees what somebody changes.
    changed = shutil.copytree(TESTS / "data/nn", tmp_path / "nn")
    path = changed / "schedules/values.json"
    cases = json.loads(path.read_text())
    cases[0]["rates"][0] *= 1.001
    path.write_text(json.dumps(cases))
    checked = check(changed, "schedules")
    assert checked.returncode == 1
    assert "values/0/rates/0 is" in checked.stdout
