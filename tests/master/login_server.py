"""A master that only knows its users. Prints its port; ends with its stdin.

With a certificate and key as arguments it speaks TLS. Standard library only.
"""

import hashlib
import http.server
import json
import os
import ssl
import sys
import threading
import urllib.parse

SALT = "GubPEmmotfiK9TMD6Zdw"

lock = threading.Lock()
users = {"bob": "hunter2", "Zoë": "pässwort", "determined": ""}
inactive = {"lazy"}
tokens = {}  # token -> user
issued = 0
broken = 0  # the status that /api/v1/me answers instead
seen = {}  # path -> requests
bodies = []  # of the logins
headers = {}  # of the latest /api/v1/me


def hash_of(password):
    return hashlib.sha512((SALT + password).encode()).hexdigest() if password else ""


def user_object(name):
    return {"id": 1 + sorted(users).index(name), "username": name, "admin": name == "bob", "active": True,
            "displayName": "", "remote": False, "agentUserGroup": None}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, code, reason, text):
        self.answer({"error": {"code": code, "reason": reason, "error": text}}, status)

    def user(self):
        """Whose token came along."""
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        return tokens.get(token) if kind == "Bearer" else None

    def log_in(self, body):
        global issued
        name = body.get("username", "")
        bodies.append(body)
        if name in inactive:
            return self.refuse(403, 7, "PermissionDenied", "user not active")
        if name not in users or not body.get("isHashed") or body.get("password", "") != hash_of(users[name]):
            return self.refuse(401, 16, "Unauthenticated", "invalid credentials")
        issued += 1
        token = f"v2.public.token-of-{issued}-and-some-more-letters"
        tokens[token] = name
        self.answer({"token": token, "user": user_object(name)})

    def handle_any(self):
        global broken
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = url.path.removeprefix("/prefix")
        with lock:
            if path == "/stats":
                return self.answer({"seen": seen, "bodies": bodies, "tokens": tokens, "headers": headers})
            if path == "/expire":
                tokens.clear()
                return self.answer({})
            if path == "/close-determined":
                users["determined"] = "closed"
                return self.answer({})
            if path == "/break":
                broken = int(query["status"])
                return self.answer({})
            seen[path] = seen.get(path, 0) + 1
            if path == "/api/v1/me":
                headers.clear()
                headers.update(self.headers.items())
            if path == "/api/v1/master":
                self.answer({"version": "0.38.1", "clusterId": "c", "clusterName": "", "masterId": "m"})
            elif path == "/api/v1/auth/login":
                self.log_in(json.loads(text))
            elif broken:
                self.refuse(broken, 13, "Internal", "out of order")
            elif self.user() is None:
                self.refuse(401, 16, "Unauthenticated", "invalid credentials")
            elif path == "/api/v1/me":
                self.answer({"user": user_object(self.user())})
            elif path == "/api/v1/auth/logout":
                del tokens[self.headers["Authorization"].split(" ")[1]]
                self.answer({})
            else:
                self.refuse(501, 12, "Unimplemented", "Not Implemented")

    do_GET = do_POST = handle_any

    def log_message(self, *args):
        pass


def end_with_stdin():
    sys.stdin.buffer.read()
    os._exit(0)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.handle_error = lambda *_: None
threading.Thread(target=end_with_stdin, daemon=True).start()
os.write(1, b"%d\n" % server.server_address[1])  # at once: the test closes the pipe after it
server.serve_forever()
