#!/usr/bin/env python3
"""Kills a program of examples/languages that trains a model of layers, starts it again each time, and compares
its weights with those of one that nobody has killed: test_models.py [--seed N] PROGRAM... Speaks TAP."""

import argparse
import os
import random
import signal
import subprocess
import tempfile
import time

import tap

LENGTH = 400  # steps, as every program has it
KILLS = 4


class Training:
    """A program that was trained undisturbed, and one that was killed; the lines of both."""

    def __init__(self, program, home, seed):
        self.program, self.home = program, home
        self.environment = {name: text for name, text in os.environ.items()
                            if not name.startswith("DET_")}
        began = time.monotonic()
        self.undisturbed = self.end("undisturbed")
        whole = time.monotonic() - began
        self.chance = random.Random(seed)
        for _ in range(KILLS):
            self.kill(self.chance.uniform(0, whole))
        self.killed = self.end("killed")
        self.again = self.end("killed")

    def start(self, name):
        return subprocess.Popen(self.program, stdout=subprocess.PIPE, text=True,
                                env={**self.environment, "DET_HOME": os.path.join(self.home, name)})

    def end(self, name):
        process = self.start(name)
        output, _ = process.communicate(timeout=tap.PATIENCE)
        assert process.returncode == 0, process.returncode
        return output.splitlines()

    def kill(self, after):
        process = self.start("killed")
        time.sleep(after)
        process.kill()
        process.communicate()
        assert process.returncode in (-signal.SIGKILL, 0), process.returncode


def it_learns_the_digits(training):
    first, result, last = training.undisturbed
    assert first == "from 0" and last == f"to {LENGTH}", training.undisturbed
    assert float(result.split()[1].rstrip(",")) > 0.9, result


def killed_it_ends_with_the_same_weights(training):
    results = [line for line in training.killed if line.startswith("accuracy")]
    # Killed at its very end it had said so already.
    assert results in ([training.undisturbed[1]], []), (training.killed, training.undisturbed)
    assert training.killed[-1] == f"to {LENGTH}", training.killed


def what_is_complete_is_not_trained_again(training):
    assert training.again == [f"from {LENGTH}", f"to {LENGTH}"], training.again


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    print(f"# --seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="det-models-") as home:
        training = Training(options.program, home, options.seed)
        tap.run([
            it_learns_the_digits,
            killed_it_ends_with_the_same_weights,
            what_is_complete_is_not_trained_again,
        ], training)


main()
