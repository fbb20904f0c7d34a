"""What tests of whole programs share: starting them, and reading back what they recorded."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from typing import Any

from conftest import PATIENCE, Det

Json = dict[str, Any]


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python program as a process; what it writes comes back through stdout."""
    command = [sys.executable, "-c", textwrap.dedent(program), *arguments]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def run(program: str, *arguments: str, status: int = 0) -> str:
    """Runs a Python program to its end, and gives what it wrote."""
    with start(program, *arguments) as process:
        written, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == status, written
    return written


def lines(text: str) -> list[Json]:
    return [json.loads(line) for line in text.splitlines()]


def reports(det: Det, trial_id: int = 1) -> list[tuple[str, int, Json]]:
    """The group, steps and metrics of each report, in the order they were made."""
    listed = lines(det("metrics", str(trial_id), "--json"))
    return [(each["group"], each["steps_completed"], each["metrics"]) for each in listed]


def trial(det: Det, trial_id: int = 1) -> Json:
    shown: Json = json.loads(det("show", str(trial_id), "--json"))
    return shown
