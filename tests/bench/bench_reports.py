#!/usr/bin/env python3
"""200,000 reports, read as a table and as JSON by whole processes: bench_reports.py DET.

The rival is Python with its modules sqlite3 and json: it reads the same store, and prints the same.
"""

import datetime
import json
import os
import pathlib
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

from row import row

REPORTS = 200_000
ROUNDS = 5
NAMES = ["loss", "accuracy", "learning_rate", "gradient_norm"]
QUERY = (
    "SELECT metric_group, steps, run_id, rank, time, metrics, batches FROM metrics"
    " INDEXED BY metrics_by_trial WHERE trial_id=1 AND archived=0 ORDER BY id"
)


def make_store(home):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "wrappers" / "python"))
    os.environ["DET_HOME"] = home
    import detcore

    numbers = random.Random(1)
    with detcore.core.init() as core:
        for step in range(1, REPORTS + 1):
            core.train.report_training_metrics(step, {name: numbers.random() for name in NAMES})


def print_table(rows):
    line = "{:8}  {:>6}" + "  {:>13}" * len(NAMES) + "\n"
    sys.stdout.write(line.format("GROUP", "STEPS", *NAMES))
    for group, steps, _, _, _, metrics, _ in rows:
        values = json.loads(metrics)
        cells = [f"{values[name]:.6g}" if name in values else "" for name in NAMES]
        sys.stdout.write(line.format(group, steps, *cells))


def print_json(rows):
    for group, steps, run, rank, microseconds, metrics, batches in rows:
        moment = datetime.datetime.fromtimestamp(microseconds / 1e6, datetime.timezone.utc)
        report = {
            "group": group,
            "steps_completed": steps,
            "trial_run_id": run,
            "rank": rank,
            "time": moment.isoformat(timespec="microseconds"),
            "metrics": json.loads(metrics),
            "batch_metrics": json.loads(batches) if batches else None,
        }
        sys.stdout.write(json.dumps(report, separators=(",", ":"), ensure_ascii=False) + "\n")


def read_as_rival(form, home):
    store = sqlite3.connect(f"file:{home}/.detcore/store.db?mode=ro", uri=True)
    {"table": print_table, "json": print_json}[form](store.execute(QUERY))


def check_same(commands, form):
    """Both print the same words, or the same values."""
    read = json.loads if form == "json" else str.split
    ours, theirs = (
        [read(line) for line in subprocess.check_output(command, text=True).splitlines()]
        for command in commands
    )
    if ours != theirs:
        sys.exit(f"benchmark: the two differ in what they print as {form}")


def seconds_of(command):
    begin = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def main(det):
    with tempfile.TemporaryDirectory() as home:
        make_store(home)
        for form, shown, options in [("table", "a table", []), ("json", "JSON", ["--json"])]:
            commands = [
                [det, "-m", home, "metrics", "1", *options],
                [sys.executable, __file__, "--rival", form, home],
            ]
            check_same(commands, form)
            rounds = [[seconds_of(command) for command in commands] for _ in range(ROUNDS)]
            ours, theirs = map(statistics.median, zip(*rounds))
            row(
                f"{REPORTS:,} reports as {shown}",
                ours,
                "sqlite3 and json of Python",
                theirs,
                goal=0.43,
            )


if __name__ == "__main__":
    if sys.argv[1] == "--rival":
        read_as_rival(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
