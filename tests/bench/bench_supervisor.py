#!/usr/bin/env python3
"""Decisions of a search with their record in SQLite: ours against Optuna's, on the same objective.
   bench_supervisor.py BENCH_SUPERVISOR FOLDER [TRIALS]"""
import subprocess
import sys

from upstream import install

OPTUNA = "optuna==4.5.0"
RIVAL = """
import statistics, sys, tempfile, time
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
with tempfile.TemporaryDirectory() as folder:
    study = optuna.create_study(storage=f"sqlite:///{folder}/store.db",
                                sampler=optuna.samplers.RandomSampler(seed=7))
    times = []
    for _ in range(int(sys.argv[1])):
        start = time.perf_counter()
        trial = study.ask()
        x, n = trial.suggest_float("x", 0, 1), trial.suggest_int("n", 1, 100)
        study.tell(trial, x / 11)
        times.append((time.perf_counter() - start) * 1000)
    print(statistics.median(times[:200]), statistics.median(times[-200:]))
"""


def main():
    program, folder = sys.argv[1:3]
    trials = sys.argv[3] if len(sys.argv) > 3 else "100000"
    ours = subprocess.run([program, trials], check=True, capture_output=True, text=True).stdout
    print(ours, end="")
    python = install(folder, OPTUNA)
    if python is None:
        return
    # A hundredth of ours: it would take hours.
    some = max(int(trials) // 100, 400)
    first, last = map(float, subprocess.run([python, "-c", RIVAL, str(some)], check=True,
                                            capture_output=True, text=True).stdout.split())
    mine = float(next(line for line in ours.splitlines() if line.startswith("random")).split()[2])
    print(f"{OPTUNA}, random: a trial {first:.2f} ms at the start, {last:.2f} ms behind {some} "
          f"trials; ours is {first / mine:.0f} x faster")


main()
