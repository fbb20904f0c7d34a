"""detcore.search: methods of one's own over real experiments, with kills in between."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deciding
import detcore
import numpy as np
import pytest
from conftest import PATIENCE
from deciding import CONFIG, TRIALS, Halving
from detcore import search
from detcore.client import Client
from detcore.errors import CorruptError
from experiments import QUICK, trial, wait_until

EXPECTED = {
    (0.0, (2, 4), "COMPLETED"),
    (0.25, (2, 4), "COMPLETED"),
    (0.5, (2,), "COMPLETED"),
    (0.75, (2,), "COMPLETED"),
}


def outcome(client: Client) -> set[tuple[float, tuple[int, ...], str]]:
    (experiment,) = client.list_experiments()
    assert experiment.state == "COMPLETED" and experiment.trial_count == TRIALS
    return {
        (found.hparams["x"], tuple(op["length"] for op in found.operations), str(found.state))
        for found in experiment.list_trials()
    }


def local(store: Path, method: search.SearchMethod, **options: Any) -> search.LocalSearchRunner:
    return search.LocalSearchRunner(method, store / "search", quiet=True, slots=2, **options)


def test_a_method_decides_an_experiment(store: Path) -> None:
    method = Halving()
    runner = local(store, method)
    assert runner.run(CONFIG, command=trial(QUICK)) == 1
    with Client() as client:
        assert outcome(client) == EXPECTED
        assert client.get_experiment(1).progress == 1
    assert sorted(method.metrics.values()) == [0.0, 0.25, 0.5, 0.75]
    assert method.heard[0] == "initial" and method.heard.count("created") == TRIALS
    assert method.heard.count("validated 4") == 2 and method.heard.count("closed") == TRIALS
    assert runner.state.experiment_completed and len(runner.state.trials_closed) == TRIALS
    again = Halving()
    assert local(store, again).run(CONFIG, command=trial(QUICK)) == 1, "it is over already"
    assert again.heard == method.heard


def test_a_search_survives_kills(store: Path) -> None:
    """Of the program, at random instants."""
    chance = random.Random(3)
    command = [sys.executable, deciding.__file__, str(store / "search"), "0.15"]
    for _ in range(4):
        program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(chance.uniform(0.2, 0.6))
        program.kill()
        program.wait()
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    with Client() as client:
        assert outcome(client) == EXPECTED


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_around_a_post_decides_once(store: Path, moment: str) -> None:
    """The answer was kept, and posted or not."""
    program = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import deciding
from pathlib import Path
from detcore import client, search
real = client.Client.post_operations
posts = []
def post(self, *arguments):
    posts.append(1)
    if {moment!r} == "before" and len(posts) == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    answer = real(self, *arguments)
    if {moment!r} == "after":
        os.kill(os.getpid(), signal.SIGKILL)
    return answer
client.Client.post_operations = post
runner = search.LocalSearchRunner(deciding.Halving(), Path({str(store / "search")!r}))
runner.run(deciding.CONFIG, command=deciding.trial(deciding.QUICK))
"""
    for number in ("1", "2", "3"):
        # No pipe: `det run` lives on and keeps it open.
        command = [sys.executable, "-c", program, number]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, timeout=PATIENCE)
        assert done.returncode == -signal.SIGKILL
    method = Halving()
    local(store, method).run(CONFIG, command=trial(QUICK))
    with Client() as client:
        assert outcome(client) == EXPECTED
    assert method.heard.count("initial") == 1 and method.heard.count("created") == TRIALS


def test_a_failure_of_the_method_pauses_the_experiment(store: Path) -> None:
    class Failing(Halving):
        def on_validation_completed(self, *arguments: Any) -> list[search.Operation]:
            raise ArithmeticError("no idea")

    with pytest.raises(ArithmeticError, match="no idea"):
        local(store, Failing()).run(CONFIG, command=trial(QUICK))
    with Client() as client:
        assert client.get_experiment(1).state == "PAUSED"
        local(store, Halving()).run(CONFIG, command=trial(QUICK))
        assert outcome(client) == EXPECTED


