"""The calls of the API that a recorded trial must have made, derived from its requests:

  ["report", group, step, metrics] or [..., metrics, batches]     ["profile"], once
  ["progress", value]: as sent, that is lengths before 0.38 and fractions from there on
  ["operation", length], ["operation", null]: asked for the next one and got it, or none
  ["complete", length, metric]
  ["checkpoint", {"uuid", "metadata", "files": {path: size}}]
  ["checkpoint_metadata", uuid, metadata or null]     ["delete_checkpoint", uuid]
  ["status", text]   ["early_exit", reason]   ["best_validation", metric or null]
  ["set_metadata", {...}]   ["get_metadata", {...}]
  ["should_preempt", true]: the call that saw the signal and acknowledged it
  ["acknowledge"]: an acknowledgement of nothing     ["log"]: some lines of output
  ["fails", status, call]: the master refused it
  ["exit", status] or ["killed"], last

Uuids are the recorded trial's; a client chooses its own.
"""

import re

from ..fake.metrics import PROFILER_GROUPS

from .exchanges import POLL


def _metrics(body):
    """(step, metrics, batches) in either spelling."""
    step = body.get("stepsCompleted", body.get("steps_completed"))
    metrics = body["metrics"]
    values = metrics.get("avgMetrics", metrics.get("avg_metrics"))
    return step, values, metrics.get("batchMetrics", metrics.get("batch_metrics"))


def _report(group, body):
    step, values, batches = _metrics(body)
    return ["report", group, step, values, *([batches] if batches else [])]


def _checkpoint(body):
    files = {path: int(size) for path, size in body["resources"].items() if path != "metadata.json"}
    return ["checkpoint", {"uuid": body["uuid"], "metadata": body["metadata"], "files": files}]


def _call(row):
    """None for what is no call of its own."""
    path, body = row["path"], row.get("body")
    verb, last = row["method"], row["path"].rpartition("/")[2]
    answer = row.get("response") or {}
    found = "status" not in row
    if last == "metrics" and body["group"] in PROFILER_GROUPS:
        return ["profile"]
    if last == "metrics":
        return _report(body["group"], body["metrics"])
    if last in ("training_metrics", "validation_metrics"):
        return _report(last.removesuffix("_metrics"), body)
    if last == "progress":
        return ["progress", body["progress"] if isinstance(body, dict) else body]
    if last == "operation":
        if not found or answer["completed"]:
            return ["operation", None]
        return ["operation", int(answer["op"]["validateAfter"]["length"])]
    if last == "completed_operation":
        return ["complete", body["op"]["length"], body["searcherMetric"]]
    if last == "checkpoints" and verb == "POST":
        return _checkpoint(body)
    if last == "checkpoints":
        return ["delete_checkpoint", body["checkpoints"][0]["uuid"]]
    if "/checkpoints/" in path:
        return ["checkpoint_metadata", last, answer["checkpoint"]["metadata"] if found else None]
    if path.endswith("/runner/metadata"):
        return ["status", body["state"]]
    if last == "early_exit":
        return ["early_exit", body["reason"]]
    if last == "best_searcher_validation_metric":
        return ["best_validation", answer["metric"] if found else None]
    if last == "metadata":
        return ["set_metadata" if verb == "POST" else "get_metadata", answer["metadata"]]
    return ["log"] if last == "task-logs" else None


def _end(name, rows, leg, legs):
    """How a leg ended cannot be seen from the master's side; the scenario's name says it."""
    is_last = not any(other["run_id"] > leg["run_id"] and other["trial_id"] == leg["trial_id"]
                      for other in legs)
    states = [row["body"].get("state") for row in rows if row["method"] == "PATCH"]
    if re.search("kill|never_asks|but_stays", name):
        return ["killed"]
    if "STATE_ERROR" in states or "too_often" in name or ("crash" in name and not is_last):
        return ["exit", 1]
    return ["exit", 0]


def calls_of(name, rows, leg, legs):
    calls = []
    is_signalled = out_of_work = False
    for row in rows:
        if POLL.search(row["path"]):
            is_signalled = is_signalled or row.get("response") == {"preempt": True}
        elif row["path"].endswith("/ack_preemption"):
            if not out_of_work:  # else it belongs to the operation that was none
                calls.append(["should_preempt", True] if is_signalled else ["acknowledge"])
        elif row.get("ended") is None:
            call = _call(row)
            if call is None or (call in (["profile"], ["log"]) and call in calls):
                continue
            out_of_work = out_of_work or call == ["operation", None]
            if "status" in row and call[0] not in ("best_validation", "checkpoint_metadata"):
                call = ["fails", row["status"], call]
            # Metrics leave on another connection: this report was made before the operation ended.
            is_validation = call[:2] == ["report", "validation"]
            is_late = is_validation and [last[:2] for last in calls[-1:]] == [["complete", call[2]]]
            calls.insert(len(calls) - is_late, call)
    return [*calls, _end(name, rows, leg, legs)]
