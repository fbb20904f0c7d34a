"""Experiments for the tests of `det run`, and looks into the store while one runs."""
import json
import os
import sqlite3
import subprocess
import sys
import time

from harness import DET

TRAINEE = sys.argv[3]


def config(searcher, **more):
    return json.dumps({
        "name": "tests", "searcher": {"metric": "loss", "smaller_is_better": True, **searcher},
        "hyperparameters": {"x": {"type": "double", "minval": 0, "maxval": 1}},
        "reproducibility": {"experiment_seed": 5}, "max_restarts": 2, **more})


RANDOM = {"name": "random", "max_trials": 6, "max_concurrent_trials": 3, "max_length": {"batches": 4}}
ASHA = {"name": "adaptive_asha", "max_trials": 12, "max_concurrent_trials": 4, "divisor": 2,
        "max_rungs": 3, "max_length": {"batches": 16}}
SINGLE = {"name": "single", "max_length": {"batches": 6}}


def write(store, text):
    path = os.path.join(store.home, "experiment.yaml")
    with open(path, "w") as file:
        file.write(text)
    return path


def run(store, text, *command, slots="2", expect=0, **env):
    return store.run_loudly("run", write(store, text), "--slots", slots, "--", TRAINEE, *command,
                            expect=expect, env=env)


def start(store, *arguments, **env):
    process = subprocess.Popen([DET, "run", *arguments], env={**store.env, **env},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    store.processes.append(process)
    return process


def rows(store, sql):
    with sqlite3.connect(store.home + "/.detcore/store.db") as database:
        return database.execute(sql).fetchall()


def has(store, sql):
    """Whether there is such a row; the store may be in the making."""
    try:
        return os.path.exists(store.home + "/.detcore/store.db") and bool(rows(store, sql))
    except sqlite3.OperationalError:
        return False


def wait_until(holds, what, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"waited too long for {what}"
        time.sleep(0.02)
