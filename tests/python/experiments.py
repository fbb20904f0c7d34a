"""Real experiments for the tests of the client and of searches."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import PATIENCE

# A shell script as a trial: `x` is its loss, whatever its length.
SCRIPT = """
PATH="$(dirname "$DETCORE_COMMAND"):$PATH"
while length=$(det next); do
  for step in $(seq "$length"); do det report loss="$step.5" rate=nan --step "$step"; done
  echo "trained to $length"
  mkdir -p "$TMPDIR/model"
  echo weights >"$TMPDIR/model/weights"
  det checkpoint save "$TMPDIR/model" --step "$length" --metadata '{"of": "tests"}' >"$TMPDIR/id"
  det report loss="$DET_HPARAM_x" --step "$length" --group validation
  det next --completed "$DET_HPARAM_x"
done
"""
# The least that a trial does.
QUICK = """
PATH="$(dirname "$DETCORE_COMMAND"):$PATH"
while length=$(det next); do
  det report loss="$DET_HPARAM_x" --step "$length" --group validation
  det next --completed "$DET_HPARAM_x"
done
"""


def trial(script: str) -> list[str]:
    return [os.environ["DETCORE_COMMAND"], "trial", "--", "sh", "-c", script]


def run_experiment(home: Path, config: str, script: str = SCRIPT) -> None:
    (home / "experiment.yaml").write_text(config)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DET_")}
    # One at a time, so that what they write into one directory is theirs.
    command = [os.environ["DETCORE_COMMAND"], "run", str(home / "experiment.yaml"), "--slots", "1"]
    done = subprocess.run(
        [*command, "--", *trial(script)],
        env={**environment, "DET_HOME": str(home), "TMPDIR": str(home)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr


def wait_until(holds: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < end, f"waited too long for {what}"
        time.sleep(0.02)
    return found
