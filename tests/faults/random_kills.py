#!/usr/bin/env python3
"""Kills programs at random instants, many times, and looks for all that they had been promised.

  random_kills.py DET MAKE_STORE TRAINEE TEST_CRASH [--trial N] [--search N] [--seed S] [--load N]

--trial: so many kills of a program that reports and saves; --search: of `det run` and its trials,
whose search must end as if nobody had killed it. The seed is printed, and goes up with each store.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

if len(sys.argv) < 5 or {"-h", "--help"} & set(sys.argv):
    sys.exit(__doc__)  # before the imports below take the first arguments for theirs

sys.dont_write_bytecode = True
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

from load import busy_loops  # noqa: E402
from running import ASHA, config, kills_of_a_search, run, what_is_kept  # noqa: E402
from harness import Store  # noqa: E402

KILLS_OF_ONE_STORE = 400


def kill_trials(program, kills, seed):
    """Gives what had been acknowledged: reports and commits."""
    reports = commits = 0
    while kills > 0:
        lot = min(kills, KILLS_OF_ONE_STORE)
        done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "DET_CRASH_KILLS": str(lot),
                                   "DET_CRASH_SEED": str(seed), "CMOCKA_MESSAGE_OUTPUT": "TAP"})
        if done.returncode != 0:
            sys.exit(f"not so with DET_CRASH_KILLS={lot} DET_CRASH_SEED={seed}:\n{done.stdout}")
        for line in done.stdout.splitlines():
            words = line.split()
            reports += int(words[1]) if line.endswith("reports had returned") else 0
            commits += int(words[1]) if "commits had returned" in line else 0
        kills -= lot
        seed += 1
        print(f"# {kills} kills of trials to go", flush=True)
    return reports, commits


def kill_searches(kills, seed):
    """Gives the kills and the searches."""
    text = config({**ASHA, "max_concurrent_trials": 1})
    alone = Store()
    run(alone, text, slots="1")
    expected = what_is_kept(alone)
    alone.clean()
    done = searches = 0
    while done < kills:
        done += kills_of_a_search(text, expected, seed + searches, longest=0.3)
        searches += 1
        if searches % 10 == 0:
            print(f"# {done} kills of {searches} searches", flush=True)
    return done, searches


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("det", "make_store", "trainee", "test_crash"):
        parser.add_argument(name)
    for name, default in (("trial", 0), ("search", 0), ("seed", int(time.time())), ("load", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    print(f"# seed {options.seed}", flush=True)
    with busy_loops(options.load):
        if options.trial:
            reports, commits = kill_trials(options.test_crash, options.trial, options.seed)
            print(f"{options.trial} kills: all of {reports} reports and {commits} commits are there")
        if options.search:
            kills, searches = kill_searches(options.search, options.seed)
            print(f"{kills} kills: all of {searches} searches ended as if there had been none")


main()
