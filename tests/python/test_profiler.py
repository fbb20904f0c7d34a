"""The profiler, which this release of the library does not have."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from detcore import core
from detcore.core import DistributedContext, _profiler
from ranks import in_processes


@pytest.fixture(autouse=True)
def nobody_was_told(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(_profiler, "_was_told", False)
    yield


def test_training_goes_on_without_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        with core.init() as run:
            run.profiler.off()
            run.profiler.on()
            run.profiler.on()
            run.profiler.off()
            run.profiler.off()
            run.profiler.on(sampling_interval=0.1, samples_per_report=1)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING and "not in this release" in record.getMessage()


@pytest.mark.parametrize(
    ("interval", "samples", "named"),
    [
        (0.05, 10, "sampling_interval is 0.05"),
        (0, 0, "sampling_interval"),
        (float("nan"), 10, "sampling_interval"),
        (1, 0, "samples_per_report is 0"),
        (1, 2.0, "samples_per_report is 2.0"),
        (1, 2**40, "samples_per_report is 1099511627776"),
    ],
)
def test_wrong_arguments(interval: Any, samples: Any, named: str) -> None:
    with core.init() as run:
        with pytest.raises(ValueError, match=named):
            run.profiler.on(interval, samples)
        with pytest.raises(TypeError):
            run.profiler.on("1")  # type: ignore[arg-type]
        run.profiler.on()
        run.profiler.on(interval, samples)  # already on, it looks at nothing


def on_each_rank(context: DistributedContext) -> Any:
    with core.init(distributed=context) as run:
        run.profiler.on()
        return _profiler._was_told


def test_only_the_first_rank_of_a_machine_samples() -> None:
    assert in_processes(on_each_rank, 2) == [True, False]
