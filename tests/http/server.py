"""A web server that answers well or badly, as the path says. Prints its port; ends with its stdin.

With a certificate and key as arguments it speaks TLS. Standard library only.
"""

import gzip
import http.server
import json
import os
import select
import ssl
import sys
import threading
import urllib.parse

lock = threading.Lock()
seen = {}  # path -> requests
connections = 0
dropped = 0  # connections that the client closed while it waited


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        global connections
        with lock:
            connections += 1
        self.answered = 0
        super().setup()

    def answer(self, body=b"", status=200, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.answered += 1

    def raw(self, data):
        self.wfile.write(data)
        self.close_connection = True

    def handle_any(self):
        global dropped
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with lock:
            seen[url.path] = seen.get(url.path, 0) + 1
            nth = seen[url.path]
        kind = url.path.split("/")[1]
        if kind == "echo":
            told = {"method": self.command, "path": self.path, "body": body.decode(),
                    "headers": {name.lower(): value for name, value in self.headers.items()}}
            self.answer(json.dumps(told).encode(), Content_Type="application/json")
        elif kind == "stats":
            with lock:
                stats = {"seen": seen, "connections": connections, "dropped": dropped}
                text = json.dumps(stats).encode()
            self.answer(text)
        elif kind == "gzip":
            data = gzip.compress(b"x" * int(query["bytes"]))
            self.answer(data[: int(query.get("keep", len(data)))], Content_Encoding="gzip")
        elif kind == "huge":
            self.answer(b"x" * int(query["bytes"]))
        elif kind == "status":
            headers = {"Retry_After": query["after"]} if "after" in query else {}
            if nth <= int(query.get("times", 1 << 30)):
                self.answer(b'{"error":{"message":"so it is"}}', int(url.path.split("/")[2]), **headers)
            else:
                self.answer(b"at last")
        elif kind == "redirect":
            self.answer(b"", 302, Location=query["to"])
        elif kind == "hang":
            select.select([self.connection], [], [], 60)
            with lock:
                dropped += 1
            self.close_connection = True
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
                self.answer(b"at last")
        elif kind == "stale":  # a kept connection is closed under the next request
            if self.answered:
                self.close_connection = True
            else:
                self.answer(b"fresh")
        else:
            self.answer(b"", 404)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass  # clients that leave are part of the tests


def end_with_stdin():
    sys.stdin.buffer.read()
    os._exit(0)


server = Server(("127.0.0.1", 0), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    # The handshake belongs to the connection's thread: a client that refuses must not stop others.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=end_with_stdin, daemon=True).start()
os.write(1, b"%d\n" % server.server_address[1])  # at once: the test closes the pipe after it
server.serve_forever()
