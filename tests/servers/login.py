"""A master that only knows its users: login [CERTIFICATE KEY], with TLS for those."""

import hashlib
import json
import sys
import threading
import urllib.parse

from . import serving

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


class Handler(serving.Handler):
    def tell(self, value, status=200):
        self.answer(status, json.dumps(value).encode())

    def refuse(self, status, code, reason, text):
        self.tell({"error": {"code": code, "reason": reason, "error": text}}, status)

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
        self.tell({"token": token, "user": user_object(name)})

    def respond(self, body):
        global broken
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        path = url.path.removeprefix("/prefix")
        with lock:
            if path == "/stats":
                return self.tell({"seen": seen, "bodies": bodies, "tokens": tokens, "headers": headers})
            if path == "/expire":
                tokens.clear()
                return self.tell({})
            if path == "/close-determined":
                users["determined"] = "closed"
                return self.tell({})
            if path == "/break":
                broken = int(query["status"])
                return self.tell({})
            seen[path] = seen.get(path, 0) + 1
            if path == "/api/v1/me":
                headers.clear()
                headers.update(self.headers.items())
            if path == "/api/v1/master":
                self.tell({"version": "0.38.1", "clusterId": "c", "clusterName": "", "masterId": "m"})
            elif path == "/api/v1/auth/login":
                self.log_in(json.loads(body))
            elif broken:
                self.refuse(broken, 13, "Internal", "out of order")
            elif self.user() is None:
                self.refuse(401, 16, "Unauthenticated", "invalid credentials")
            elif path == "/api/v1/me":
                self.tell({"user": user_object(self.user())})
            elif path == "/api/v1/auth/logout":
                del tokens[self.headers["Authorization"].split(" ")[1]]
                self.tell({})
            else:
                self.refuse(501, 12, "Unimplemented", "Not Implemented")


if __name__ == "__main__":
    serving.serve(serving.Server(("127.0.0.1", 0), Handler), tls=sys.argv[1:])
