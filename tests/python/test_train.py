"""core.Context.train: what is reported is recorded as given, and what is wrong is refused."""

from __future__ import annotations

import decimal
import enum
import json
import math
import pathlib
import signal
import threading
import types
import uuid
from typing import Any

import detcore
import numpy as np
import pytest
from conftest import PATIENCE, Det
from detcore import core
from programs import lines, reports, trial


class Colour(enum.Enum):
    RED = 1


class Scalar:
    """A tensor of one element, as any framework has it."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return self.value


class Vector:
    """A tensor of more elements: it is no number, and says so in its own way."""

    def __float__(self) -> float:
        raise RuntimeError("a Tensor with 2 elements cannot be converted to Scalar")

    def tolist(self) -> list[float]:
        return [1.0, 2.0]


def recorded(det: Det, metrics: dict[str, Any]) -> Any:
    with core.init() as context:
        context.train.report_training_metrics(1, metrics)
    return reports(det)[0][2]


def test_regions_are_context_managers_and_decorators(det: Det) -> None:
    with core.init() as context:
        train = context.train
        forward = train.region("forward")
        assert train.region("forward") is forward

        @forward
        def run(value: int) -> int:
            with train.region("inner"), train.region("inner"):
                return value

        assert run(3) == 3
        with pytest.raises(ZeroDivisionError), train.region("failing"):
            raise ZeroDivisionError
        with pytest.raises(detcore.errors.StateError):
            forward.__exit__(None, None, None)
        for wrong in ("", "a/b", "x" * 64):
            with pytest.raises(detcore.errors.InvalidArgumentError):
                train.region(wrong)
        with pytest.raises(TypeError):
            train.region(None)  # type: ignore[arg-type]
    with pytest.raises(detcore.errors.StateError), forward:
        pass


def test_each_kind_of_report_is_recorded_in_its_group(det: Det) -> None:
    with core.init() as context:
        context.train.report_training_metrics(1, {"loss": 0.5})
        context.train.report_training_metrics(steps_completed=2, metrics={"loss": 0.25})
        context.train.report_validation_metrics(2, {"accuracy": 0.75})
        context.train.report_metrics("inference", 2, {"rows": 7})
        context.train.report_metrics("validation", 3, {"accuracy": 1})
    assert reports(det) == [
        ("training", 1, {"loss": 0.5}),
        ("training", 2, {"loss": 0.25}),
        ("validation", 2, {"accuracy": 0.75}),
        ("inference", 2, {"rows": 7}),
        ("validation", 3, {"accuracy": 1}),
    ]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (3, 3),
        (2**60, 2**60),
        (True, 1),
        (1.5, 1.5),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (np.float32(1.5), 1.5),
        (np.float64(1.5), 1.5),
        (np.int64(3), 3),
        (np.bool_(True), 1),
        (np.array(2.5), 2.5),
        (Scalar(2.5), 2.5),
        (decimal.Decimal("2.5"), 2.5),
    ],
)
def test_numbers_of_any_kind_are_numbers(det: Det, given: Any, kept: Any) -> None:
    with core.init() as context:
        context.train.report_training_metrics(1, {"value": given})
        context.train.report_training_metrics(2, {"value": given, "kind": "beside text"})
    first, second = reports(det)
    assert first[2] == {"value": kept}
    assert second[2] == {"value": kept, "kind": "beside text"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("text", "text"),
        (None, None),
        ([1, "two", None], [1, "two", None]),
        ((1, 2), [1, 2]),
        ({"deep": {"deeper": [math.nan]}}, {"deep": {"deeper": ["NaN"]}}),
        (np.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
        (Vector(), [1.0, 2.0]),
        (Colour.RED, "RED"),
        (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (b"bytes", "bytes"),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
    ],
)
def test_everything_else_is_json(det: Det, given: Any, kept: Any) -> None:
    assert recorded(det, {"value": given, "number": 1.5}) == {"value": kept, "number": 1.5}


def test_the_same_names_may_change_kind_from_step_to_step(det: Det) -> None:
    values: list[Any] = [1.0, "text", 2.0, None, np.zeros(2), 3.0]
    with core.init() as context:
        for step, value in enumerate(values):
            context.train.report_training_metrics(step, {"x": value, "y": step})
    assert [metrics["x"] for _, _, metrics in reports(det)] == [1, "text", 2, None, [0, 0], 3]


def test_any_number_of_values_and_of_sets_of_names(det: Det) -> None:
    given = [{f"m{i}": float(i) for i in range(count)} for count in range(100)]
    with core.init() as context:
        for step, metrics in enumerate(given):
            context.train.report_training_metrics(step, metrics)
            context.train.report_metrics(f"group{step}", step, {"x": step})
    kept = [metrics for group, _, metrics in reports(det) if group == "training"]
    assert kept == given


def test_batch_metrics_are_kept_beside(det: Det) -> None:
    with core.init() as context:
        context.train.report_training_metrics(
            2, {"loss": 1.5}, batch_metrics=[{"loss": 1.0}, {"loss": np.float32(2)}]
        )
    (report,) = lines(det("metrics", "1", "--json"))
    assert report["metrics"] == {"loss": 1.5}
    assert report["batch_metrics"] == [{"loss": 1.0}, {"loss": 2.0}]


Refused = tuple[type[Exception], str, tuple[Any, ...]]
REFUSED: list[Refused] = [
    (TypeError, "steps_completed", (1.0, {"x": 1.0})),
    (TypeError, "steps_completed", (math.nan, {"x": 1.0})),
    (TypeError, "steps_completed", (True, {"x": 1.0})),
    (TypeError, "steps_completed", ("1", {"x": 1.0})),
    (TypeError, "steps_completed", (np.array([1, 2]), {"x": 1.0})),
    (TypeError, "steps_completed", (None, {"x": 1.0})),
    (ValueError, "steps_completed", (-1, {"x": 1.0})),
    (ValueError, "steps_completed", (2**63, {"x": 1.0})),
    (TypeError, "generator", (1, ((name, 1.0) for name in "x"))),
    (TypeError, "list", (1, ["x"])),
    (TypeError, "str", (1, "x")),
    (TypeError, "NoneType", (1, None)),
    (TypeError, "name of a metric", (1, {1: 1.0})),
    (TypeError, "name of a metric", (1, {b"x": 1.0})),
    (ValueError, "NUL", (1, {"a\0b": 1.0})),
    (ValueError, "UTF-8", (1, {"\ud800": 1.0})),
    (ValueError, "name", (1, {"": 1.0})),
    (ValueError, "name", (1, {"n" * 256: 1.0})),
    (TypeError, "'x'.*object", (1, {"x": object()})),
    (TypeError, "'x'.*set", (1, {"x": {1}})),
    (TypeError, "'x'.*complex", (1, {"x": 1j})),
    (ValueError, "overflow", (1, {"x": 10**400})),
    (TypeError, "batch_metrics", (1, {"x": 1.0}, {"x": 1.0})),
    (TypeError, "batch_metrics", (1, {"x": 1.0}, [1.0])),
    (TypeError, "'x'", (1, {"x": 1.0}, [{"x": object()}])),
]


@pytest.mark.parametrize("warm", [False, True])
def test_what_is_wrong_is_refused_by_its_name_and_not_recorded(det: Det, warm: bool) -> None:
    with core.init() as context:
        if warm:
            context.train.report_training_metrics(0, {"x": 1.0})
        for kind, name, arguments in REFUSED:
            with pytest.raises(kind, match=name):
                context.train.report_training_metrics(*arguments)
        with pytest.raises(ValueError, match="Circular"):
            endless: dict[str, Any] = {}
            endless["x"] = endless
            context.train.report_training_metrics(1, endless)
    assert len(reports(det)) == int(warm)


def test_no_part_of_a_complex_number_is_dropped(det: Det) -> None:
    with core.init() as context, pytest.raises(TypeError, match=r"'x'.*complex"):
        context.train.report_training_metrics(1, {"x": np.complex64(1 + 2j)})
    assert reports(det) == []


def test_groups_have_names(det: Det) -> None:
    with core.init() as context:
        for group in ("", "a.b", "n" * 256):
            for metrics in ({"x": 1.0}, {"x": "text"}):
                with pytest.raises(ValueError, match="group"):
                    context.train.report_metrics(group, 1, metrics)
        for wrong in (None, b"x", 1, ["x"]):
            with pytest.raises(TypeError, match="group"):
                context.train.report_metrics(wrong, 1, {"x": 1.0})  # type: ignore[arg-type]
    assert reports(det) == []


def test_a_validation_metric_has_a_value(det: Det) -> None:
    with core.init() as context:
        with pytest.raises(RuntimeError, match="'loss' is None") as raised:
            context.train.report_validation_metrics(1, {"accuracy": 1.0, "loss": None})
        assert isinstance(raised.value, detcore.Error) and isinstance(raised.value, ValueError)
        with pytest.warns(UserWarning, match="picture"):
            context.train.report_validation_metrics(1, {"accuracy": 1.0, "picture": b"png"})
    assert reports(det) == [("validation", 1, {"accuracy": 1.0})]


def test_what_contradicts_is_told_when_it_is_flushed(det: Det) -> None:
    with core.init(log_level="ERROR") as context:
        context.train.report_training_metrics(1, {"x": 1.0})
        context.train.report_training_metrics(1, {"x": 2.0})
        with pytest.raises(detcore.errors.ConflictError, match='"x" was 1'):
            context.train.flush()
    assert reports(det) == [("training", 1, {"x": 1.0})]


def test_threads_report_at_once(det: Det) -> None:
    count, each = 4, 500
    with core.init() as context:

        def report(thread: int) -> None:
            for step in range(each):
                context.train.report_metrics(f"of{thread}", step, {"a": step, "b": thread})

        threads = [threading.Thread(target=report, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    made = reports(det)
    for i in range(count):
        of_thread = [(step, metrics) for group, step, metrics in made if group == f"of{i}"]
        assert of_thread == [(step, {"a": step, "b": i}) for step in range(each)]


def test_threads_share_a_group(det: Det) -> None:
    """Each step is reported by one thread alone: none has the values of another."""
    with core.init() as context:

        def report(first: int) -> None:
            for step in range(first, 2000, 4):
                context.train.report_metrics("shared", step, {"a": step, "b": -step})

        threads = [threading.Thread(target=report, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    made = {step: metrics for _, step, metrics in reports(det)}
    assert made == {step: {"a": step, "b": -step} for step in range(2000)}


def test_a_signal_handler_may_report(det: Det) -> None:
    """In the middle of another report of the same names: the handler runs while a value is read."""
    with core.init() as context:

        def handle(*_: object) -> None:
            context.train.report_metrics("shared", 2, {"a": 3.0, "b": 4.0})

        class Tensor(Scalar):
            def __float__(self) -> float:
                signal.raise_signal(signal.SIGUSR2)
                return super().__float__()

        context.train.report_metrics("shared", 0, {"a": 0.0, "b": 0.0})
        before = signal.signal(signal.SIGUSR2, handle)
        try:
            context.train.report_metrics("shared", 1, {"a": 1.0, "b": Tensor(2.0)})
        finally:
            signal.signal(signal.SIGUSR2, before)
    assert reports(det)[1:] == [
        ("shared", 2, {"a": 3.0, "b": 4.0}),
        ("shared", 1, {"a": 1.0, "b": 2.0}),
    ]


def test_status_progress_and_log(det: Det) -> None:
    with core.init() as context:
        context.train.set_status("validating")
        context.train.report_progress(np.float32(0.5))  # type: ignore[arg-type]
        context.train.log("first\nsecond")
        context.train.log("third", level=40)
        context.train.log("fourth", "warning")
        context.train.flush(timeout=PATIENCE)
        shown = trial(det)
        assert (shown["status"], shown["progress"]) == ("validating", 0.5)
        for wrong in (-0.1, 1.5, math.nan):
            with pytest.raises(ValueError, match="progress"):
                context.train.report_progress(wrong)
        for kind in (True, "0.5", None):
            with pytest.raises(TypeError, match="progress"):
                context.train.report_progress(kind)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="status"):
            context.train.set_status(b"x")  # type: ignore[arg-type]
        for level in ("LOUD", 7, None):
            with pytest.raises(ValueError, match="level"):
                context.train.log("text", level)  # type: ignore[arg-type]
    logged = [(line["level"], line["text"]) for line in lines(det("logs", "1", "--json"))]
    assert logged == [
        ("info", "first\nsecond"),
        ("error", "third"),
        ("warning", "fourth"),
    ]


def test_flush_takes_seconds(det: Det) -> None:
    with core.init() as context:
        context.train.report_training_metrics(1, {"x": 1.0})
        context.train.flush(None)
        assert reports(det) == [("training", 1, {"x": 1.0})]
        with pytest.raises(ValueError, match="timeout"):
            context.train.flush(-1)
        with pytest.raises(ValueError, match="timeout"):
            context.train.flush(math.nan)
        with pytest.raises(TypeError, match="timeout"):
            context.train.flush("1")  # type: ignore[arg-type]


def test_the_best_validation_of_the_experiment() -> None:
    config = {"searcher": {"name": "single", "metric": "loss", "max_length": 1}}
    with core.init(config=config) as context:
        assert context.train.get_experiment_best_validation() is None
        context.train.report_validation_metrics(1, {"loss": 2.0})
        context.train.report_validation_metrics(2, {"loss": 1.0})
        assert context.train.get_experiment_best_validation() == 1.0


def test_metadata_is_kept_for_the_next_run() -> None:
    with core.init(external_id="kept") as context:
        assert context.train.get_metadata() == {}
        context.train.set_metadata({"who": ["a", np.int64(1)]})
        with pytest.raises(TypeError, match="metadata"):
            context.train.set_metadata([1])  # type: ignore[arg-type]
    with core.init(external_id="kept") as context:
        assert context.train.get_metadata() == {"who": ["a", 1]}


@pytest.mark.parametrize("reason", [core.EarlyExitReason.INVALID_HP, "EXITED_REASON_INVALID_HP"])
def test_early_exit_is_told(det: Det, reason: Any) -> None:
    with core.init(log_level="ERROR") as context:
        context.train.report_early_exit(reason)
        with pytest.raises(ValueError, match="EarlyExitReason"):
            context.train.report_early_exit("tired")  # type: ignore[arg-type]
    assert trial(det)["early_exit"] is not None


def test_tensorboard_files_are_uploaded_by_hand(store: pathlib.Path) -> None:
    seen: list[pathlib.Path] = []

    def select(path: pathlib.Path) -> bool:
        seen.append(path)
        return path.name != "left"

    with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
        folder = context.train.get_tensorboard_path()
        (folder / "kept").write_text("k")
        (folder / "left").write_text("l")
        context.train.upload_tensorboard_files(
            select, lambda path, rank: path.with_name(f"{path.name}#{rank}")
        )
        assert sorted(path.name for path in seen) == ["kept", "left"]
        assert all(path.is_absolute() for path in seen)
        with pytest.raises(ZeroDivisionError):
            (folder / "new").write_text("n")
            context.train.upload_tensorboard_files(lambda path: bool(1 / 0))
        with pytest.raises(ValueError, match="too long"):
            context.train.upload_tensorboard_files(mangler=lambda *_: pathlib.Path("n" * 10000))
        with pytest.raises(TypeError):
            context.train.upload_tensorboard_files("all")  # type: ignore[arg-type]
    names = {path.name for path in store.rglob("*#0")}
    assert names == {"kept#0"}


def test_tensorboard_files_are_uploaded_by_hand_in_manual_mode_alone() -> None:
    with core.init() as context, pytest.raises(RuntimeError, match="TensorBoard"):
        context.train.upload_tensorboard_files()


def test_enums_have_the_values_of_the_original() -> None:
    assert core.EarlyExitReason.INVALID_HP.value == "EXITED_REASON_INVALID_HP"
    assert core.EarlyExitReason("EXITED_REASON_USER_REQUESTED_STOP")
    assert [mode.value for mode in core.TensorboardMode] == ["AUTO", "MANUAL"]
    assert json.dumps([mode.value for mode in core.PreemptMode])
