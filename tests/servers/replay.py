"""A master's side, played from a recording: replay SCENARIO.jsonl

Every request gets the recorded answer. Requests of one stream (a method and path, for metrics a
group, and the trial or task that a body names) are expected in the recorded order; between streams
any order goes, as it does with a real client. A poll ends when all has come that came before its end
in the recording; one that the client ended waits until this client ends it too. Uuids of checkpoints
are the client's own: the first one that it reports stands for the first recorded one, and so on.

GET /test/report, once the client is done:
  missing, unexpected     requests that never came, and that came and were not recorded
  different               {"expected", "received"}, bodies that do not mean the same
  out_of_order            requests that came before others of their stream
  arrivals                all requests of the trial: {"n", "method", "path", "group", "step"}
  auth                    {header(s) that carried a token: how often}
  optional                {"METHOD path": how often} of what a client may leave out or add
  logs                    lines that were shipped
"""

import collections
import json
import pathlib
import re
import sys
import threading
import urllib.parse

from . import serving
from .fake.identity import token_headers
from .fake.message import NOTHING, parse_body
from .fake.metrics import PROFILER_GROUPS
from .fake.refusal import error_body
from .recording.exchanges import POLL, SHIPPED
from .recording.meaning import group_of, meaning

OPTIONAL = {
    ("GET", "/api/v1/master"), ("GET", "/api/v1/me"), ("GET", "/info"),
    ("POST", "/api/v1/auth/login"), *(("POST", path) for path in SHIPPED),
}
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_optional(method, path, body):
    if (method, path) in OPTIONAL or group_of(path, body) in PROFILER_GROUPS:
        return True
    is_heartbeat = method == "PATCH" and "/trials/" in path and "state" not in (body or {})
    return is_heartbeat or path.endswith("/rendezvous")


def stream_of(method, path, body):
    named = body if isinstance(body, dict) else {}
    whose = named.get("allocationId") or named.get("taskId") or named.get("runId")
    return method, path, group_of(path, body) or whose


