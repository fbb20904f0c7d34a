"""detcore.integrations.transformers, by its example."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Det

os.environ["USE_TF"] = "0"  # it is not needed, and slow to import
pytest.importorskip("detcore.integrations.transformers", reason="Transformers is not installed")
from example_runs import check_goes_on


def test_example_goes_on_after_a_kill_and_a_pause(store: Path, det: Det) -> None:
    recorded = check_goes_on("digits_transformers.py", store, det, killed_at=20, paused_at=20)
    assert [step for group, step in recorded if group == "training"] == list(range(1, 31))
    assert recorded["validation", 30]["eval_loss"] < recorded["validation", 10]["eval_loss"]
