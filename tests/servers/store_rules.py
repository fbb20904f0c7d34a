"""Which exchanges store_proxy spoils, and how. A rule is an object of

  method, target   whom it means: a method, and a regular expression that the path with its query contains
  nth, times       of those it means only the nth, or only the first so many; from 1
  share            of those it spoils this part, 0...1, as the seed has it
  after            true: the store carries the request out first, and its answer is lost
  how              what happens, by the first rule that applies:

  reset            of the connection
  hang             no answer; the connection stays open
  delay            the answer comes `seconds` later
  cut_request      the store gets `bytes` of the request, the client no answer
  stall_request    `bytes` of the request are read, and then nothing happens
  cut_answer       the client gets `bytes` of the answer, or all of its head and `body_bytes`
  stall_answer     likewise, and then nothing happens
  flip_request     the byte of the body at `bytes` is another
  flip_answer      likewise
  redirect         to the URL `to`, with `status` (307)
  answer           `status`, `headers` and `body` as the rule has them
  slow_down, too_many, internal, expired_token, skewed_clock, denied, error_in_success
                   what the store's kind says then: XML or JSON; `headers` come on top
"""

import json
import random
import re
import threading

REFUSALS = {
    "slow_down": (503, "SlowDown", "Please reduce your request rate."),
    "too_many": (429, "TooManyRequests", "Too many requests."),
    "internal": (500, "InternalError", "We encountered an internal error. Please try again."),
    "expired_token": (403, "ExpiredToken", "The provided token has expired."),
    "skewed_clock": (403, "RequestTimeTooSkewed", "The difference between the request time and ours is too large."),
    "denied": (403, "AccessDenied", "Access Denied"),
    "error_in_success": (200, "InternalError", "We encountered an internal error. Please try again."),
}
HOWS = {"reset", "hang", "delay", "cut_request", "stall_request", "cut_answer", "stall_answer", "flip_request",
        "flip_answer", "redirect", "answer", *REFUSALS}


class Rules:
    """Those of now, and what came through; all connections share them."""

    def __init__(self, seed):
        self.seed = seed
        self.lock = threading.Lock()
        self.set([])

    def set(self, rules):
        for rule in rules:
            if rule["how"] not in HOWS:
                raise ValueError(f"there is no fault {rule['how']}")
            re.compile(rule.get("target", ""))
        with self.lock:
            self.rules, self.counts = rules, [0] * len(rules)
            self.log, self.in_flight = [], set()

    def begin(self, request, connection):
        """The record of an exchange, and the rule that spoils it, or none."""
        method, target = request.words[:2]
        record = {"method": method, "target": target, "headers": request.headers, "connection": connection,
                  "request_bytes": len(request.body), "status": None, "answer_bytes": 0, "fault": None}
        with self.lock:
            self.in_flight.add(id(record))
            record["in_flight"] = len(self.in_flight)
            self.log.append(record)
            for number, rule in enumerate(self.rules):
                if rule.get("method", method) != method or not re.search(rule.get("target", ""), target):
                    continue
                self.counts[number] += 1
                nth = self.counts[number]
                drawn = random.Random(f"{self.seed}/{number}/{nth}").random()
                if (rule.get("nth", nth) == nth and nth <= rule.get("times", nth)
                        and drawn < rule.get("share", 1)):
                    record["fault"] = rule["how"]
                    return record, rule
        return record, None

    def end(self, record):
        with self.lock:
            self.in_flight.discard(id(record))


def flip(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:] if data else data


def refusal(request, how):
    """(status, headers, body), in the format of the store that the request is meant for."""
    status, code, message = REFUSALS[how]
    if any(name.startswith("x-ms-") for name in request.headers):
        return status, {"x-ms-error-code": code}, f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    if request.headers.get("authorization", "").startswith("Bearer") or "/storage/v1/" in request.words[1]:
        return status, {}, json.dumps({"error": {"code": status, "message": message, "errors": [{"reason": code}]}})
    return status, {}, (f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code>'
                        f"<Message>{message}</Message><RequestId>of-the-proxy</RequestId></Error>")
