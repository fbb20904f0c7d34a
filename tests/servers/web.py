"""A web server that answers well or badly, as the path says: web [CERTIFICATE KEY], with TLS for those."""

import gzip
import json
import select
import sys
import threading
import urllib.parse

from . import serving

lock = threading.Lock()
seen = {}  # path -> requests
connections = 0
dropped = 0  # connections that the client closed while it waited


class Handler(serving.Handler):
    def setup(self):
        global connections
        with lock:
            connections += 1
        self.answered = 0
        super().setup()

    def answer(self, *arguments, **named):
        super().answer(*arguments, **named)
        self.answered += 1

    def raw(self, data):
        self.wfile.write(data)
        self.close_connection = True

    def respond(self, body):
        global dropped
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        with lock:
            seen[url.path] = seen.get(url.path, 0) + 1
            nth = seen[url.path]
        kind = url.path.split("/")[1]
        if kind == "echo":
            told = {"method": self.command, "path": self.path, "body": body.decode(),
                    "headers": {name.lower(): value for name, value in self.headers.items()}}
            self.answer(200, json.dumps(told).encode())
        elif kind == "stats":
            with lock:
                stats = {"seen": seen, "connections": connections, "dropped": dropped}
                text = json.dumps(stats).encode()
            self.answer(200, text)
        elif kind == "gzip":
            data = gzip.compress(b"x" * int(query["bytes"]))
            self.answer(200, data[: int(query.get("keep", len(data)))], [("Content-Encoding", "gzip")])
        elif kind == "huge":
            self.answer(200, b"x" * int(query["bytes"]))
        elif kind == "status":
            headers = [("Retry-After", query["after"])] if "after" in query else []
            if nth <= int(query.get("times", 1 << 30)):
                self.answer(int(url.path.split("/")[2]), b'{"error":{"message":"so it is"}}', headers)
            else:
                self.answer(200, b"at last")
        elif kind == "redirect":
            self.answer(302, headers=[("Location", query["to"])])
        elif kind == "hang":
            select.select([self.connection], [], [], 60)
            with lock:
                dropped += 1
            self.close_connection = True
        elif kind == "cut-head":
            self.raw(b"HTTP/1.1 200 OK\r\nCo")
        elif kind == "cut":
            self.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
        elif kind == "cut-chunk":
            self.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nshort")
        elif kind == "garbage":
            self.raw(b"\x00\x01\x02 not HTTP at all\r\n\r\n")
        elif kind == "silent":
            if nth <= int(query.get("times", 1 << 30)):
                self.close_connection = True
            else:
                self.answer(200, b"at last")
        elif kind == "stale":  # a kept connection is closed under the next request
            if self.answered:
                self.close_connection = True
            else:
                self.answer(200, b"fresh")
        else:
            self.answer(404)


if __name__ == "__main__":
    serving.serve(serving.Server(("127.0.0.1", 0), Handler), tls=sys.argv[1:])
