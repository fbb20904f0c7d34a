"""Trials in C++ under `det run`: chosen by their names, searched, killed and gone on with, alone and over ranks.

usage: test_det_run.py PROGRAM MPIRUN DET. Says so in TAP."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from trial_runs import PATIENCE, arguments, mpirun, program, tell

det = os.path.abspath(arguments[0])


def config(trial, metric, learning_rate=0.001, **more):
    lines = {"name": "programs", "entrypoint": [os.path.abspath(program), trial],
             "searcher": {"name": "single", "metric": metric, "max_length": {"batches": 12}},
             "hyperparameters": {"global_batch_size": 4, "learning_rate": learning_rate},
             "scheduling_unit": 4, "min_validation_period": {"batches": 4}, "min_checkpoint_period": {"batches": 4},
             "max_restarts": 2, "reproducibility": {"experiment_seed": 3}, **more}
    return json.dumps(lines)


class Home:
    def __init__(self, folder, text):
        self.folder = pathlib.Path(folder)
        self.file = self.folder / "config.json"
        self.file.write_text(text)
        self.environment = {**os.environ, "DET_HOME": f"{folder}/store"}

    def start(self, *given, **environment):
        return subprocess.Popen([det, "run", *given], env={**self.environment, **environment}, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, cwd=self.folder)

    def run(self, *given, **environment):
        running = self.start(*given, **environment)
        said, _ = running.communicate(timeout=PATIENCE)
        assert running.returncode == 0, said
        return said

    def metrics(self, trial=1, group="validation"):
        said = subprocess.run([det, "export", str(trial), "--format", "jsonl"], env=self.environment, check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        rows = [json.loads(line) for line in said.splitlines()]
        return [(row["steps_completed"], row["metrics"]) for row in rows if row["group"] == group]


def metrics_of(text, *given, **environment):
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder, text)
        if "DIE_ONCE" in environment:
            environment["DIE_ONCE"] = f"{folder}/died"
        home.run(str(home.file), *given, **environment)
        assert ("DIE_ONCE" in environment) == pathlib.Path(folder, "died").exists()
        return home.metrics()


def chooses_trials_by_their_names():
    ramp, linear = metrics_of(config("RampTrial", "val_loss")), metrics_of(config("LinearTrial", "loss"))
    assert len(ramp) == 3 and "val_loss" in json.dumps(ramp), ramp
    assert len(linear) == 3 and "average_loss" in json.dumps(linear), linear


def searches_without_those_that_cannot_be_trained():
    rates = {"type": "categorical", "vals": [0.001, 2, 0.002]}
    search = {"name": "grid", "metric": "val_loss", "max_length": {"batches": 4}}
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder, config("RampTrial", "val_loss", rates, searcher=search))
        home.run(str(home.file), "--slots", "2")
        assert [len(home.metrics(trial)) for trial in (1, 2, 3)].count(1) == 2


def goes_on_after_a_kill_as_if_there_was_none():
    text = config("RampTrial", "val_loss")
    killed, whole = metrics_of(text, DIE_ONCE=""), metrics_of(text)
    assert killed == whole, (killed, whole)


def goes_on_where_det_run_was_killed():
    text = config("RampTrial", "val_loss", searcher={"name": "single", "metric": "val_loss", "max_length": {"batches": 40}})
    whole = metrics_of(text)
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder, text)
        running = home.start(str(home.file), DIE_ONCE=f"{folder}/died")
        while not pathlib.Path(folder, "died").exists() and running.poll() is None:
            time.sleep(0.01)
        running.send_signal(signal.SIGKILL)
        running.communicate()
        home.run("--resume", "1")
        found = home.metrics()
    assert found == whole, (found, whole)


def ranks_go_on_after_one_was_killed():
    text = config("RampTrial", "val_loss", resources={"slots_per_trial": 2})
    killed, whole = metrics_of(text, "--slots", "2", DIE_ONCE=""), metrics_of(text, "--slots", "2")
    assert killed == whole, (killed, whole)


checks = [chooses_trials_by_their_names, searches_without_those_that_cannot_be_trained,
          goes_on_after_a_kill_as_if_there_was_none, goes_on_where_det_run_was_killed]
if mpirun:
    checks.append(ranks_go_on_after_one_was_killed)
tell(checks)