def test_an_interrupt_pauses_the_experiment(store: Path) -> None:
    program = subprocess.Popen(
        [sys.executable, deciding.__file__, str(store / "search"), "0.15"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until((store / "search" / "current.json").exists, "the first decision")
    program.send_signal(signal.SIGINT)
    _, said = program.communicate(timeout=PATIENCE)
    assert program.returncode == -signal.SIGINT and "KeyboardInterrupt" in said
    with Client() as client:
        assert client.get_experiment(1).state == "PAUSED"


def test_a_pause_from_elsewhere_ends_the_run(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Pausing(Halving):
        def on_trial_created(self, *arguments: Any) -> list[search.Operation]:
            with Client() as client:
                client.get_experiment(1).pause()
            return []

    assert local(store, Pausing()).run(CONFIG, command=trial(QUICK)) == 1
    assert "experiment 1 is paused" in caplog.text
    local(store, Halving()).run(CONFIG, command=trial(QUICK))
    with Client() as client:
        assert outcome(client) == EXPECTED


def test_a_killed_experiment_ends_the_run(store: Path) -> None:
    class Killing(Halving):
        def on_trial_created(self, *arguments: Any) -> list[search.Operation]:
            with Client() as client:
                client.get_experiment(1).kill()
            return []

    runner = local(store, Killing())
    assert runner.run(CONFIG, command=trial(QUICK)) == 1
    assert not runner.state.experiment_completed and not runner.state.experiment_failed
    with Client() as client:
        assert client.get_experiment(1).state == "CANCELED"


def test_a_killed_det_run_is_told(store: Path) -> None:
    def kill_it(*_: object) -> list[search.Operation]:
        run = next(iter(runners))._det_run
        assert run is not None
        run._process.kill()
        run.wait()
        return []

    class Killing(Halving):
        def on_trial_created(self, *arguments: Any) -> list[search.Operation]:
            return kill_it()

    runners = [local(store, Killing())]
    with pytest.raises(detcore.Error, match="running experiment 1 by `det run`"):
        runners[0].run(CONFIG, command=trial(QUICK))
    local(store, Halving()).run(CONFIG, command=trial(QUICK))
    with Client() as client:
        assert outcome(client) == EXPECTED


def test_an_experiment_that_runs_elsewhere(store: Path) -> None:
    file = store / "experiment.json"
    file.write_text(json.dumps(CONFIG))
    process = subprocess.Popen(
        [os.environ["DETCORE_COMMAND"], "run", str(file), "--", *trial(QUICK)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: (store / ".detcore").exists() and experiments(), "the experiment")
        method = Halving()
        assert search.ExperimentSearchRunner(method, store / "search").run(1) == 1
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
    with Client() as client:
        assert outcome(client) == EXPECTED
    with pytest.raises(RuntimeError, match="experiment 1, not of 7"):
        search.ExperimentSearchRunner(method, store / "search").run(7)


def experiments() -> list[Any]:
    try:
        with Client() as client:
            return list(client.list_experiments())
    except detcore.Error:
        return []


def test_trials_that_leave_early_are_told(store: Path) -> None:
    method = Halving()
    config = {**CONFIG, "max_restarts": 0}
    local(store, method).run(config, command=["sh", "-c", "exit 3"])
    assert method.heard.count("exited ERRORED") == TRIALS


def test_a_directory_is_for_one_runner(store: Path) -> None:
    seen: list[BaseException] = []

    class Reentrant(Halving):
        def initial_operations(self, state: search.SearcherState) -> list[search.Operation]:
            other = threading.Thread(target=self.try_again)
            other.start()
            other.join(30)
            return super().initial_operations(state)

        def try_again(self) -> None:
            try:
                local(store, Halving()).run(CONFIG, command=trial(QUICK))
            except detcore.Error as failure:
                seen.append(failure)

    local(store, Reentrant()).run(CONFIG, command=trial(QUICK))
    assert len(seen) == 1 and "another program runs it" in str(seen[0])


class Unpicklable(Halving):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


@pytest.mark.parametrize(
    ("method", "config", "kind", "text"),
    [
        (Halving, {"name": "x", "searcher": {"name": "random"}}, ValueError, "must be 'custom'"),
        (Halving, {"name": "x"}, ValueError, "must be 'custom'"),
        (Halving, {**CONFIG, "max_restarts": -1}, detcore.Error, "max_restarts"),
        (Halving, "/no/such/file.yaml", FileNotFoundError, "no/such"),
        (Unpicklable, CONFIG, TypeError, "save_method_state"),
        (dict, CONFIG, TypeError, "must be a SearchMethod"),
    ],
)
def test_bad_input(
    store: Path,
    method: Callable[[], Any],
    config: Any,
    kind: type[Exception],
    text: str,
) -> None:
    with pytest.raises(kind, match=text):
        local(store, method()).run(config, command=trial(QUICK))


def test_a_yaml_file_is_read(store: Path) -> None:
    file = store / "experiment.yaml"
    file.write_text("name: yaml\nlabels: [mine]\nsearcher: {name: custom, metric: loss}\n")
    local(store, Halving()).run(file, command=trial(QUICK))
    with Client() as client:
        assert outcome(client) == EXPECTED
        assert "mine" in client.get_experiment(1).labels


def test_no_command_says_what_to_do(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DETCORE_COMMAND", "/no/such/det")
    with pytest.raises(FileNotFoundError, match="/no/such/det"):
        local(store, Halving()).run(CONFIG, command=["true"])


def test_spoiled_state_is_told(store: Path) -> None:
    (store / "search").mkdir()
    (store / "search" / "current.json").write_text("{")
    with pytest.raises(detcore.Error, match="is not what was written"):
        local(store, Halving()).run(CONFIG, command=["true"])


@pytest.mark.parametrize(
    ("name", "text"), [("runner.json", "{}"), ("runner.json", "[]"), ("method.pickle", "")]
)
def test_a_spoiled_part_of_the_state_is_told(store: Path, name: str, text: str) -> None:
    runner = local(store, Halving())
    runner._keep()
    (kept,) = (store / "search").glob(f"state-*/{name}")
    kept.write_text(text)
    with pytest.raises(CorruptError, match=str(kept.parent)):
        local(store, Halving()).run(CONFIG, command=["true"])


@pytest.mark.parametrize("answer", [None, ["x"], "x"])
def test_an_answer_that_is_no_list_of_operations(store: Path, answer: Any) -> None:
    class Wrong(Halving):
        def initial_operations(self, searcher_state: search.SearcherState) -> Any:
            return answer

    with pytest.raises(TypeError, match="Wrong must answer initialOperations with a list of oper"):
        local(store, Wrong()).run(CONFIG, command=trial(QUICK))


def test_hyperparameters_of_numpy() -> None:
    created = search.Create(uuid.uuid4(), {"w": np.int64(3), "r": np.float32(0.5)}).to_json()
    assert json.loads(created["createTrial"]["hyperparams"]) == {"w": 3, "r": 0.5}


@pytest.mark.parametrize(
    "operation",
    [
        lambda: search.ValidateAfter(uuid.uuid4(), "5"),  # type: ignore[arg-type]
        lambda: search.ValidateAfter(uuid.uuid4(), 0),
        lambda: search.ValidateAfter(uuid.uuid4(), 1.5),  # type: ignore[arg-type]
        lambda: search.Create(uuid.uuid4(), {"x": float("nan")}),
        lambda: search.Create("not a uuid", {}),  # type: ignore[arg-type]
        lambda: search.Close("1"),  # type: ignore[arg-type]
        lambda: search.Progress(float("inf")),
    ],
)
def test_operations_that_are_none(operation: Callable[[], search.Operation]) -> None:
    with pytest.raises((ValueError, TypeError)):
        operation().to_json()


def test_the_state_is_the_same_after_a_restart() -> None:
    one, two = uuid.uuid4(), uuid.uuid4()
    state = search.SearcherState({one}, {one: 0.5}, {two}, {one, two}, 7, False, True)
    restored = search.SearcherState()
    restored.from_dict(d=json.loads(json.dumps(state.to_dict())))
    assert restored == state
