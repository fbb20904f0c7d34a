"""Copies the recordings that the tests play: copy_recordings.py SOURCE DESTINATION.

Leaves out what is big and unneeded, and writes beside each the calls that the recorded trial made,
as NAME.script.json (see tests/servers/recording/calls.py).
"""

import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))

from servers.fake.yaml import parse_yaml  # noqa: E402
from servers.recording.calls import calls_of  # noqa: E402
from servers.recording.exchanges import (  # noqa: E402
    assign_legs, first_trials, is_of_trial, load, managed_legs, shorten)

FOLDERS = {"0.38.1": "s*", "0.33.0": "o*", "0.19.10": "p*", "unmanaged-0.33.0": "unmanaged_*",
           "unmanaged-0.38.1": "unmanaged_*"}


def unmanaged_leg(rows):
    created = next(row for row in rows if row["path"].startswith("/api/v1/experiments"))
    external = created["path"].rpartition("by-external-id/")[2]
    trial = next(row for row in rows if row["path"] == "/api/v1/trials")
    started = next(row for row in rows if row["path"].endswith("/start"))["response"]
    announced = next(row for row in rows if row["path"] == "/api/v1/runs/start")
    request = trial["body"].get("createTrialRequest", trial["body"])
    shown = trial["response"]["trial"]
    return {
        "trial_id": shown["id"], "run_id": started["trialRunId"],
        "experiment_id": shown["experimentId"], "task_id": shown["taskId"],
        "hparams": request["hparams"],
        "config": parse_yaml(created["body"]["config"]),
        "checkpoint_storage": announced["body"]["checkpointStorage"], "ranks": 1,
        "external_experiment_id": external if created["method"] == "PUT" else None,
        "external_trial_id": trial["body"].get("externalTrialId"),
        "steps_completed": started["stepsCompleted"],
        "latest_checkpoint": started.get("latestCheckpoint"),
    }


def copy(source, destination):
    rows = load(source)
    environments = source.with_suffix(".env.json")
    is_managed = environments.exists()
    if is_managed:
        legs = managed_legs(json.loads(environments.read_text()))
        assign_legs(rows, legs)
    else:
        legs = [unmanaged_leg(rows)]
        for row in rows:
            row["leg"] = 0
    rows, legs = first_trials([row for row in rows if is_of_trial(row, is_managed)], legs, 3)
    rows = shorten(rows)
    if not rows:
        return
    for index, leg in enumerate(legs):
        mine = [row for row in rows if row.get("leg", 0) == index]
        leg["calls"] = calls_of(source.stem, mine, leg, legs)
    destination.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(row, separators=(",", ":")) + "\n" for row in rows]
    (destination / source.name).write_text("".join(lines))
    version = destination.name.removeprefix("unmanaged-")
    script = {"version": version, "managed": is_managed, "legs": legs}
    (destination / f"{source.stem}.script.json").write_text(write_script(script))


def write_script(script):
    """One call a line, for those who read it."""
    legs = []
    for leg in script["legs"]:
        calls = ",\n".join("    " + json.dumps(call) for call in leg["calls"])
        given = json.dumps({name: value for name, value in leg.items() if name != "calls"})
        legs.append(f'  {given[:-1]}, "calls": [\n{calls}\n  ]}}')
    head = json.dumps({name: value for name, value in script.items() if name != "legs"})
    return f'{head[:-1]}, "legs": [\n' + ",\n".join(legs) + "\n]}\n"


def main():
    source, destination = map(pathlib.Path, sys.argv[1:])
    for folder, pattern in FOLDERS.items():
        for path in sorted((source / folder).glob(pattern + ".jsonl")):
            if "probe" not in path.name and "after_exit" not in path.name:
                copy(path, destination / folder)


if __name__ == "__main__":
    main()
