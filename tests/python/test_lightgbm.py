"""detcore.integrations.lightgbm, by its example."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Det

pytest.importorskip("detcore.integrations.lightgbm", reason="LightGBM is not installed")
from example_runs import check_goes_on


def test_example_goes_on_after_a_kill_and_a_pause(store: Path, det: Det) -> None:
    recorded = check_goes_on("digits_lightgbm.py", store, det, killed_at=5, paused_at=8)
    assert [step for group, step in recorded if group == "training"] == list(range(1, 13))
    assert recorded["validation", 12]["valid_1-multi_logloss"] < 0.6
