#!/usr/bin/env python3
"""A trial of a search with its record in SQLite: ours against Optuna's, for random search with two
hyperparameters.
   bench_supervisor.py BENCH_SUPERVISOR FOLDER [TRIALS]

On our side a trial is its result, the decision, its end, the next trial with its hyperparameters,
and the start of its run. On Optuna's it is ask(), two values and tell(). Both databases have a
write-ahead log.

- Nothing synced (PRAGMA synchronous=NORMAL): the supervisor's work, and a trial of Optuna.
- The result synced: our trial syncs that alone. Optuna syncs each commit (synchronous=FULL)."""
import subprocess
import sys

from row import row
from upstream import install

OPTUNA = "optuna==4.5.0"
RIVAL = """
import statistics, sys, tempfile, time
import optuna, sqlalchemy
synchronous = sys.argv[2]
optuna.logging.set_verbosity(optuna.logging.ERROR)

@sqlalchemy.event.listens_for(sqlalchemy.engine.Engine, "connect")
def connected(connection, _):
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={synchronous}")

with tempfile.TemporaryDirectory() as folder:
    study = optuna.create_study(storage=f"sqlite:///{folder}/store.db",
                                sampler=optuna.samplers.RandomSampler(seed=7))
    times = []
    for _ in range(int(sys.argv[1])):
        start = time.perf_counter()
        trial = study.ask()
        x, n = trial.suggest_float("x", 0, 1), trial.suggest_int("n", 1, 100)
        study.tell(trial, x / 11)
        times.append(time.perf_counter() - start)
    print(statistics.median(times[:400]), statistics.median(times[-400:]))
"""


def run(*command):
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split() for line in lines]


def main():
    program, folder = sys.argv[1:3]
    trials = int(sys.argv[3]) if len(sys.argv) > 3 else 100_000
    ours = {}
    for method, behind, *medians in run(program, str(trials)):
        decision, supervision, cycle = map(float, medians)
        ours.setdefault(method, []).append((supervision, cycle))
        print(f"{method} behind {behind} trials: decision {1e6 * decision:.0f} us, with the end of"
              f" the trial and the start of the next {1e6 * supervision:.0f} us, with the trial's"
              f" own records {1e6 * cycle:.0f} us")
    for method, (first, last) in ours.items():
        row(f"search cycle, {method}, behind {trials} trials", last[1], "behind none", first[1],
            goal=2)
    python = install(folder, OPTUNA)
    if python is None:
        return
    few = max(trials // 100, 400)  # with as many as ours it would take hours
    first, last = ours["random"]
    for place, (what, synchronous) in enumerate([("nothing synced", "NORMAL"),
                                                 ("the result synced", "FULL")]):
        theirs = run(python, "-c", RIVAL, str(few), synchronous)[0]
        row(f"search cycle, first trials, {what}", first[place],
            "Optuna, SQLite", float(theirs[0]), goal=1)
        row(f"search cycle, behind {trials} trials, {what}", last[place],
            f"Optuna, SQLite, behind {few}", float(theirs[1]), goal=1)


main()
