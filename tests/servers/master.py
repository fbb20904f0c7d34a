"""A stand-in for a real master: keeps state and answers as a master of the given version does, so
far as clients of the Core API see it. See fake/control.py for what tests may ask of it, and
fake/faults.py for how it fails on request.

  master --version 0.38.1 [--host 127.0.0.1] [--port 0] [--tls CERTIFICATE KEY] [--setup FILE]
"""

import argparse
import json
import socket
import time
import urllib.parse

from . import serving
from .fake import faults, identity
from .fake.control import CONTROLS
from .fake.message import NOTHING, parse_body
from .fake.refusal import Refusal, invalid
from .fake.routes import V19, find_route, unknown_plain_path
from .fake.world import World
from .fake import (  # noqa: F401  (for their routes)
    checkpoints, logs, meeting, metrics, searcher, signals, training, unmanaged)


class ClientLeft(Exception):
    pass


class Call:
    """One request, as the functions of the routes see it."""

    def __init__(self, handler, world, path, query, body):
        self.handler, self.world = handler, world
        self.segments = path.split("/")
        self.query = query
        self.body = body
        self.path = {}
        self.tokens = identity.token_headers(handler.headers)
        self.user = None
        self.headers = []  # of the answer

    def wait_until(self, is_so, ends=float("inf")):
        """Gives the world away until `is_so` or the time `ends`."""
        restarts = self.world.restarts
        while not is_so() and time.monotonic() < ends:
            self.world.changed.wait(min(0.1, max(0, ends - time.monotonic())))
            if self.world.restarts != restarts or self.handler.is_gone():
                raise ClientLeft


class Handler(serving.Handler):
    def setup(self):
        super().setup()
        self.server.open_connections.add(self.connection)

    def finish(self):
        self.server.open_connections.discard(self.connection)
        super().finish()

    def respond(self, body):
        url = urllib.parse.urlsplit(self.path)
        if url.path.startswith("/test/"):
            return self.control(url.path, body)
        query = dict(urllib.parse.parse_qsl(url.query))
        world = self.server.world
        call = Call(self, world, url.path, query, NOTHING)
        record = {"method": self.command, "path": url.path, "query": query,
                  "auth": "+".join(kind for kind, _ in call.tokens) or "none",
                  "body": body.decode("utf-8", "replace"), "connection": self.client_address[1]}
        with world.changed:
            world.requests.append(record)
            fault = self.server.faults.take(self.command, url.path)
        if fault is not None and fault["how"] == "delay":
            time.sleep(fault["seconds"])
            fault = None
        if url.path.endswith("metrics") and self.command == "POST":
            world.database.store(url.path)
        try:
            status, answer = 200, {}
            if fault is None or fault["after"] == "store":
                status, answer = self.carry_out(world, call, record, url.path, body)
        except ClientLeft:
            record["ended"] = "before the answer"
            self.close_connection = True
            return
        data = serving.to_json(answer)
        if fault is not None:
            record["fault"] = fault["how"]
            faults.give(fault, self, status, data)
        else:
            record["status"] = status
            self.answer(status, data, call.headers, compress=world.version > V19)

    def carry_out(self, world, call, record, path, data):
        with world.changed:
            try:
                route, call.path = find_route(world.version, self.command, path)
                if route is None:
                    raise unknown_plain_path(self.command, path, bool(call.tokens))
                if self.headers.get("Content-Encoding", "identity") != "identity":
                    raise invalid("the body is compressed")
                call.body = parse_body(data)
                record["body"] = None if call.body is NOTHING else call.body
                if route.needs_token:
                    call.user = identity.check_token(world, call.tokens)
                answer = 200, route.function(world, call)
                world.changed.notify_all()
                return answer
            except Refusal as refusal:
                if path.startswith("/api/") or "message" in refusal.body:
                    return refusal.status, refusal.body
                return 500, {"message": str(refusal)}

    def control(self, path, body):
        function = CONTROLS.get((self.command, path))
        if function is None:
            return self.answer(404, b'{"message":"no such control"}')
        world = self.server.world
        with world.changed:
            text = serving.to_json(function(self, json.loads(body or b"{}")))
            world.changed.notify_all()
        self.answer(200, text)


class Master(serving.Server):
    def __init__(self, host, port, world):
        super().__init__((host, port), Handler)
        self.world = world
        self.faults = faults.Faults()
        self.open_connections = set()
        self.down_until = 0.0

    def verify_request(self, request, client_address):
        return time.monotonic() >= self.down_until

    def go_down(self, seconds, spared):
        """Takes no connection for a while and ends those that are there, all but `spared`."""
        self.down_until = time.monotonic() + seconds
        self.world.restarts += 1
        for connection in self.open_connections - {spared}:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended by itself


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", default="0.38.1")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--tls", nargs=2)
    parser.add_argument("--setup", type=argparse.FileType())
    options = parser.parse_args()
    setup = json.load(options.setup) if options.setup else {}
    serving.serve(Master(options.host, options.port, World(options.version, setup)), options.tls)


if __name__ == "__main__":
    main()
