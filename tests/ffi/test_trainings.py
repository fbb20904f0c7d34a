#!/usr/bin/env python3
"""Kills a training of examples/languages at random moments, starts it again each time, and compares
what is in the store with what it would be if nobody had: test_trainings.py [--seed N] DET PROGRAM...
Speaks TAP."""

import argparse
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from ctypes import c_int64

import tap
from client import Client

# As every program has them.
LENGTH, RATE = 2000, 1 / 128
KILLS = 6
# Seconds that a run trains at most before something happens to it. A step takes a millisecond at
# least, so that all of it happens before the end.
LONGEST_RUN = 0.15

SEARCH = {
    "name": "languages",
    "searcher": {"name": "adaptive_asha", "metric": "loss", "max_length": 60, "max_trials": 4,
                 "mode": "aggressive", "divisor": 4, "max_rungs": 2},
    "hyperparameters": {
        "rate": {"type": "categorical", "vals": [1 / 4, 1 / 8, 1 / 16, 1 / 32]}},
    "max_restarts": 0,
}


def exact_curve(rate, length):
    weight, points = 0.0, []
    for step in range(1, length + 1):
        weight += rate * (1 - weight)
        points.append((step, 1 - weight))
    return points


class Training:
    """A program that was killed and paused, and at last trained to its end; where it began each
    time, beside what was in the store before; and a search over it."""

    def __init__(self, det, program, home, seed):
        self.det, self.program = det, program
        self.home = os.path.join(home, "killed")
        self.environment = {name: text for name, text in os.environ.items()
                            if not name.startswith("DET_")}
        # Each checkpoint stays, to be compared with where the starts began.
        keep = {"checkpoint_storage": {"save_trial_latest": 1000}}
        self.environment["DET_EXPERIMENT_CONFIG"] = json.dumps(keep)
        self.starts = []
        chance = random.Random(seed)
        ends = [self.kill] * (KILLS - 1) + [self.kill_early, self.pause]
        chance.shuffle(ends)
        for end in ends:
            end(chance)
        self.end = self.last_line(self.begin())
        self.search_home = os.path.join(home, "search")
        self.search = self.run_det(self.search_home, "run", "-", "--", *program,
                                   input=json.dumps(SEARCH))

    def start(self):
        return subprocess.Popen(self.program, stdout=subprocess.PIPE, text=True,
                                env={**self.environment, "DET_HOME": self.home})

    def begin(self):
        """A process that trains."""
        before = max(self.checkpoints(), default=0)
        process = self.start()
        word, step = process.stdout.readline().split()
        assert word == "from", word
        self.starts.append((before, int(step)))
        return process

    def kill(self, chance):
        process = self.begin()
        time.sleep(chance.uniform(0, LONGEST_RUN))
        self.kill_now(process)

    def kill_early(self, chance):
        """Kills as likely as not before the training has begun."""
        process = self.start()
        time.sleep(chance.uniform(0, LONGEST_RUN))
        self.kill_now(process)

    def kill_now(self, process):
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL, process.returncode

    def pause(self, chance):
        process = self.begin()
        time.sleep(chance.uniform(0, LONGEST_RUN))
        self.run_det(self.home, "pause", "1")
        self.paused_at = self.last_line(process, status=75)
        self.state_when_paused = self.ask("get_trial", c_int64(1))["state"]

    def last_line(self, process, status=0):
        output, _ = process.communicate(timeout=tap.PATIENCE)
        assert process.returncode == status, process.returncode
        word, step = output.split()
        assert word == "to", output
        return int(step)

    def run_det(self, home, *arguments, input=""):
        return subprocess.run([self.det, *arguments], env={**self.environment, "DET_HOME": home},
                              input=input, check=True, text=True, stdout=subprocess.PIPE).stdout

    def ask(self, *arguments):
        with Client(self.home) as client:
            return client.ask(*arguments)

    def checkpoints(self):
        """The steps of those that can be restored."""
        if not os.path.exists(self.home):
            return []
        return [checkpoint["steps_completed"]
                for checkpoint in self.ask("list_checkpoints", c_int64(0), None)["checkpoints"]
                if checkpoint["state"] == "COMPLETED"]


def each_start_goes_on_from_the_latest_checkpoint(training):
    checkpoints = {0, *training.checkpoints()}
    for before, start in training.starts:
        assert start >= before and start in checkpoints, training.starts


def pause_is_answered_with_a_checkpoint(training):
    assert training.state_when_paused == "PAUSED", training.state_when_paused
    assert 0 < training.paused_at < LENGTH, training.paused_at
    assert training.paused_at in training.checkpoints()


def every_run_ended_as_it_did(training):
    runs = training.ask("get_trial", c_int64(1))["runs"]
    exits = [run["exit"] for run in runs]
    assert exits[-1] == "ok", exits
    assert exits.count("preempted") == 1, exits
    assert KILLS - 1 <= exits.count("died") == len(exits) - 2, exits


def each_step_is_in_the_store_once_with_its_exact_value(training):
    expected = exact_curve(RATE, LENGTH)
    assert training.end == LENGTH, training.end
    with Client(training.home) as client:
        got = client.curve(1, "training", "loss")
        assert got == expected, [pair for pair in zip(got, expected) if pair[0] != pair[1]][:3]
        assert client.curve(1, "validation", "loss") == expected[-1:]


def trial_and_experiment_are_completed(training):
    assert training.ask("get_trial", c_int64(1))["state"] == "COMPLETED"
    assert training.ask("get_experiment", c_int64(1))["state"] == "COMPLETED"


def search_trains_each_trial_as_far_as_it_is_asked_to(training):
    with Client(training.search_home) as client:
        assert client.ask("get_experiment", c_int64(1))["state"] == "COMPLETED", training.search
        trials = [client.ask("get_trial", c_int64(1 + i)) for i in range(4)]
        lengths = [[op["length"] for op in trial["operations"]] for trial in trials]
        assert sorted(lengths) == [[15], [15], [15], [15, 60]], lengths
        for trial, length in zip(trials, lengths):
            expected = exact_curve(trial["hparams"]["rate"], length[-1])
            assert client.curve(trial["id"], "training", "loss") == expected, trial
        assert client.ask("best_trial", c_int64(1))["trial"]["steps_completed"] == 60


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("det")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    print(f"# --seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="det-languages-") as home:
        training = Training(options.det, options.program, home, options.seed)
        tap.run([
            each_start_goes_on_from_the_latest_checkpoint,
            pause_is_answered_with_a_checkpoint,
            every_run_ended_as_it_did,
            each_step_is_in_the_store_once_with_its_exact_value,
            trial_and_experiment_are_completed,
            search_trains_each_trial_as_far_as_it_is_asked_to,
        ], training)


main()
