"""A master that answers what is recorded: recorded_answers FILE...

The files hold answers, one JSON object a line (see tests/data/wire/README.md); a later file takes
the place of an earlier one, path by path. Beyond what is recorded it pages, sorts and filters lists,
as masters do; lets `admin` in; and knows of an answer:
  "response": {"$raw": TEXT}   exactly this body
  "then": [ANSWERS]            what else is answered from now on
"""

import json
import re
import sys
import threading
import urllib.parse

from . import serving

TOKEN = "token"
LISTS = ("experiments", "trials", "checkpoints", "workloads")
lock = threading.Lock()
answers = {}  # (method, path) -> [answer]
requests = []


def load(recorded):
    """Answers that belong together, such as the lines of a file."""
    fresh = {}
    for answer in recorded:
        fresh.setdefault((answer["method"], answer["path"]), []).append(answer)
    answers.update(fresh)


def identity(name, entry):
    if name == "workloads":
        ((kind, workload),) = entry.items()
        return kind, workload["totalBatches"]
    return entry["uuid"] if name == "checkpoints" else entry["id"]


def place(name, entry):
    if name == "workloads":
        (workload,) = entry.values()
        return workload["totalBatches"], workload["endTime"]
    return entry["reportTime"] if name == "checkpoints" else entry["id"]


def entries_of(path):
    """The whole list at this path, from all that is recorded of it; None if it is no list."""
    name = path.rsplit("/", 1)[1]
    found = {}
    for answer in answers.get(("GET", path), []):
        if answer["status"] != 200 or name not in LISTS or name not in answer["response"]:
            return None
        for entry in answer["response"][name]:
            found[json.dumps(identity(name, entry))] = entry
    if not found and path == "/api/v1/experiments":
        for (method, one), [answer, *_] in answers.items():
            if method == "GET" and re.fullmatch(r"/api/v1/experiments/\d+", one):
                if answer["status"] == 200:
                    found[one] = answer["response"]["experiment"]
        return sorted(found.values(), key=lambda entry: entry["id"])
    if not found and (of := re.fullmatch(r"/api/v1/trials/(\d+)/checkpoints", path)):
        for method, other in list(answers):
            if re.fullmatch(r"/api/v1/experiments/\d+/checkpoints", other):
                for entry in entries_of(other) or []:
                    if entry["training"]["trialId"] == int(of[1]):
                        found[entry["uuid"]] = entry
        return list(found.values()) if found else None
    if ("GET", path) not in answers:
        return None
    return sorted(found.values(), key=lambda entry: place(name, entry))


def page(path, query):
    entries = entries_of(path)
    if entries is None:
        return None
    if "archived" in query:
        entries = [entry for entry in entries
                   if entry.get("archived", False) == (query["archived"] == "true")]
    if query.get("orderBy") == "ORDER_BY_DESC":
        entries = entries[::-1]
    offset, limit = int(query.get("offset", 0)), int(query.get("limit", 0))
    part = entries[offset : offset + limit] if limit else entries[offset:]
    return {path.rsplit("/", 1)[1]: part,
            "pagination": {"offset": offset, "limit": limit, "startIndex": offset,
                           "endIndex": offset + len(part), "total": len(entries)}}


def log(recorded, query):
    lines = {}
    for answer in recorded:
        for line in answer["response"].splitlines():
            lines[int(json.loads(line)["result"]["id"])] = line
    # To the second is fine here: the client takes wide margins.
    stamps = {key: json.loads(line)["result"].get("timestamp", "")[:19] for key, line in lines.items()}
    after = query.get("timestampAfter", "")[:19]
    before = query.get("timestampBefore", "")[:19]
    keys = [key for key in sorted(lines, reverse=query.get("orderBy") == "ORDER_BY_DESC")
            if (not after or stamps[key] > after) and (not before or stamps[key] <= before)]
    return "".join(lines[key] + "\n" for key in keys[: int(query.get("limit", 0)) or None])


def refusal(status, code, reason):
    return status, json.dumps({"error": {"code": code, "reason": reason, "error": "refused"}})


def answer_to(method, path, query):
    recorded = answers.get((method, path), [])
    for answer in recorded:
        if answer.get("group") not in (None, query.get("group")):
            continue
        response = answer["response"]
        load(answer.get("then", []))
        if isinstance(response, dict) and "$raw" in response:
            return answer["status"], response["$raw"]
        if path.endswith("/logs") and answer["status"] == 200:
            return 200, log(recorded, query)
        if method == "GET" and (part := page(path, query)) is not None:
            return 200, json.dumps(part)
        return answer["status"], response if isinstance(response, str) else json.dumps(response)
    if method == "GET" and (part := page(path, query)) is not None:
        return 200, json.dumps(part)
    if path == "/api/v1/trials/metrics/trial_metrics":
        return 200, ""
    if re.match(r"/api/v1/(experiments|trials|checkpoints)/", path):
        return refusal(404, 5, "NotFound")
    return refusal(501, 12, "Unimplemented")


class Handler(serving.Handler):
    def respond(self, _body):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        user = {"id": 1, "username": "admin", "admin": True, "active": True}
        with lock:
            requests.append(f"{self.command} {self.path}")
            if url.path == "/replay/requests":
                status, body = 200, json.dumps(requests[:-1])
            elif url.path == "/api/v1/auth/login":
                status, body = 200, json.dumps({"token": TOKEN, "user": user})
            elif (url.path != "/api/v1/master"
                  and self.headers.get("Authorization") != f"Bearer {TOKEN}"):
                status, body = refusal(401, 16, "Unauthenticated")
            elif url.path == "/api/v1/me":
                status, body = 200, json.dumps({"user": user})
            else:
                status, body = answer_to(self.command, url.path, query)
        self.answer(status, body.encode())


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as file:
            load(json.loads(line) for line in file)
    serving.serve(serving.Server(("127.0.0.1", 0), Handler))
