"""Experiments for the tests of `det run`, and looks into the store while one runs."""
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

from harness import DET, PATIENCE, Store

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


def hold(store):
    """A file that holds up the trials that are started with TRAINEE_HOLD until it is removed."""
    path = os.path.join(store.home, "hold")
    with open(path, "w"):
        return path


def rows(store, sql):
    with sqlite3.connect(store.home + "/.detcore/store.db") as database:
        return database.execute(sql).fetchall()


def has(store, sql):
    """Whether there is such a row; the store may be in the making."""
    try:
        return os.path.exists(store.home + "/.detcore/store.db") and bool(rows(store, sql))
    except sqlite3.OperationalError:
        return False


def wait_until(holds, what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"waited too long for {what}"
        time.sleep(0.02)


def trials(store):
    return rows(store, "SELECT request_id, hparams, state, (SELECT group_concat(length) FROM"
                       " operations WHERE trial_id=trials.id) FROM trials ORDER BY request_id")


def what_is_kept(store):
    """The whole of a search, and which of its checkpoints stay."""
    stay = rows(store, "SELECT request_id, checkpoints.steps FROM checkpoints JOIN trials ON"
                       " trials.id=trial_id WHERE checkpoints.state='COMPLETED' ORDER BY 1, 2")
    unfinished = rows(store, "SELECT COUNT(*) FROM operations WHERE completed IS NULL")
    return trials(store), rows(store, "SELECT state FROM experiments"), unfinished, stay


def kills_of_a_search(text, expected, seed, longest=0.6, command=(TRAINEE,)):
    """How many kills a search survived; what is kept must be as if there had been none."""
    store = Store()
    try:
        # A trial that is killed too often is an error of its own.
        path = write(store, json.dumps({**json.loads(text), "max_restarts": 1000}))
        kills, out = kill_at_random(store, seed, [path, "--slots", "1", "--", *command], longest)
        assert what_is_kept(store) == expected, (seed, kills, what_is_kept(store), expected, out)
        return kills
    finally:
        store.clean()


def kill_at_random(store, seed, arguments, seconds):
    """Kills `det run` and its trials at random instants, until it ends by itself."""
    chance = random.Random(seed)
    kills = 0
    process = start(store, *arguments, TRAINEE_MS="5")
    while True:
        try:
            # Longer and longer, so that a slow machine gets somewhere as well.
            out = process.communicate(timeout=chance.uniform(0.05, seconds + kills * 0.05))[0]
            # It may have been killed after it was done.
            if process.returncode == 0 or "is COMPLETED" in out:
                return kills, out
            assert process.returncode < 0, out
        except subprocess.TimeoutExpired:
            pass
        if chance.random() < 0.5 and has(store, "SELECT 1 FROM runs WHERE leader IS NOT NULL"):
            for (leader,) in rows(store, "SELECT leader FROM runs WHERE leader IS NOT NULL"):
                pid = json.loads(leader)["pid"]
                if pid > 1 and process.pid != pid and is_trainee(pid):
                    os.kill(pid, signal.SIGKILL)
        process.kill()
        process.communicate()
        kills += 1
        has_one = has(store, "SELECT 1 FROM experiments")
        process = start(store, *(["--resume", "1", "--slots", "1"] if has_one else arguments),
                        TRAINEE_MS="5")


def is_trainee(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return TRAINEE.encode() in file.read()
    except OSError:
        return False
