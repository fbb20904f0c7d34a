"""What the servers share: HTTP/1.1 with kept connections, and the way they start and end. They print
their port, or ports, on the first line, and end with their standard input."""

import gzip
import http.server
import json
import os
import select
import socket
import ssl
import sys
import threading


def to_json(value):
    text = json.dumps(value, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode()


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection. Subclasses give respond(body), called for every request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # an answer leaves in one piece

    def respond(self, body):
        raise NotImplementedError

    def handle_request(self):
        length = self.headers.get("Content-Length", "0")
        body = self.rfile.read(int(length)) if length.isdigit() else b""
        if length.isdigit() and len(body) == int(length):
            self.respond(body)
        else:
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = handle_request

    def answer(self, status, body=b"", headers=(), compress=False):
        if compress and "gzip" in self.headers.get("Accept-Encoding", ""):
            body = gzip.compress(body, compresslevel=1)
            headers = [*headers, ("Content-Encoding", "gzip")]
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def is_gone(self):
        """Whether the client has closed the connection."""
        if not select.select([self.connection], [], [], 0)[0]:
            return False
        if isinstance(self.connection, ssl.SSLSocket):
            return True  # nothing else is to come from a client that waits for an answer
        try:
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        # Clients that leave are part of the tests; anything else is a mistake of ours.
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def _end_with_stdin():
    sys.stdin.buffer.read()
    os._exit(0)


def serve(server, tls=None, ports=None):
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*tls)
        # The handshake belongs to the connection's thread: a client that refuses stops no others.
        server.socket = context.wrap_socket(server.socket, server_side=True,
                                            do_handshake_on_connect=False)
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    told = " ".join(map(str, ports or [server.server_address[1]]))
    os.write(1, told.encode() + b"\n")  # at once: the test closes the pipe after it
    server.serve_forever()
