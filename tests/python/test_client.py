"""detcore.client over stores that real experiments made."""

from __future__ import annotations

import builtins
import datetime
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import detcore
import numpy
import pytest
from conftest import PATIENCE
from detcore import client
from detcore.client import Client, ExperimentState, OrderBy, TrialState
from detcore.errors import CorruptError, StateError, UnsupportedError
from experiments import QUICK, run_experiment, trial, wait_until

CONFIG = """
name: {name}
labels: [{label}]
searcher: {{name: grid, metric: loss, smaller_is_better: false, max_length: {{batches: 3}}}}
hyperparameters:
  x: {{type: double, minval: 0.25, maxval: 1, count: 4}}
  net: {{width: 8}}
checkpoint_storage: {{type: shared_fs, host_path: {home}, save_trial_best: 4}}
"""


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """Experiment 1 with 4 trials, 2 with the same from a shorter program."""
    with tempfile.TemporaryDirectory(prefix="det-") as folder:
        place = Path(folder)
        run_experiment(place, CONFIG.format(name="first", label="a", home=place))
        run_experiment(place, CONFIG.format(name="second", label="b", home=place), QUICK)
        yield place


@pytest.fixture(autouse=True)
def no_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_default", None)


@pytest.fixture
def reader(home: Path) -> Iterator[Client]:
    with Client(home) as opened:
        yield opened


def test_an_experiment_has_what_the_store_knows(reader: Client) -> None:
    experiment = reader.get_experiment(1)
    assert (experiment.id, experiment.name, experiment.labels) == (1, "first", ["a"])
    assert experiment.state is ExperimentState.COMPLETED and experiment.state.is_terminal
    assert experiment.trial_count == 4 and experiment.trials_done == 4
    assert experiment.best_metric == 1 and experiment.progress == 1
    assert experiment.config["searcher"]["name"] == "grid" == experiment.searcher
    assert experiment.start_time and experiment.end_time
    assert experiment.start_time.tzinfo == datetime.timezone.utc
    assert experiment.start_time < experiment.end_time
    assert repr(experiment) == "<Experiment 1 COMPLETED>"
    assert experiment == next(reader.list_experiments()) and experiment.error is None


def test_lists_are_filtered_and_ordered(reader: Client) -> None:
    def names(**filters: Any) -> list[str]:
        return [experiment.name for experiment in reader.list_experiments(**filters)]

    assert names() == ["first", "second"]
    assert names(order_by=OrderBy.DESC) == names(sort_by="name", order_by="desc")
    assert names(order_by=OrderBy.DESC) == ["second", "first"]
    assert names(labels=["b"]) == names(name="s*") == ["second"]
    assert names(labels=["a", "b"]) == names(states=[ExperimentState.ERROR]) == []
    assert names(running=True) == names(archived=True) == []
    trials = list(reader.list_trials(1, best_first=True))
    assert [trial.best_metric for trial in trials] == [1.0, 0.75, 0.5, 0.25]
    assert len(list(reader.list_trials())) == 8
    by_metric = reader.get_experiment(1).list_trials("best_metric", OrderBy.ASC)
    assert [trial.best_metric for trial in by_metric] == [0.25, 0.5, 0.75, 1.0]


