"""core.init() and core.Context: starting, and every way to end."""

from __future__ import annotations

import json
import math
import pathlib
import signal
import subprocess
import sys
from typing import Any

import pytest
from conftest import Det
from detcore import InvalidHP, core, errors
from programs import lines, reports, run, trial


def test_the_parts_of_a_context() -> None:
    with core.init() as context:
        assert isinstance(context, core.Context)
        assert isinstance(context.checkpoint, core.CheckpointContext)
        assert isinstance(context.preempt, core.PreemptContext)
        assert isinstance(context.train, core.TrainContext)
        assert isinstance(context.info, core.ClusterInfo)


def test_a_run_that_ends_well(det: Det) -> None:
    with core.init(name="named", hparams={"lr": 0.5}) as context:
        context.train.report_training_metrics(1, {"loss": 1.0})
    ended = trial(det)
    assert (ended["state"], ended["name"], ended["hparams"]) == ("COMPLETED", "named", {"lr": 0.5})


@pytest.mark.parametrize(
    ("raised", "state"),
    [
        (ValueError("of the user"), "ERROR"),
        (KeyboardInterrupt(), "ERROR"),
        (SystemExit(3), "ERROR"),
        (SystemExit("message"), "ERROR"),
        (SystemExit(0), "COMPLETED"),
        (SystemExit(), "COMPLETED"),
    ],
)
def test_an_exception_ends_the_run_and_passes_through(
    det: Det, raised: BaseException, state: str
) -> None:
    with pytest.raises(type(raised)) as caught, core.init() as context:
        context.train.report_training_metrics(1, {"loss": 1.0})
        raise raised
    assert caught.value is raised
    assert trial(det)["state"] == state
    assert reports(det) == [("training", 1, {"loss": 1.0})]


class Untrainable(InvalidHP):
    pass


