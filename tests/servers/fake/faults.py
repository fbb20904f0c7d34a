"""Faults that a test asks for. A fault is a JSON object:

  count   how many requests it meets (1)
  skip    how many requests pass before (0)
  path    a regular expression, searched in "METHOD /path" (any)
  after   "store": the request is carried out, only its answer fails; else it is not carried out
  how     "status" (with `status`, `body` and `headers`), "hang" until the client leaves, "drop" the
          connection without a word, "cut" the answer in its middle, "garbage", "truncated-gzip",
          "redirect" (to `to`), "delay" it by `seconds` and carry it out then
"""

import gzip
import json
import re
import time

from ..serving import to_json
from .refusal import error_body


def _with_defaults(fault):
    return {"count": 1, "skip": 0, "path": "", "after": "before", "how": "status", "status": 500,
            **fault}


class Faults:
    def __init__(self):
        self._pending = []

    def add(self, fault):
        self._pending.append(_with_defaults(fault))

    def replace(self, faults):
        """At once: no request finds neither."""
        self._pending = [_with_defaults(fault) for fault in faults]

    def left(self):
        return sum(fault["count"] for fault in self._pending)

    def take(self, method, path):
        """The fault for this request, if there is one."""
        for fault in self._pending:
            if fault["count"] <= 0 or not re.search(fault["path"], f"{method} {path}"):
                continue
            if fault["skip"] > 0:
                fault["skip"] -= 1
                continue
            fault["count"] -= 1
            return fault
        return None


def _head(status, body, *headers):
    lines = [f"HTTP/1.1 {status} Fault", "Content-Type: application/json",
             f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def give(fault, handler, status, body):
    """Answers in the fault's way. `status` and `body` are what would have been answered."""
    how = fault["how"]
    if how == "status":
        text = fault.get("body")
        if isinstance(text, str):
            body = text.encode()
        else:
            said = error_body(fault["status"], "a fault of the test")
            body = to_json(said if text is None else text)
        handler.answer(fault["status"], body, list(fault.get("headers", {}).items()), compress=True)
        return
    handler.close_connection = True
    if how == "hang":
        while not handler.is_gone():
            time.sleep(0.02)
    elif how == "cut":
        body = body if len(body) > 1 else b"{}"
        handler.wfile.write(_head(status, body) + body[: len(body) // 2])
    elif how == "garbage":
        handler.wfile.write(b"\x00\x01\x02 no HTTP at all\r\n\r\n")
    elif how == "truncated-gzip":
        handler.close_connection = False  # to HTTP, the answer is whole
        data = gzip.compress(b"[" + body * 50)[:-12]  # no JSON, wherever it is cut
        handler.wfile.write(_head(status, data, "Content-Encoding: gzip") + data)
    elif how == "redirect":
        handler.close_connection = False
        handler.answer(302, headers=[("Location", fault["to"])])
    elif how != "drop":
        raise ValueError(f"no fault '{how}': {json.dumps(fault)}")