def test_lists_go_on_behind_a_page(reader: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from detcore.client import _client, _connection

    asked: list[int] = []

    def small(**values: Any) -> Any:
        asked.append(1)
        return _connection.page_of(**{**values, "limit": 3})

    monkeypatch.setattr(_client, "page_of", small)
    assert len({trial.id for trial in reader.list_trials()}) == 8
    assert asked


def test_a_list_shows_what_comes_next(reader: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = reader.list_trials(1)
    shown = "[<Trial 1 COMPLETED>, <Trial 2 COMPLETED>, <Trial 3 COMPLETED>, <Trial 4 COMPLETED>]"
    assert repr(trials) == shown
    assert next(trials).id == 1 and repr(trials) == shown.replace("<Trial 1 COMPLETED>, ", "")
    assert [one.id for one in trials] == [2, 3, 4] and repr(trials) == "[]"
    assert repr(reader.get_experiment(1).list_trials("id")) == shown
    assert repr(reader.list_experiments()).startswith("[<Experiment 1 ")
    assert repr(reader.list_checkpoints(1)).startswith("[<Checkpoint ")
    monkeypatch.setattr("detcore.client._record.Listing._MOST_SHOWN", 1)
    assert repr(reader.list_trials(1)) == "[<Trial 1 COMPLETED>, ...]"
    with Client(reader.master) as another:
        closed = another.list_trials(1)
    assert "is closed" in repr(closed)


def test_a_trial_has_what_the_store_knows(reader: Client) -> None:
    trial = reader.get_trial(1)
    assert trial.state is TrialState.COMPLETED and trial.experiment_id == 1
    assert trial.hparams == {"x": 1.0, "net": {"width": 8}}
    assert trial.steps_completed == 3 and trial.best_metric == 1 and trial.restarts == 0
    assert [run["state"] for run in trial.runs] == ["ended"]
    assert trial.operations[0]["length"] == 3 and not trial.running
    assert trial.request_id is not None and str(trial.request_id) in trial.task_id
    assert trial.get_experiment().id == 1 and reader.get_trial("1") == trial
    listed = next(iter(reader.list_trials(1)))
    assert len(listed.runs) == 1 and listed.to_json()["id"] == 1


def test_metrics_are_arrays(reader: Client) -> None:
    steps, losses, times = reader.get_trial(1).metrics("loss")
    assert isinstance(losses, numpy.ndarray) and losses.dtype == numpy.float64
    assert steps.tolist() == [1, 2, 3] and losses.tolist() == [1.5, 2.5, 3.5]
    assert (numpy.diff(times) > 0).all() and times.dtype == numpy.int64
    assert numpy.isnan(reader.get_trial(1).metrics("rate").values).all()
    assert reader.get_metrics(1, "loss", "validation").values.tolist() == [1.0]
    assert len(reader.get_metrics(1, "no such").values) == 0
    assert reader.get_trial(1).metric_names()["training"] == ["loss", "rate"]


def without(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    real = builtins.__import__

    def refuse(name: str, *arguments: Any, **more: Any) -> Any:
        if name.partition(".")[0] == missing:
            raise ImportError(f"No module named '{missing}'")
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    monkeypatch.setattr(
        "importlib.import_module",
        lambda name: refuse(name),  # as real import would
    )


def test_metrics_need_no_numpy(reader: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "numpy")
    steps, losses, _ = reader.get_metrics(1, "loss")
    assert type(losses).__name__ == "array" and list(losses) == [1.5, 2.5, 3.5]
    assert list(steps) == [1, 2, 3] and len(reader.get_metrics(1, "no such").values) == 0


def test_a_dataframe_without_pandas_says_what_to_do(
    reader: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "pandas")
    with pytest.raises(ImportError, match="pip install pandas"):
        reader.get_trial(1).dataframe()


def test_reports_come_in_their_order(reader: Client) -> None:
    reports = list(reader.get_trial(1).iter_metrics())
    assert [(report.group, report.steps_completed) for report in reports] == [
        *(("training", step) for step in (1, 2, 3)),
        ("validation", 3),
    ]
    assert math.isnan(reports[0].metrics["rate"]) and reports[0].trial_run_id == 1
    assert len(list(reader.get_trial(1).iter_validation_metrics())) == 1
    assert len(list(reader.get_trial(1).iter_training_metrics())) == 3


def test_dataframes(reader: Client) -> None:
    table = reader.get_trial(1).dataframe("training")
    assert table["loss"].tolist() == [1.5, 2.5, 3.5] and table.index.tolist() == [1, 2, 3]
    trials = reader.get_experiment(1).dataframe()
    assert trials["best_metric"].tolist() == trials["hparams.x"].tolist() == [1.0, 0.75, 0.5, 0.25]
    assert trials["hparams.net.width"].tolist() == [8] * 4 and trials.index.tolist() == [1, 2, 3, 4]
    empty = reader.get_trial(1).dataframe("no such group")
    assert len(empty) == 0 and "group" in empty.columns


def test_logs(reader: Client) -> None:
    found = reader.get_trial(1)
    lines = list(found.iter_logs())
    assert [line.text for line in lines if "trained" in line.text] == ["trained to 3"]
    assert lines[0].time and lines[0].level is client.LogLevel.INFO
    assert list(found.iter_logs(head=1)) == lines[:1] and list(found.logs(tail=1)) == lines[-1:]
    assert list(found.iter_logs(follow=True)) == lines, "a trial that is over is not waited for"
    assert list(found.iter_logs(min_level=client.LogLevel.ERROR)) == []
    first = lines[0]
    assert list(found.iter_logs(search_text=first.text, rank_ids=[first.rank or 0])) == [first]
    assert list(found.iter_logs(rank_ids=[7])) == []
    assert first.time is not None
    assert list(found.iter_logs(timestamp_after=first.time)) == lines
    naive = first.time.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    assert list(found.iter_logs(timestamp_before=naive.isoformat())) == [first]
    with pytest.raises(UnsupportedError, match="sources"):
        list(found.iter_logs(sources=["agent"]))
    with pytest.raises(ValueError, match="head"):
        list(found.iter_logs(head=1, tail=1))


def test_checkpoints(reader: Client, tmp_path: Path) -> None:
    experiment = reader.get_experiment(1)
    top = experiment.top_checkpoint()
    assert top.trial_id == 1 and top.searcher_metric == 1
    assert top.metadata == {"of": "tests", "steps_completed": 3} and top.state == "COMPLETED"
    assert experiment.top_checkpoint(smaller_is_better=True).trial_id == 4
    assert experiment.get_trials()[1].top_checkpoint().trial_id == 2
    assert [one.trial_id for one in experiment.top_n_checkpoints(2)] == [1, 2]
    by_metric = experiment.list_checkpoints("searcher_metric", OrderBy.DESC, max_results=3)
    assert [one.searcher_metric for one in by_metric] == [1.0, 0.75, 0.5]
    best = experiment.best_trial()
    assert best is not None and best.trial.id == 1 and best.checkpoint == top
    assert reader.get_checkpoint(top.uuid[:8]) == top
    with pytest.raises(detcore.Error, match="no such"):
        experiment.top_checkpoint("no such")
    target = Path(top.download(tmp_path / "here"))
    assert (target / "weights").read_text() == "weights\n"
    assert sorted(os.listdir(target)) == ["metadata.json", "weights"]
    top.write_metadata_file(tmp_path / "metadata.json")
    assert '"of": "tests"' in (tmp_path / "metadata.json").read_text()


def test_a_checkpoint_that_lacks_a_file_is_not_downloaded(reader: Client, tmp_path: Path) -> None:
    spoiled = reader.get_experiment(1).get_trials()[3].list_checkpoints()[0]
    assert spoiled.directory is not None
    (spoiled.directory / "weights").write_text("w")
    with pytest.raises(CorruptError, match="has 1 bytes instead of 8"):
        spoiled.download(tmp_path)
    with pytest.raises(CorruptError, match="weights"):
        spoiled.verify()
    (spoiled.directory / "weights").unlink()
    with pytest.raises(CorruptError, match="the file is missing"):
        spoiled.download(tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_pinned_checkpoint_is_not_deleted(reader: Client) -> None:
    checkpoint = reader.get_experiment(1).get_trials()[3].list_checkpoints()[0]
    assert checkpoint.pinned is False
    checkpoint.pin()
    assert checkpoint.pinned is True
    with pytest.raises(StateError, match="pinned"):
        checkpoint.delete()
    checkpoint.unpin()
    assert checkpoint.pinned is False


def test_a_deleted_checkpoint_is_gone(reader: Client) -> None:
    checkpoint = reader.get_experiment(1).get_trials()[3].list_checkpoints()[0]
    before = reader.checkpoint_usage()
    directory = checkpoint.directory
    assert directory is not None and directory.exists()
    checkpoint.delete()
    assert checkpoint.state == "DELETED" and not directory.exists()
    after = reader.checkpoint_usage()
    assert after[0]["checkpoints"] == before[0]["checkpoints"] - 1
    assert after[0]["size"] == before[0]["size"] - checkpoint.size


def test_results(reader: Client) -> None:
    experiment = reader.get_experiment(1)
    assert experiment.hparam_importance()[0]["name"] == "x"
    assert experiment.collect_garbage(dry_run=True)["failures"] == 0
    assert reader.sync()["journals"] == []


def test_notes(reader: Client) -> None:
    experiment = reader.get_experiment(2)
    experiment.set_name("renamed")
    experiment.set_notes("a note")
    experiment.add_label("c")
    experiment.remove_label("b")
    experiment.archive()
    again = reader.get_experiment(2)
    assert (again.name, again.notes, again.labels) == ("renamed", "a note", ["c"])
    assert again.archived and [e.id for e in reader.list_experiments()] == [1]
    experiment.unarchive()
    experiment.set_name("second")
    experiment.set_labels(["b"])
    assert not experiment.archived
    with pytest.raises(TypeError, match="several texts"):
        experiment.set_labels("abc")


def test_an_experiment_that_is_deleted_is_gone(store: Path) -> None:
    run_experiment(store, CONFIG.format(name="short", label="a", home=store), QUICK)
    with Client() as writer:
        experiment = writer.get_experiment(1)
        assert experiment.delete()["state"] == "DELETED"
        with pytest.raises(LookupError, match="no experiment 1"):
            experiment.reload()


@pytest.mark.parametrize(
    ("act", "kind", "text"),
    [
        (lambda c: c.get_trial(99), LookupError, "no trial 99"),
        (lambda c: c.get_trial("nobody"), LookupError, "nobody"),
        (lambda c: c.get_experiment("1"), TypeError, "experiment_id must be an int"),
        (lambda c: c.get_experiment(True), TypeError, "experiment_id must be an int"),
        (lambda c: c.get_experiment(-1), ValueError, "from 0"),
        (lambda c: c.get_experiment(2**70), ValueError, "from 0"),
        (lambda c: c.get_checkpoint("ab"), ValueError, "4"),
        (lambda c: c.get_checkpoint(b"abcd"), TypeError, "uuid must be"),
        (lambda c: c.get_checkpoint(5), TypeError, "uuid must be"),
        (lambda c: c.get_checkpoint(None), TypeError, "uuid must be"),
        (lambda c: c.search_events(1, "a"), TypeError, "timeout"),
        (lambda c: list(c.list_experiments(sort_by="nope")), ValueError, "nope"),
        (lambda c: c.get_metrics(1, 7), TypeError, "name must be text"),
        (lambda c: c.get_metrics(1, "a\0b"), ValueError, "NUL"),
        (lambda c: list(c.list_experiments(states=["BOGUS"])), ValueError, "BOGUS"),
        (lambda c: list(c.list_experiments(states="ACTIVE")), TypeError, "several"),
        (lambda c: list(c.list_experiments(order_by="up")), ValueError, "up"),
        (lambda c: c.update_experiment(1, colour="red"), ValueError, "colour"),
        (lambda c: c.get_experiment(1).wait(interval=0), ValueError, "interval"),
        (lambda c: c.get_experiment(1).pause(), RuntimeError, "COMPLETED"),
        (lambda c: c.whoami(), ValueError, "no users"),
    ],
)
def test_bad_input(
    reader: Client, act: Callable[[Client], Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        act(reader)


def test_bad_options() -> None:
    with pytest.raises(LookupError, match="no store"):
        Client("/nowhere/at/all")
    with pytest.raises(ValueError, match="timeout"):
        Client(timeout=0)
    with pytest.raises(TypeError, match="user must be text"):
        Client(user=7)  # type: ignore[arg-type]


def test_a_closed_client_says_so(home: Path) -> None:
    reader = Client(home)
    experiment = reader.get_experiment(1)
    trials = experiment.list_trials()
    next(trials)
    reader.close()
    reader.close()
    for use in (experiment.reload, lambda: experiment.get_trials(), lambda: reader.get_trial(1)):
        with pytest.raises(RuntimeError, match="closed"):
            use()
    assert experiment.name == "first", "what was read stays"


def test_closing_waits_for_other_threads(home: Path) -> None:
    reader = Client(home)
    failures: list[Exception] = []

    def read() -> None:
        try:
            while True:
                reader.get_trial(1)
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    reader.close()
    for thread in threads:
        thread.join(30)
    assert len(failures) == 4 and all("closed" in str(failure) for failure in failures)


def test_a_forked_child_has_a_default_of_its_own(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DET_HOME", str(home))
    assert client.get_trial(1).id == 1
    context = multiprocessing.get_context("fork")
    child = context.Process(target=lambda: sys.exit(client.get_trial(2).id))
    child.start()
    child.join(30)
    assert child.exitcode == 2 and client.get_trial(1).id == 1


def in_child(reader: Client, home: str, answers: Any) -> None:
    try:
        reader.get_trial(1)
    except RuntimeError as failure:
        answers.put(str(failure))
    reader.close()
    with Client(home) as own:
        answers.put(own.get_trial(1).id)


def test_a_forked_child_opens_its_own(reader: Client, home: Path) -> None:
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=in_child, args=(reader, str(home), answers))
    child.start()
    assert "forked" in answers.get(timeout=PATIENCE) and answers.get(timeout=PATIENCE) == 1
    child.join(30)
    assert child.exitcode == 0 and reader.get_trial(1).id == 1


def test_the_module_has_a_client_of_its_own(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client.login(home)
    assert client.get_experiment(1).name == "first" and len(list(client.list_trials())) == 8
    assert [e.id for e in client.list_experiments("name", "desc")] == [2, 1]
    assert client.get_checkpoint(client.get_trial(1).latest_checkpoint.uuid).trial_id == 1  # type: ignore[union-attr]
    assert len(list(client.list_checkpoints())) == 4 and client.sync()["busy"] == 0
    with pytest.raises(ValueError, match="no users"):
        client.whoami()
    monkeypatch.setattr(client, "_default", None)
    with pytest.raises(LookupError, match="no store"):
        client.get_experiment(1)


def test_an_experiment_can_be_created_and_steered(store: Path, tmp_path: Path) -> None:
    go_on = tmp_path / "go on"
    script = f"touch started; while [ ! -e '{go_on}' ]; do sleep 0.02; done; {QUICK}"
    config = {
        "name": "steered",
        "searcher": {"name": "single", "metric": "loss", "max_length": 2},
        "hyperparameters": {"x": 0.5},
    }
    experiment = client.create_experiment(config, tmp_path, command=trial(script), slots=1)
    assert experiment.labels == [] and experiment.name == "steered"
    found = experiment.await_first_trial(timeout=PATIENCE)
    wait_until((tmp_path / "started").exists, "the trial")
    with pytest.raises(TimeoutError, match="not over"):
        experiment.wait(0.01, timeout=0.05)
    experiment.pause()
    assert experiment.state is ExperimentState.PAUSED
    go_on.touch()
    experiment.activate()
    experiment.cancel()
    assert experiment.wait(0.05, timeout=PATIENCE).is_terminal
    found.kill()
    assert found.wait(0.05, timeout=PATIENCE).is_terminal


def test_a_configuration_that_is_wrong_creates_nothing(store: Path) -> None:
    with pytest.raises(detcore.Error, match="'searcher' is missing"):
        client.create_experiment({"name": "wrong"}, command=["true"])
    assert list(client.list_experiments()) == []


def test_logs_are_followed_to_the_end(store: Path, tmp_path: Path) -> None:
    script = f"echo begin; sleep 0.3; echo end; {QUICK}"
    config = {
        "name": "logs",
        "searcher": {"name": "single", "metric": "loss", "max_length": 2},
        "hyperparameters": {"x": 0.5},
    }
    experiment = client.create_experiment(config, tmp_path, command=trial(script))
    found = experiment.await_first_trial(timeout=PATIENCE)
    wait_until(lambda: list(found.iter_logs()), "the first line")
    texts = [line.text for line in found.iter_logs(follow=True)]
    assert texts[0] == "begin" and "end" in texts
    assert experiment.wait(0.05, timeout=PATIENCE) is ExperimentState.COMPLETED


def test_interrupts_come_through(store: Path) -> None:
    """A wait ends at once with KeyboardInterrupt."""
    program = (
        "from detcore import client\n"
        "import sys\n"
        "e = client.create_experiment({'name': 'long', 'searcher': {'name': 'single',"
        " 'metric': 'loss', 'max_length': 1}}, command=['sleep', '900'])\n"
        "try:\n"
        "    print('ready', flush=True)\n"
        "    e.wait(60)\n"
        "except KeyboardInterrupt: e.kill(); print('interrupted')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=PATIENCE)[0] == "interrupted\n"
