"""Recorded runs of Keras, done again by det::keras: hooks in their order, with their numbers, and what workloads
are answered with.

usage: test_keras_traces.py PROGRAM MPIRUN RECORDED, where RECORDED is a directory. Says so in TAP."""

import json
import pathlib
import tempfile

from trial_runs import arguments, finished, mpirun, ranks, tell

recorded = pathlib.Path(arguments[0])


def essence(event, is_chief):
    """What of an event is the same in both: without names of files, counts of inputs, and a learning rate that
    Keras puts among the metrics of a validation."""
    kind, *rest = event
    if kind in ("weights", "workload"):
        return event
    if kind == "hook" and event[2] != "get_state":
        if event[1] == "B" and not is_chief:  # for the chief only, which the recorded release did not heed
            return None
        name = event[2]
        if name == "load_state" and "tag" not in event[3]:
            return None
        if name in ("load_state", "on_checkpoint_end"):
            return event[:3]
        parts = [{key: value for key, value in part.items() if key != "lr"} if isinstance(part, dict) else part for part in event]
        return [part for part in parts if part != {}]
    if kind == "response":
        response = rest[1]
        metrics = {name: value for name, value in response.get("metrics", {}).items() if name != "num_inputs"}
        if rest[0] == "C" or "marker" in response or not is_chief:
            return [kind, rest[0], "marker" in response]
        return [kind, rest[0], metrics, response.get("stop_requested", False)]
    return None


def essences(events, is_chief=True):
    return [found for found in (essence(event, is_chief) for event in events) if found is not None]


def difference(found, expected, at=""):
    """The first one, or None."""
    if isinstance(expected, dict) and isinstance(found, dict) and found.keys() == expected.keys():
        return next(filter(None, (difference(found[key], expected[key], f"{at} {key}") for key in expected)), None)
    if isinstance(expected, list) and isinstance(found, list):
        if len(found) != len(expected):
            return f"{at}: {len(found)} and not {len(expected)}; " + \
                next((f"{ours} and not {theirs}" for ours, theirs in zip(found, expected) if difference(ours, theirs)), "")
        return next(filter(None, (difference(a, b, f"{at} {i}") for i, (a, b) in enumerate(zip(found, expected)))), None)
    if isinstance(expected, str) and isinstance(found, float):
        return None if str(found) == str(float(expected)) else f"{at}: {found} and not {expected}"
    if isinstance(expected, float) and isinstance(found, (float, int)):
        return None if abs(found - expected) <= 2e-5 * max(1, abs(expected)) else f"{at}: {found} and not {expected}"
    return None if found == expected else f"{at}: {found} and not {expected}"


def phases_of(file):
    """With their numbers; without those that a search drove, which tests of the sequencer do again."""
    return [(i, phase) for i, phase in enumerate(json.loads(file.read_text())["phases"]) if "workloads" in phase["phase"]]


def check(case):
    """The phases of a case, each in a process that goes on where the one before was."""
    file = recorded / "keras" / f"{case}.json"
    with tempfile.TemporaryDirectory() as home:
        for number, phase in phases_of(file):
            lines = finished(home, program_arguments=(file, str(number)))
            differs = difference(essences(map(json.loads, lines)), essences(phase["events"]))
            assert differs is None, f"{case}, phase {number}:{differs}"


def check_of_ranks(case):
    file = recorded / "mpi" / f"{case}.json"
    with tempfile.TemporaryDirectory() as home:
        for number, phase in phases_of(file):
            finished(home, *ranks(len(phase["ranks"])), OUTPUT_OF_RANKS=f"{home}/rank-", program_arguments=(file, str(number)))
            for rank, of_rank in enumerate(phase["ranks"]):
                lines = pathlib.Path(home, f"rank-{rank}").read_text().splitlines()
                differs = difference(essences(map(json.loads, lines), rank == 0), essences(of_rank["events"], rank == 0))
                assert differs is None, f"{case}, phase {number}, rank {rank}:{differs}"


def all_of(*cases):
    for case in cases:
        check(case)


def hooks_come_in_their_order():
    all_of("k-order-15x5", "k-order-midepoch-resume",
           "k-order-no-rpe-noepoch", "k-order-nothing", "k-order-restore-no-train", "k-order-rpe-nondivisible",
           "k-resume-val-then-train", "k-cb-write-ckpt")


def models_are_trained_to_the_same_numbers():
    all_of("k-num-onevar-40", "k-num-xor", "k-num-pix", "k-num-conv", "k-num-conv-bn", "k-nan")


def data_of_every_kind_are_the_same():
    all_of("k-data-dataset", "k-data-dataset-wrap-after-batch", "k-data-sequence", "k-data-shuffle-seed",
           "k-data-resume-sequence", "k-data-tuple3", "k-fit-class-weight", "k-val-seq-workers")


def callbacks_stop_and_lower_the_rate():
    all_of("k-cb-es-missing-monitor", "k-cb-es-p0", "k-cb-es-p1", "k-cb-es-restore-best", "k-cb-es-start-from",
           "k-cb-restore-rl", "k-cb-rl-f5-p1")


def checkpoints_keep_optimizers():
    all_of("k-ckpt-adam", "k-ckpt-sgd", "k-ckpt-sgd-mom", "k-ckpt-legacy-sgd-mom", "k-ckpt-lr-changed")


def stops_come_with_the_next_answer():
    all_of("k-stop-context", "k-stop-on-epoch-end-1", "k-stop-on-test-batch-end-1", "k-stop-on-test-end-1",
           "k-stop-on-train-workload-end-1", "k-invalidhp-on-test-end")


def ranks_are_the_same():
    for case in "mk-basic", "mk-agg4", "mk-odd-val":
        check_of_ranks(case)


checks = [hooks_come_in_their_order, models_are_trained_to_the_same_numbers, data_of_every_kind_are_the_same,
          callbacks_stop_and_lower_the_rate, checkpoints_keep_optimizers, stops_come_with_the_next_answer]
if mpirun:
    checks.append(ranks_are_the_same)
tell(checks)
