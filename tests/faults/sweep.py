#!/usr/bin/env python3
"""Lets every system call of a trial's life fail, with each error that it can give, or be its last.

  sweep.py FOLDER [--all | --draw N] [--errors | --kills] [--lasting] [--seed S] [--jobs N]
           [--only CALL[:ERROR[:NUMBER]]] [--without CALL,...] [--master VERSION] [--load N] [--words]

FOLDER is where inject and faults_trial were built. After each life a clean next start must find
everything that had been answered, nothing else, and go on (see docs/faults.md). --all takes an hour of
one processor; --draw takes some of it, by a seed that is printed. --lasting: from that call on all of the
kind fail. --master: with a stand-in for a real one, such as 0.38.1, instead of a store. --load: with
so many busy loops beside it. --words prints how failures are told.
"""

import argparse
import collections
import concurrent.futures
import os
import random
import sys
import time

sys.dont_write_bytecode = True

import masters  # noqa: E402
from lives import PATIENCE, Programs  # noqa: E402
from load import busy_loops  # noqa: E402


def faults_of(programs, options):
    """Every fault there is: CALL:ERROR:NUMBER."""
    calls = programs.calls()
    counts = collections.Counter()
    for _ in range(3):  # threads make it a little different each time
        for name, count in programs.count().items():
            counts[name] = max(counts[name], count)
    total = sum(counts.values())
    print(f"# {total} calls of {len(counts)} kinds in one life", flush=True)
    more = "+" if options.lasting else ""
    faults = []
    if not options.kills:
        faults += [f"{name}:{error}:{number}{more}" for name, count in counts.items()
                   if name not in options.without.split(",")
                   for error in calls[name] for number in range(1, count + 1)]
    if not options.errors:
        faults += [f"any:KILL:{number}" for number in range(1, total + 1)]
    return [fault for fault in faults
            if not options.only or (fault + ":").startswith(options.only + ":")]


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--draw", type=int, default=200)
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--kills", action="store_true")
    parser.add_argument("--lasting", action="store_true")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only")
    parser.add_argument("--without", default="")
    parser.add_argument("--master")
    parser.add_argument("--limit", type=float, default=PATIENCE)
    parser.add_argument("--load", type=int, default=0)
    parser.add_argument("--words", action="store_true")
    return parser.parse_args()


def main():
    options = parse()
    _server, url = masters.start(options.master) if options.master else (None, None)
    programs = Programs(options.folder, options.limit, url)
    if not programs.can_inject():
        print("skipped: this kernel does not tell us about the calls of our children")
        sys.exit(77)
    faults = faults_of(programs, options)
    if not options.all and not options.only:
        print(f"# seed {options.seed}", flush=True)
        faults = random.Random(options.seed).sample(faults, min(options.draw, len(faults)))
    findings, words, hit = collections.defaultdict(list), collections.Counter(), 0
    slowest = (0.0, "")
    with busy_loops(options.load), concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, life in enumerate(pool.map(programs.live, faults), 1):
            hit += life.hit != ""
            slowest = max(slowest, (life.seconds, life.fault))
            words.update((life.fault.split(":")[1], word) for word in life.words)
            for what in life.wrong:
                if what not in findings:
                    print(f"not so: {life.fault} ({life.hit}): {what}", flush=True)
                findings[what].append(life.fault)
            if number % 500 == 0:
                print(f"# {number} of {len(faults)}", flush=True)
    for (error, word), count in sorted(words.items()) if options.words else []:
        print(f"{count:5} {error}: {word}")
    for what, where in findings.items():
        print(f"{len(where):5} × {what}: {' '.join(where[:6])}")
    print(f"{len(faults)} lives, {hit} hit by their fault, {sum(map(len, findings.values()))} "
          f"findings of {len(findings)} kinds; the slowest took {slowest[0]:.1f} s ({slowest[1]})")
    sys.exit(bool(findings))


main()
