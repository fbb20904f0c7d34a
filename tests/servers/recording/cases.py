"""Single recorded exchanges, and the state of a master in which they could have happened."""

import json
import re

from .. import WIRE

CASES = [json.loads(line) for line in (WIRE / "cases.jsonl").read_text().splitlines()]

# Calls of people who look at experiments and steer them, which are not the Core API's.
NOT_THERE = re.compile(
    r"^GET \S*/(experiments|workloads|logs|checkpoints)$|"
    r"^(GET|PATCH) \S*/experiments/\d+(/trials)?$|/(activate|pause|kill)$|"
    r"^GET /api/v1/allocations/[^/]+$")
DIFFERENT = {  # on purpose
    "0.38.1 POST /api/v1/experiments 200": "managed experiments are not created here",
    "0.38.1 POST /api/v1/trials/{trial}/start 500 #2":
        "a steps_completed that is no integer is refused when it is reported",
}

# Where an id of the set-up is found in "path body".
IDS = {
    "trial_id": [r"/(?:trials|runs)/(\d+)", r'"(?:runId|trialId)": (\d+)'],
    "experiment_id": [r"/experiments/(\d+)", r'"experimentId": (\d+)'],
    "run_id": [r'"(?:trialRunId|trial_run_id)": (\d+)'],
    "allocation_id": [r"/allocations/([^/]+\.\d+)", r'"allocationId": "([^"]+)"'],
    "task_id": [r"/tasks/([^/ ]+)", r"/allocations/([^/]+)\.\d+", r'"task_?[iI]d": "([^"]+)"'],
    "resources_ids": [r"/resources/([^/]{36})/"],
}
UNMANAGED = re.compile(r"^(POST|PUT) /api/v1/trials$|^PATCH /api/v1/trials/|/start$")

STORAGE = ("POST", "/api/v1/runs/start",
           {"runId": 7, "checkpointStorage": {"type": "directory", "container_path": "/x"}})
CONFIG = json.dumps({"name": "x", "searcher": {"name": "single", "metric": "l", "max_length": 1}})
EXTERNAL = [
    ("PUT", "/api/v1/experiments/by-external-id/px1", {"config": CONFIG, "unmanaged": True}),
    ("PUT", "/api/v1/trials", {"createTrialRequest": {"experimentId": 11, "unmanaged": True},
                               "externalTrialId": "t1"}),
]
# What a case needs besides its ids: more of the set-up, and requests before it. True: itself.
NEEDS = {
    "0.38.1 GET /api/v1/allocations/{allocation}/resources/{resources}/rendezvous 500":
        {"resources_ids": ["other"]},
    "0.38.1 GET /api/v1/allocations/{allocation}/signals/preemption 500": {"is_started": False},
    "0.19.10 POST /api/v1/checkpoints 500": {"before": True},
    "0.38.1 POST /api/v1/checkpoints 500": {"before": True},
    "0.38.1 GET /api/v1/experiments/{experiment}/searcher/best_searcher_validation_metric 200":
        {"before": [("POST", "/api/v1/trials/7/validation_metrics", {
            "trialRunId": 1, "stepsCompleted": 1, "metrics": {"avgMetrics": {"loss": 1}}})]},
    "0.38.1 POST /api/v1/trials 500": {"is_managed": True},
    "0.38.1 PUT /api/v1/trials 500": {"before": [
        ("PUT", "/api/v1/trials", {"createTrialRequest": {"experimentId": 10, "unmanaged": True},
                                   "externalTrialId": "t1"}),
        ("POST", "/api/v1/runs/22/metadata", {"metadata": {"a": 1}})]},
    "0.38.1 GET /api/v1/trials/by-external-id/{experiment}/{trial} 200": {"before": EXTERNAL},
    "0.38.1 GET /api/v1/trials/by-external-id/{experiment}/{trial} 500": {"before": EXTERNAL},
    "0.38.1 PATCH /api/v1/trials/{trial} 500": {"trial_id": 7},
    "0.38.1 PATCH /api/v1/trials/{trial} 500 #2": {"is_managed": True},
    "0.38.1 POST /api/v1/trials/{trial}/metrics 500": {"before": [
        ("POST", "/api/v1/trials/31/metrics", {"group": "training", "metrics": {
            "trialRunId": 1, "stepsCompleted": 1, "metrics": {"avgMetrics": {"loss": 1}}}})]},
    "0.38.1 POST /api/v1/trials/{trial}/metrics 500 #3": {"run_id": 0},
    "0.38.1 POST /api/v1/trials/{trial}/progress 500": {"is_managed": False},
    "0.33.0 GET /api/v1/trials/{trial}/searcher/operation 200 #2": {"lengths": [100], "before": [
        ("POST", "/api/v1/trials/3/searcher/completed_operation", {"op": {"length": 100}})]},
    "0.33.0 GET /api/v1/trials/{trial}/searcher/operation 404":
        {"trial_id": 30, "is_managed": False},
    "0.33.0 POST /api/v1/trials/{trial}/searcher/completed_operation 500 #2":
        {"lengths": [16], "before": True},
    "0.38.1 POST /api/v1/trials/{trial}/start 200": {"run_id": 0},
    "0.33.0 POST /api/v1/trials/{trial}/start 200": {"run_id": 0},
    "0.19.10 POST /api/v1/trials/{trial}/training_metrics 500": {"before": True},
    "0.38.1 POST /api/v1/webhooks/custom 500": {"experiment_id": 1},
}