class Replay:
    def __init__(self, path):
        self.version = path.parent.name.removeprefix("unmanaged-")
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        self.compresses = self.version != "0.19.10"
        self.changed = threading.Condition()
        self.rows = {row["n"]: row for row in rows}
        self.streams = collections.defaultdict(list)  # what is still expected
        self.needed = {}  # leg → {n} of what must come
        self.answers = {}  # (method, path) → the last answer of what is optional
        self.failed = []  # what was answered 500, which says nothing certain: a client may ask again
        self.uuids = {}  # the client's → the recorded one
        self.report = {"missing": [], "unexpected": [], "different": [], "out_of_order": [],
                       "arrivals": [], "auth": collections.Counter(),
                       "optional": collections.Counter(), "logs": []}
        for row in rows:
            body = row.get("body")
            if is_optional(row["method"], row["path"], body):
                self.answers[row["method"], row["path"]] = row
                continue
            self.streams[stream_of(row["method"], row["path"], body)].append(row)
            if not POLL.search(row["path"]):
                self.needed.setdefault(row.get("leg", 0), set()).add(row["n"])

    def to_recorded(self, text):
        for own, recorded in self.uuids.items():
            text = text.replace(own, recorded)
        return text

    def to_own(self, text):
        for own, recorded in self.uuids.items():
            text = text.replace(recorded, own)
        return text

    def learn_uuid(self, method, path, body):
        """A new checkpoint stands for the next recorded one."""
        if (method, path) == ("POST", "/api/v1/checkpoints") and isinstance(body, dict):
            expected = self.streams[stream_of(method, path, body)]
            own = body.get("uuid", "")
            if expected and UUID.fullmatch(own) and own not in self.uuids:
                self.uuids[own] = expected[0]["body"]["uuid"]

    def take(self, method, path, body):
        """The recorded exchange of a request; None where nothing like it is expected any more."""
        self.learn_uuid(method, path, body)
        path = self.to_recorded(path)
        if body is not None:
            body = json.loads(self.to_recorded(json.dumps(body)))
        if is_optional(method, path, body):
            self.report["optional"][f"{method} {path}"] += 1
            if path in SHIPPED:
                self.report["logs"] += body["logs"] if isinstance(body, dict) else body
            return self.answers.get((method, path), self.made_up(path))
        expected = self.streams[stream_of(method, path, body)]
        same = [row for row in expected if meaning(row.get("body")) == meaning(body)]
        row = same[0] if same else expected[0] if expected else None
        inner = (body or {}).get("metrics", body) if isinstance(body, dict) else {}
        inner = inner if isinstance(inner, dict) else {}
        self.report["arrivals"].append({
            "n": row and row["n"], "method": method, "path": path, "group": group_of(path, body),
            "step": inner.get("stepsCompleted", inner.get("steps_completed"))})
        if row is None and self.failed:
            again = [one for one in self.failed if one["method"] == method and one["path"] == path
                     and meaning(one.get("body")) == meaning(body)]
            if again or (method == "GET" and re.fullmatch(r"/api/v1/trials/\d+", path)):
                self.report["arrivals"].pop()
                self.report["optional"][f"{method} {path}"] += 1
                return again[0] if again else self.made_up(path)
        if row is None:
            self.report["unexpected"].append({"method": method, "path": path, "body": body})
            return None
        if not same:
            self.report["different"].append({"method": method, "path": path,
                                             "expected": row.get("body"), "received": body})
        elif row is not expected[0]:
            self.report["out_of_order"].append({"method": method, "path": path, "body": body})
        expected.remove(row)
        if row.get("status") == 500:
            self.failed.append(row)
        self.needed[row.get("leg", 0)].discard(row["n"])
        self.changed.notify_all()
        return row

    def made_up(self, path):
        if path == "/api/v1/master":
            return {"response": {"version": self.version, "masterId": "m", "clusterId": "c",
                                 "clusterName": ""}}
        if path.endswith("/rendezvous"):
            info = {"addresses": ["127.0.0.1"], "rank": 0, "slots": [1]}
            return {"response": {"rendezvousInfo": info}}
        return {"response": {}}

    def poll(self, path):
        """The recorded poll whose turn it is, and what must come before it ends."""
        expected = self.streams["GET", path, None]
        row = expected.pop(0) if expected else {"ended": "client", "until": 0}
        if row.get("response") == {"preempt": True} and not expected:
            expected.append(row)  # the signal stays
        leg = self.needed.get(row.get("leg", 0), set())
        return row, lambda: all(n >= row["until"] for n in leg)

    def missing(self):
        left = [row for stream in self.streams.values() for row in stream
                if not POLL.search(row["path"]) and row.get("ended") != "master"]
        return [{name: row.get(name) for name in ("n", "method", "path", "body")}
                for row in sorted(left, key=lambda row: row["n"])]


class Handler(serving.Handler):
    def respond(self, data):
        replay = self.server.replay
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/test/report":
            with replay.changed:
                report = {**replay.report, "missing": replay.missing()}
                return self.answer(200, serving.to_json(report))
        body = parse_body(data)
        body = None if body is NOTHING or body == {} else body
        path = urllib.parse.unquote(url.path)
        with replay.changed:
            kinds = "+".join(kind for kind, _ in token_headers(self.headers)) or "none"
            replay.report["auth"][kinds] += 1
            if POLL.search(path):
                row, is_over = replay.poll(path)
                if row.get("ended") == "client":
                    is_over = self.is_gone
                while not is_over() and not self.is_gone():
                    replay.changed.wait(0.1)
            else:
                row = replay.take(self.command, path, body)
        self.give(row)

    def give(self, row):
        if row is None:
            body = serving.to_json(error_body(404, "this was not recorded"))
            return self.answer(404, body, compress=True)
        if "ended" in row:
            self.close_connection = True
            return
        text = self.server.replay.to_own(serving.to_json(row.get("response", {})).decode())
        self.answer(row.get("status", 200), text.encode(), compress=self.server.replay.compresses)


class Server(serving.Server):
    def __init__(self, path):
        super().__init__(("127.0.0.1", 0), Handler)
        self.replay = Replay(path)


if __name__ == "__main__":
    serving.serve(Server(pathlib.Path(sys.argv[1])))
