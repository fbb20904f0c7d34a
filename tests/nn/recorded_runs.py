"""Recorded runs of tests/data/trials, done again by a program, and compared.

usage of a test with it: TEST PROGRAM MPIRUN RECORDED, where RECORDED is a directory."""

import json
import pathlib
import tempfile

from trial_runs import arguments, finished, ranks

recorded = pathlib.Path(arguments[0])


def essence(event, is_chief):
    """What of an event is the same in both: without names of files, counts of inputs, and a learning rate that
    Keras puts among the metrics of a validation."""
    kind, *rest = event
    if kind in ("weights", "workload", "input_fn", "model_fn"):
        return event
    if kind == "hook" and event[2] != "get_state":
        if event[1] == "B" and not is_chief:  # for the chief only, which the recorded release did not heed
            return None
        name = event[2]
        if name == "load_state" and "tag" not in event[3]:
            return None
        if name in ("load_state", "on_checkpoint_end", "on_checkpoint_load"):
            return event[:3]
        parts = [{key: value for key, value in part.items() if key != "lr"} if isinstance(part, dict) else part for part in event]
        return [part for part in parts if part != {}]
    if kind == "response":
        response = rest[1]
        metrics = {name: value for name, value in response.get("metrics", {}).items() if name != "num_inputs"}
        for batch in (*metrics.get("batch_metrics", ()), metrics.get("avg_metrics", {})):
            batch.pop("w_value", None)  # which the recorded release read while it changed
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


def last_weights(events):
    return next((event[1] for event in reversed(events) if event[0] == "final_weights"), None)


def difference_of_runs(lines, run, is_chief=True, prepare=lambda events: events):
    """Between what a program said and what is recorded."""
    events = [json.loads(line) for line in lines]
    found, expected = (prepare(essences(some, is_chief)) for some in (events, run["events"]))
    weights = [weight["v"] for weight in run.get("final_weights", ()) if "v" in weight]
    if weights and len(weights) == len(run["final_weights"]):
        found, expected = [*found, last_weights(events)], [*expected, weights]
    return difference(found, expected)


def check(folder, case):
    """The phases of a case, each in a process that goes on where the one before was."""
    file = recorded / folder / f"{case}.json"
    with tempfile.TemporaryDirectory() as home:
        for number, phase in phases_of(file):
            lines = finished(home, program_arguments=(file, str(number)))
            differs = difference_of_runs(lines, phase)
            assert differs is None, f"{case}, phase {number}:{differs}"


def without_means(events):
    for event in events:
        if event[:2] == ["response", "T"] and len(event) == 4:
            del event[2]["avg_metrics"]
    return events


def check_of_ranks(*cases, **more):
    for case in cases:
        file = recorded / "mpi" / f"{case}.json"
        with tempfile.TemporaryDirectory() as home:
            for number, phase in phases_of(file):
                finished(home, *ranks(len(phase["ranks"])), OUTPUT_OF_RANKS=f"{home}/rank-", program_arguments=(file, str(number)))
                for rank, of_rank in enumerate(phase["ranks"]):
                    lines = pathlib.Path(home, f"rank-{rank}").read_text().splitlines()
                    differs = difference_of_runs(lines, of_rank, rank == 0, **more)
                    assert differs is None, f"{case}, phase {number}, rank {rank}:{differs}"


def all_of(folder, *cases):
    for case in cases:
        check(folder, case)
