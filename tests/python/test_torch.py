"""examples/python/integrations/digits_torch.py: a loop of PyTorch without a callback."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Det
from example_runs import check_goes_on

pytest.importorskip("torch", reason="PyTorch is not installed")


def test_example_goes_on_after_a_kill_and_a_pause(store: Path, det: Det) -> None:
    recorded = check_goes_on("digits_torch.py", store, det, killed_at=5, paused_at=8)
    assert [step for group, step in recorded if group == "training"] == list(range(1, 13))
    assert recorded["validation", 12]["loss"] < 0.6
