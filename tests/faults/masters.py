"""Lives with a master over HTTP: the stand-in of tests/servers, and what it was told."""

import json
import pathlib
import sys
import urllib.request

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))

import servers  # noqa: E402


def start(version, host="127.0.0.1"):
    """The server, which ends with this process or by stop(), and its URL."""
    server = servers.Server("master", "--version", version, "--host", host)
    return server, f"http://{host}:{server.ports[0]}"


def kept(url, place):
    """What it knows of the trial of this place, as `trial look` prints it of a store."""
    with urllib.request.urlopen(url + "/test/state") as answer:
        state = json.load(answer)
    ids = [id for id, trial in state["trials"].items()
           if trial["external_id"] == place.environment["DET_EXTERNAL_ID"]]
    trial = state["trials"][ids[0]] if ids else {"task_id": None, "metadata": None}
    metrics = [{"group": row["group"], "steps_completed": row["step"], "metrics": row["values"]}
               for row in state["metrics"] if [str(row["trial"])] == ids]
    logs = [{"text": line["log"].rstrip("\n")} for line in state["logs"]
            if line["task_id"] == trial["task_id"]]
    checkpoints = [{"uuid": entry["uuid"], "state": entry["state"].removeprefix("STATE_")}
                   for entry in state["checkpoints"] if entry["taskId"] == trial["task_id"]]
    return {"is_master": True, "metrics": {"metrics": metrics}, "logs": {"logs": logs},
            "checkpoints": {"checkpoints": checkpoints}, "trial": {"metadata": trial["metadata"]}}
