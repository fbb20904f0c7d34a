#!/usr/bin/env python3
"""Two nodes with a bad cable between them, which is slow, loses frames and is cut: for the ranks of a job,
and for a trial whose master is on the other one.

  nodes.py FOLDER JOB_RANK [--lives N] [--seed S] [--load N]

FOLDER is where faults_trial was built, JOB_RANK the program of tests/comm. Root only.
"""

import argparse
import os
import random
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True

import masters  # noqa: E402
from cable import Cable  # noqa: E402
from lives import PATIENCE, Place, Programs, judge_end, read_ledger  # noqa: E402
from load import busy_loops  # noqa: E402

RANKS = 4  # two on each node


def start_job(cable, program, rounds, timeout):
    """What each rank writes goes to a pipe."""
    ranks = []
    for rank in range(RANKS):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("DET_")}
        environment |= {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "LOCAL_RANK": str(rank % 2),
                        "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": str(rank // 2),
                        "GROUP_WORLD_SIZE": "2", "DET_CHIEF_IP": cable.addresses[0],
                        "DET_DISTRIBUTED_SECRET": "of-this-test",
                        "DET_DISTRIBUTED_TIMEOUT": str(timeout)}
        command = [program, str(rounds)]
        ranks.append(subprocess.Popen(cable.there(*command) if rank >= 2 else command,
                                      env=environment, text=True, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT))
    return ranks


def end_job(ranks, limit):
    """What is wrong: ranks that do not end, or not as they should."""
    end = time.monotonic() + limit
    for number, rank in enumerate(ranks):
        try:
            said = rank.communicate(timeout=max(1, end - time.monotonic()))[0]
            if rank.returncode != 0:
                yield f"rank {number}: exit {rank.returncode}: {said.strip()}"
        except subprocess.TimeoutExpired:
            rank.kill()
            yield f"rank {number} is stuck: {rank.communicate()[0].strip()}"


def wait_for_job(ranks):
    """Until every rank has said that it joined."""
    for rank in ranks:
        rank.stdout.readline()


def ranks_go_on_over_a_bad_cable(cable, program, chance):
    for delay, loss in ((0, 0), (0.02, 0), (0.005, 0.02)):
        cable.connect(delay, loss, chance.random())
        for wrong in end_job(start_job(cable, program, 50, 60), 300):
            yield f"delay {delay}, loss {loss}: {wrong}"


def ranks_go_on_after_a_short_cut(cable, program, chance):
    cable.connect(0.001, 0, chance.random())
    ranks = start_job(cable, program, 3000, 60)
    wait_for_job(ranks)
    for _ in range(3):
        time.sleep(chance.uniform(0.05, 0.3))
        cable.cut()
        time.sleep(chance.uniform(0.1, 1))
        cable.connect(0.001, 0, chance.random())
    for wrong in end_job(ranks, 300):
        yield f"a short cut: {wrong}"


def every_rank_hears_of_a_node_that_is_gone(cable, program, chance):
    cable.connect(0.001, 0, chance.random())
    ranks = start_job(cable, program, 0, 3)  # until one is lost
    wait_for_job(ranks)
    time.sleep(chance.uniform(0, 0.3))
    cable.cut()
    for wrong in end_job(ranks, 120):
        yield f"a cut for good: {wrong}"


def worry(cable, chance, stop, seconds=6):
    """For a while the cable is bad in another way each moment; then it is good."""
    end = time.monotonic() + seconds
    while not stop.is_set() and time.monotonic() < end:
        if chance.random() < 0.4:
            cable.cut()
        else:
            cable.connect(chance.uniform(0, 0.03), chance.uniform(0, 0.3), chance.random())
        stop.wait(chance.uniform(0.05, 0.8))
    cable.connect()


def trial_keeps_all_over_a_bad_cable(cable, programs, chance, lives):
    # It fetches what it knows over loopback; the trial is the one that is far away.
    server, url = masters.start("0.38.1", cable.addresses[0])
    programs.url = url
    for number in range(lives):
        stop = threading.Event()
        cable.connect()
        worrying = threading.Thread(target=worry, args=(cable, chance, stop))
        with Place(url) as place:
            worrying.start()
            ended = place.run(programs.limit, *cable.there(
                programs.trial, "live", place.master, place.storage, place.path("ledger")))
            stop.set()
            worrying.join()
            words, wrong = judge_end("", *ended)
            wrong += programs.look(place, read_ledger(place))
            print(f"# life {number}: {len(words)} refusals", flush=True)
            yield from map(place.without_names, wrong)
    server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("job_rank")
    parser.add_argument("--lives", type=int, default=3)
    parser.add_argument("--limit", type=float, default=PATIENCE)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--load", type=int, default=0)
    options = parser.parse_args()
    try:
        cable = Cable()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped: this machine lets us make no network namespace with a TAP device: {error}")
        sys.exit(77)
    print(f"# seed {options.seed}", flush=True)
    chance = random.Random(options.seed)
    programs = Programs(options.folder, options.limit)
    wrong = []
    try:
        with busy_loops(options.load):
            for part in (ranks_go_on_over_a_bad_cable, ranks_go_on_after_a_short_cut,
                         every_rank_hears_of_a_node_that_is_gone):
                begun = time.monotonic()
                wrong += part(cable, options.job_rank, chance)
                print(f"# {part.__name__}: {time.monotonic() - begun:.1f} s", flush=True)
            wrong += trial_keeps_all_over_a_bad_cable(cable, programs, chance, options.lives)
    finally:
        cable.remove()
    for what in wrong:
        print(f"not so: {what}")
    print(f"{len(wrong)} findings")
    sys.exit(bool(wrong))


main()
