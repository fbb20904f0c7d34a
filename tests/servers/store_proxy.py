"""A proxy before an object store, which spoils the exchanges that its rules name:

  store_proxy --to PORT [--seed N]

Prints two ports: its own, and that of its control. POST /test/rules [RULE...] sets the rules, GET /test/log tells
what came through since then: method, target, headers, sizes, status and fault of each exchange, the number of its
connection, and how many were in flight with it. For a RULE see store_rules.py.
"""

import argparse
import json
import select
import socket
import struct
import threading
import time

from . import raw_http, serving
from .store_rules import REFUSALS, Rules, flip, refusal


class Connection:
    def __init__(self, rules, client, number, to):
        self.rules, self.client, self.number, self.to = rules, client, number, to
        self.store = None

    def run(self):
        try:
            self.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.from_client = self.client.makefile("rb")
            while self.exchange():
                pass
        except (raw_http.Ended, OSError, ValueError):
            pass
        finally:
            self.drop_store()
            self.from_client.close()
            self.client.close()

    def drop_store(self):
        if self.store:
            self.from_store.close()
            self.store.close()
            self.store = None

    def exchange(self):
        """Whether another one may follow."""
        request = raw_http.Message(self.from_client)
        record, rule = self.rules.begin(request, self.number)
        try:
            rule = rule or {"how": None}
            if rule["how"] == "stall_request":
                self.from_client.read(max(0, rule["bytes"] - len(request.head)))
                return self.wait_for_end()
            if request.headers.get("expect") == "100-continue":
                self.client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.read_body(self.from_client)
            record["request_bytes"] = len(request.body)
            return self.spoil(rule, request, record)
        finally:
            self.rules.end(record)

    def ask(self, request, record, data=None):
        if self.store and select.select([self.store], [], [], 0)[0]:
            self.drop_store()  # it has closed a connection that was idle
        if self.store is None:
            self.store = socket.create_connection(("127.0.0.1", self.to))
            self.store.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.from_store = self.store.makefile("rb")
        self.store.sendall(request.data if data is None else data)
        answer = raw_http.Message(self.from_store)
        while answer.words[1].startswith("1"):
            answer = raw_http.Message(self.from_store)
        if request.words[0] != "HEAD" and answer.words[1] not in ("204", "304"):
            answer.read_body(self.from_store)
        # The URL of an upload that is under way leads through here, too.
        own = request.headers.get("host", "").encode()
        answer.head = answer.head.replace(b"127.0.0.1:%d" % self.to, own or b"127.0.0.1")
        record.update(status=int(answer.words[1]), answer_bytes=len(answer.body))
        if answer.headers.get("connection", "").lower() == "close":
            self.drop_store()
        return answer

    def spoil(self, rule, request, record):
        how = rule["how"]
        if how == "cut_request":
            self.drop_store()
            with socket.create_connection(("127.0.0.1", self.to)) as store:
                store.sendall(request.data[:rule["bytes"]])
            return False
        if how == "flip_request":
            request.body = flip(request.body, rule["bytes"])
        if how in ("reset", "hang", "redirect", "answer", *REFUSALS):
            if rule.get("after"):
                self.ask(request, record)
            return self.stand_in(how, rule, request, record)
        answer = self.ask(request, record)
        if how == "delay":
            time.sleep(rule["seconds"])
        if how == "flip_answer":
            answer.body = flip(answer.body, rule["bytes"])
        data = answer.data
        if how in ("cut_answer", "stall_answer"):
            data = data[:rule["bytes"] if "bytes" in rule else len(answer.head) + rule["body_bytes"]]
        self.rules.end(record)  # the client may send the next request once it has this
        self.client.sendall(data)
        if how == "stall_answer":
            return self.wait_for_end()
        return how != "cut_answer" and self.store is not None

    def stand_in(self, how, rule, request, record):
        """What the client gets in the place of the store's answer."""
        if how == "hang":
            return self.wait_for_end()
        if how == "reset":
            self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        status, headers, body = rule.get("status", 307), {}, rule.get("body", "")
        if how == "redirect":
            headers = {"Location": rule["to"]}
        elif how in REFUSALS:
            status, headers, body = refusal(request, how)
        record["status"] = status
        body = body.encode()
        lines = [f"HTTP/1.1 {status} Fault", f"Content-Length: {len(body)}",
                 *(f"{name}: {value}" for name, value in {**headers, **rule.get("headers", {})}.items())]
        head = "\r\n".join(lines).encode() + b"\r\n\r\n"
        self.rules.end(record)
        self.client.sendall(head if request.words[0] == "HEAD" else head + body)
        return True

    def wait_for_end(self):
        # What the client still sends stays unread: a sender is held up, too.
        client = select.poll()
        client.register(self.client, select.POLLRDHUP)
        client.poll()
        return False


class Control(serving.Handler):
    def respond(self, body):
        rules = self.server.rules
        if self.command == "POST" and self.path == "/test/rules":
            rules.set(json.loads(body))
            return self.answer(200, b"{}")
        with rules.lock:
            told = serving.to_json({"log": rules.log})
        self.answer(200, told)


def accept(listener, rules, to):
    number = 0
    while True:
        client, _ = listener.accept()
        number += 1
        threading.Thread(target=Connection(rules, client, number, to).run, daemon=True).start()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rules = Rules(options.seed)
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    threading.Thread(target=accept, args=[listener, rules, options.to], daemon=True).start()
    control = serving.Server(("127.0.0.1", 0), Control)
    control.rules = rules
    serving.serve(control, ports=[listener.getsockname()[1], control.server_address[1]])


if __name__ == "__main__":
    main()
