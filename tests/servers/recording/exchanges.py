"""Recorded exchanges, cut down to what a replay needs, in the order in which they began.

Kept of each: n, leg (0), method, path, query (none), auth, body (null), status (200), response
({}); what is in parentheses is left out. `ended` instead of the last two where no answer came: by
the "client" or the "master". A poll has `until`: it ended after all exchanges of its leg with a
smaller n had begun.

A leg is one life of a trial's processes: an allocation, or all of an unmanaged trial's recording.
"""

import json
import re

POLL = re.compile(r"/allocations/[^/]+/signals/preemption$")
ALLOCATION = re.compile(r"/allocations/([^/]+)/")
TRIAL = re.compile(r"/(?:trials|runs)/(\d+)(?:/|$)")
SHIPPED = ("/task-logs", "/api/v1/task/logs")
DEFAULTS = {"leg": 0, "status": 200, "response": {}}
KEPT_CONFIG = {"name", "searcher", "checkpoint_storage", "data", "labels", "description"}


def load(path):
    """Without the notes on connections that the master did not take."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return sorted((row for row in rows if "method" in row), key=lambda row: (row["t"], row["n"]))


def managed_legs(environments):
    """[{"trial_id", "run_id", "allocation_id", ...}] of what the containers were given."""
    legs = {}
    for entry in environments:
        given = entry["environment"]
        if given.get("DET_TASK_TYPE") != "TRIAL":
            continue
        leg = legs.setdefault(given["DET_ALLOCATION_ID"], {
            "trial_id": int(given["DET_TRIAL_ID"]), "run_id": int(given["DET_TRIAL_RUN_ID"]),
            "experiment_id": int(given["DET_EXPERIMENT_ID"]), "task_id": given["DET_TASK_ID"],
            "allocation_id": given["DET_ALLOCATION_ID"], "resources_ids": [],
            "agent_id": given["DET_AGENT_ID"], "hparams": json.loads(given["DET_HPARAMS"]),
            "config": short_config(json.loads(given["DET_EXPERIMENT_CONFIG"])),
            "steps_completed": int(given["DET_STEPS_COMPLETED"]),
            "latest_checkpoint": given.get("DET_LATEST_CHECKPOINT"), "ranks": 0,
        })
        leg["ranks"] += len(json.loads(given["DET_SLOT_IDS"]))  # one a slot
        leg["resources_ids"].append(given["DET_RESOURCES_ID"])
    return list(legs.values())


def _run_in(body):
    """The run that a report names."""
    if isinstance(body, dict):
        body = body.get("metrics", body) if "group" in body else body
        return body.get("trialRunId", body.get("trial_run_id"))
    return None


def assign_legs(rows, legs):
    """Sets the leg of each row of the trial: the allocation or the run that it names, or else the
    latest that had begun of its trial, or of all."""
    begun = {}  # leg → when the first word of its allocation came
    for row in rows:
        body = row["body"] if isinstance(row["body"], dict) else {}
        named = ALLOCATION.search(row["path"])
        name = named[1] if named else body.get("allocationId")
        for index, leg in enumerate(legs):
            if name == leg["allocation_id"]:
                begun.setdefault(index, row["t"])
                row["leg"] = index
    for row in rows:
        if "leg" in row or row["who"] != "trial":
            continue
        named = TRIAL.search(row["path"])
        trial = int(named[1]) if named else (row["body"] or {}).get("runId")
        known = [index for index, at in begun.items() if at <= row["t"]
                 and trial in (None, legs[index]["trial_id"])]
        exact = [index for index in known if legs[index]["run_id"] == _run_in(row["body"])]
        row["leg"] = max(exact or known, key=begun.get)


def first_trials(rows, legs, count):
    """The rows and legs of the first few trials only: a search has many that are alike. A leg that
    was ended before it said anything is none."""
    trials = list(dict.fromkeys(leg["trial_id"] for leg in legs))[:count]
    begun = {row["leg"] for row in rows}
    kept = [index for index, leg in enumerate(legs) if leg["trial_id"] in trials and index in begun]
    rows = [{**row, "leg": kept.index(row["leg"])} for row in rows if row["leg"] in kept]
    return rows, [legs[index] for index in kept]


def is_of_trial(row, is_managed):
    """Of recordings of managed trials the set-up and the garbage collection are left out."""
    return row["who"] == "trial" or (not is_managed and row["who"] == "other")


def short_config(config):
    return {name: value for name, value in config.items() if name in KEPT_CONFIG}


def _short(value, key=None):
    """An answer without what nobody reads, and with an error text of ours."""
    if key == "error" and isinstance(value, dict) and "code" in value:
        return {**value, "error": "refused"}
    if key in ("config", "experimentConfig") and isinstance(value, dict):
        return short_config(value)
    if isinstance(value, dict):
        return {name: _short(inner, name) for name, inner in value.items()
                if name not in ("summaryMetrics", "originalConfig")}
    return [_short(entry) for entry in value] if isinstance(value, list) else value


def shorten(rows):
    """The rows as they are kept; see above."""
    kept = []
    for n, row in enumerate(rows):
        body = row["body"]
        if row["path"] in SHIPPED:
            body = body[:2] if isinstance(body, list) else {"logs": body["logs"][:2]}
        short = {"n": n, "leg": row["leg"], "method": row["method"], "path": row["path"],
                 "query": row["query"], "auth": row["auth"], "body": body}
        if "ended" in row:
            short["ended"] = "client" if row["ended"] == "by the client" else "master"
        else:
            short.update(status=row["status"], response=_short(row["response"]))
        if POLL.search(row["path"]):
            ends = row["t"] + row["took"]
            short["until"] = sum(other["t"] < ends for other in rows)
        kept.append(short)
    _name_broken(kept)
    return [{name: value for name, value in row.items() if value != DEFAULTS.get(name, "")}
            for row in kept]


def _name_broken(rows):
    """What the client had in mind when the master went: the same as it then sent again."""
    for index, row in enumerate(rows):
        if row.get("ended") == "master" and row["method"] != "GET":
            row["body"] = next(other["body"] for other in rows[index + 1:]
                               if (other["method"], other["path"]) == (row["method"], row["path"])
                               and "ended" not in other)