def line_of(case):
    return f"{case['method']} {case['path']}"


def is_comparable(case):
    """Not where it was about the token: a case does not tell it."""
    is_about_token = case["status"] == 401 or case["path"].endswith("/logout")
    return not is_about_token and not NOT_THERE.search(line_of(case)) and (
        case["name"] not in DIFFERENT)


def request_of(case):
    """(method, path, body, raw body)"""
    path = case["path"]
    if case["query"]:
        path += "?" + case["query"].replace("timeout_seconds=60", "timeout_seconds=1")
    body = case["body"]
    if isinstance(body, dict) and "$raw" in body:
        return case["method"], path, None, body["$raw"]
    if isinstance(body, dict) and body.get("password") == "<hash>":
        body = {**body, "password": ""}
    return case["method"], path, body, None


def state_of(case):
    """(set-up, requests before it), in which its ids exist, unless their absence was its point."""
    text = f"{case['path']} {json.dumps(case['body'])}"
    setup = {"lengths": [16 if ": 16" in text or '"16"' in text else 100]}
    for name, patterns in IDS.items() if case["status"] != 404 else []:
        found = next(filter(None, (re.search(pattern, text) for pattern in patterns)), None)
        if found:
            is_number = name in ("trial_id", "experiment_id", "run_id")
            setup[name] = int(found[1]) if is_number else found[1]
    if "resources_ids" in setup:
        setup["resources_ids"] = [setup["resources_ids"]]
    if UNMANAGED.search(line_of(case)) and not case["path"].endswith("/runs/start"):
        setup["is_managed"] = False
    setup.update(NEEDS.get(case["name"], {}))
    before = setup.pop("before", [])
    before = [request_of(case)[:3]] if before is True else list(before)
    if "/checkpoints" in case["path"] and case["version"] != "0.19.10":
        trial = setup.get("trial_id", 7)
        before.insert(0, (*STORAGE[:2], {**STORAGE[2], "runId": trial}))
        if case["status"] == 200 and line_of(case) != "POST /api/v1/checkpoints":
            task = setup.get("task_id", "1.aaaa")
            for name in dict.fromkeys(re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", text)):
                before.append(("POST", "/api/v1/checkpoints", {"uuid": name, "taskId": task}))
    return setup, before
