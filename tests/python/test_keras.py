"""detcore.integrations.keras, by its example."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Det

pytest.importorskip("detcore.integrations.keras", reason="Keras is not installed")
from example_runs import check_goes_on


def test_example_goes_on_after_a_kill_and_a_pause(store: Path, det: Det) -> None:
    recorded = check_goes_on("digits_keras.py", store, det, killed_at=48, paused_at=96)
    assert {step for _, step in recorded} == {24, 48, 72, 96, 120, 144}
    assert recorded["validation", 144]["val_accuracy"] > 0.7
    assert recorded["training", 144].keys() == {"loss", "accuracy"}
