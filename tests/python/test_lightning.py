"""detcore.integrations.lightning, by its example."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from conftest import Det

pytest.importorskip("detcore.integrations.lightning", reason="Lightning is not installed")
from example_runs import Example, check_goes_on
from pytorch_lightning import LightningModule


@pytest.fixture(autouse=True)
def without_sharded_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The torch 1.13 of Debian 12 cannot import its own with Python 3.11."""
    name = "_register_sharded_tensor_state_dict_hooks_if_available"
    monkeypatch.setattr(LightningModule, name, lambda _: None)


def test_example_goes_on_after_a_kill_and_a_pause(store: Path, det: Det) -> None:
    recorded = check_goes_on("digits_lightning.py", store, det, killed_at=48, paused_at=96)
    assert recorded["validation", 144]["val_accuracy"] > 0.7
    assert [step for group, step in recorded if group == "training"] == list(range(10, 145, 10))


def test_ctrl_c_completes_nothing(store: Path, det: Det) -> None:
    store.mkdir(exist_ok=True)
    example = Example("digits_lightning.py", store / "home", det)
    assert example.run(signal.SIGINT, at=48) == (1, [24, 48])
    assert [operation["completed"] for operation in example.trial()["operations"]] == [False]