@pytest.mark.parametrize("kind", [InvalidHP, Untrainable])
def test_invalid_hyperparameters_end_the_run_and_the_process_in_good_order(
    det: Det, kind: type[InvalidHP], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught, core.init():
        raise kind("lr is too large")
    assert caught.value.code == 0
    assert "lr is too large" in capsys.readouterr().err
    assert trial(det)["runs"][0]["exit"] == "invalid_hp"


def test_invalid_hp_takes_text() -> None:
    assert str(InvalidHP()) and str(InvalidHP("why")) == "why"
    with pytest.raises(TypeError, match="text"):
        InvalidHP(5)  # type: ignore[arg-type]


def test_the_status_of_a_process_with_invalid_hyperparameters(det: Det) -> None:
    written = run(
        """
        import detcore
        with detcore.core.init() as context:
            raise detcore.InvalidHP("too large")
        """
    )
    assert "too large" in written and "Traceback" not in written


def test_start_and_close_by_hand(det: Det) -> None:
    context = core.init()
    context.start()
    assert not context.preempt.should_preempt()
    with pytest.raises(RuntimeError, match="started before"):
        context.start()
    context.close()
    context.close()
    with pytest.raises(RuntimeError, match="started before"), context:
        pytest.fail("entered")
    assert trial(det)["state"] == "COMPLETED"


def test_nothing_can_be_done_after_the_end(tmp_path: pathlib.Path) -> None:
    with core.init() as context:
        context.train.report_training_metrics(1, {"x": 1.0})
    saved = {"steps_completed": 1}
    calls: list[Any] = [
        lambda: context.train.report_training_metrics(2, {"x": 1.0}),
        lambda: context.train.report_training_metrics(2, {"x": "text"}),
        lambda: context.train.report_validation_metrics(2, {"new": 1.0}),
        lambda: context.train.set_status("late"),
        lambda: context.train.report_progress(1),
        lambda: context.train.log("late"),
        lambda: context.train.flush(),
        lambda: context.train.get_metadata(),
        lambda: context.train.set_metadata({}),
        lambda: context.train.get_experiment_best_validation(),
        lambda: context.train.get_tensorboard_path(),
        lambda: context.train.report_early_exit(core.EarlyExitReason.INVALID_HP),
        lambda: context.checkpoint.upload(tmp_path, saved),
        lambda: context.checkpoint.store_path(saved).__enter__(),
        lambda: context.checkpoint.download("an-id", tmp_path),
        lambda: context.checkpoint.restore_path("an-id").__enter__(),
        lambda: context.checkpoint.delete("an-id"),
        lambda: context.checkpoint.list(),
        lambda: context.preempt.should_preempt(),
        lambda: next(context.searcher.operations()),
    ]
    for call in calls:
        with pytest.raises(errors.StateError):
            call()
    assert context.info.trial.trial_id == 1


def test_the_parts_outlive_the_context(det: Det) -> None:
    context = core.init()
    with context:
        train, store = context.train, context.checkpoint.store_path({"steps_completed": 1})
        path, _ = store.__enter__()
    del context
    with pytest.raises(errors.StateError):
        train.report_training_metrics(1, {"x": 1.0})
    with pytest.raises(errors.StateError):
        store.__exit__(None, None, None)
    del train, store
    assert trial(det)["state"] == "COMPLETED" and not path.exists()


def test_what_fails_at_the_end_does_not_hide_what_failed_before(det: Det) -> None:
    def contradict(context: core.Context) -> None:
        for value in (1.0, 2.0):
            context.train.report_training_metrics(1, {"x": value})

    with (
        pytest.raises(ZeroDivisionError),
        pytest.warns(RuntimeWarning, match='"x" was 1'),
        core.init(log_level="ERROR") as context,
    ):
        contradict(context)
        _ = 1 / 0
    with pytest.raises(errors.ConflictError), core.init(log_level="ERROR") as context:
        contradict(context)


def test_a_name_of_ones_own_is_continued(det: Det) -> None:
    for run_id in (1, 2):
        with core.init(external_id="mine") as context:
            assert context.info.trial.trial_run_id == run_id
    with core.init(trial_id=1) as context:
        assert context.info.trial.trial_run_id == 3


@pytest.mark.parametrize(
    ("options", "name"),
    [("", "train_mnist"), ("config={'name': 'configured'}", "configured"), ("name='said'", "said")],
)
def test_an_experiment_is_named_by_its_script(
    det: Det, tmp_path: pathlib.Path, options: str, name: str
) -> None:
    script = tmp_path / "train_mnist.py"
    script.write_text(f"from detcore import core\nwith core.init({options}): pass\n")
    subprocess.run([sys.executable, script], check=True)
    (experiment,) = lines(det("experiments", "--json"))
    assert experiment["name"] == name


def test_several_at_once_are_several_runs(det: Det) -> None:
    with core.init() as first, core.init() as second:
        assert first.info.trial.trial_id != second.info.trial.trial_id
        first.train.report_training_metrics(1, {"x": 1.0})
        second.train.report_training_metrics(1, {"x": 2.0})
    assert reports(det, 1) == [("training", 1, {"x": 1.0})]
    assert reports(det, 2) == [("training", 1, {"x": 2.0})]


def test_a_trial_that_runs_already_is_refused() -> None:
    with core.init(external_id="mine"), pytest.raises(RuntimeError, match="trial 1"):
        core.init(external_id="mine")


WRONG: list[tuple[type[Exception], str, dict[str, Any]]] = [
    (ValueError, "PreemptMode", {"preempt_mode": "SOMEBODY"}),
    (ValueError, "TensorboardMode", {"tensorboard_mode": 1}),
    (ValueError, "shared_fs", {"checkpoint_storage": {"type": "shared_fs", "host_path": "/x"}}),
    (KeyError, "type", {"checkpoint_storage": {"host_path": "/x"}}),
    (ValueError, "unknown", {"checkpoint_storage": {"type": "unknown"}}),
    (TypeError, "checkpoint_storage", {"checkpoint_storage": 1}),
    (TypeError, "checkpoint_storage", {"checkpoint_storage": b"/x"}),
    (ValueError, "azure", {"checkpoint_storage": "azure://container"}),
    (TypeError, "master", {"master": 8080}),
    (TypeError, "trial_id", {"trial_id": "1"}),
    (TypeError, "trial_id", {"trial_id": True}),
    (LookupError, "99", {"trial_id": 99}),
    (ValueError, "trial_id", {"trial_id": 2**70}),
    (TypeError, "name", {"name": b"name"}),
    (ValueError, "UTF-8", {"name": "\ud800"}),
    (TypeError, "external_id", {"external_id": 1}),
    (TypeError, "config", {"config": [1]}),
    (TypeError, r"config.*object", {"config": {"data": object()}}),
    (ValueError, "max_length", {"config": {"searcher": {"name": "single", "max_length": "x"}}}),
    (TypeError, "hparams", {"hparams": 5}),
    (TypeError, "preempt_signals", {"preempt_signals": signal.SIGTERM}),
    (TypeError, "preempt_signals", {"preempt_signals": ["SIGTERM"]}),
    (ValueError, "signal", {"preempt_signals": [1000]}),
    (TypeError, "stack_trace_signal", {"stack_trace_signal": "TERM"}),
    (ValueError, "stack_trace_signal", {"stack_trace_signal": 99999}),
    (ValueError, "stack_trace_signal", {"stack_trace_signal": signal.SIGSEGV}),
    (ValueError, "stack_trace_signal", {"stack_trace_signal": signal.SIGKILL}),
    (ValueError, "close_wait", {"close_wait": -1}),
    (ValueError, "journal_wait", {"journal_wait": math.nan}),
    (TypeError, "close_wait", {"close_wait": "60"}),
    (TypeError, "journal_limit", {"journal_limit": 1.5}),
    (ValueError, "level", {"log_level": "LOUD"}),
    (TypeError, "distributed", {"distributed": 1}),
]


@pytest.mark.parametrize(("kind", "named", "given"), WRONG)
def test_options_that_are_wrong_are_named_and_nothing_begins(
    store: pathlib.Path, kind: type[Exception], named: str, given: dict[str, Any]
) -> None:
    with pytest.raises(kind, match=named):
        core.init(**given)
    assert not list(store.rglob("journal*"))


def test_options_are_those_that_were_given(det: Det, tmp_path: pathlib.Path) -> None:
    config = {
        "name": "configured",
        "searcher": {"name": "single", "metric": "loss", "max_length": 7},
        "data": {"a": [1]},
    }
    with core.init(
        master=tmp_path / "elsewhere",
        config=config,
        log_level=10,
        durable_reports=True,
        journal_limit=1 << 24,
        journal_wait=0,
        close_wait=None,
    ) as context:
        context.train.report_training_metrics(1, {"x": 1.0})
        assert context.info.trial.config["searcher"]["max_length"] == 7
    shown = json.loads(det("show", "1", "--json", "--master", str(tmp_path / "elsewhere")))
    assert shown["name"] == "configured"


def test_the_output_is_captured(det: Det) -> None:
    run(
        """
        import os
        from detcore import core
        with core.init(capture_output=True):
            print("of Python", flush=True)
            os.system("echo of a child")
        """
    )
    assert "of Python" in det("logs", "1") and "of a child" in det("logs", "1")


ENDS = {
    "": (0, "COMPLETED"),
    "sys.exit(0)": (0, "COMPLETED"),
    "sys.exit(3)": (3, "ERROR"),
    "1 / 0": (1, "ERROR"),
    "os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)": (-signal.SIGTERM, "ERROR"),
    "os.kill(os.getpid(), signal.SIGINT); time.sleep(30)": (-signal.SIGINT, "ERROR"),
    "os.abort()": (-signal.SIGABRT, "ERROR"),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_process_that_ends_with_an_open_core_closes_it(det: Det, end: str) -> None:
    status, state = ENDS[end]
    run(
        f"""
        import os, signal, sys, time
        from detcore import core
        context = core.init().__enter__()
        context.train.report_training_metrics(1, {{"x": 1.0}})
        {end}
        """,
        status=status,
    )
    assert trial(det)["state"] == state
    assert reports(det) == [("training", 1, {"x": 1.0})]


def test_a_context_that_is_dropped_is_closed(det: Det) -> None:
    written = run(
        """
        import warnings
        warnings.simplefilter("always")
        from detcore import core
        core.init().__enter__().train.report_training_metrics(1, {"x": 1.0})
        """
    )
    assert "never closed" in written
    assert trial(det)["state"] == "COMPLETED"
    assert reports(det) == [("training", 1, {"x": 1.0})]


def test_a_cell_that_is_run_twice_makes_two_runs(det: Det) -> None:
    """As in a notebook, where the name of the first context is given to the second."""
    run(
        """
        cell = '''
        from detcore import core
        context = core.init(external_id=name)
        context.start()
        context.train.report_training_metrics(1, {"x": 1.0})
        '''.replace("        ", "")
        names = {"name": "mine"}
        exec(cell, names)
        try:
            exec(cell, names)
        except RuntimeError as refused:
            assert "close that core first" in str(refused), refused
        names["name"] = None
        exec(cell, names)
        exec(cell, names)
        """
    )
    assert [trial(det, number)["state"] for number in (1, 2, 3)] == ["COMPLETED"] * 3


def test_the_stack_is_printed_on_a_signal() -> None:
    written = run(
        """
        import os, signal
        from detcore import core
        signal.signal(signal.SIGUSR1, lambda *_: print("as before", flush=True))
        with core.init():
            def in_this_function():
                os.kill(os.getpid(), signal.SIGUSR1)
            in_this_function()
        """
    )
    assert "in_this_function" in written and "as before" in written
