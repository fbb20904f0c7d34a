"""Gives tokens as Azure's identity services do: Entra ID, App Service and the machine's own.

A secret, header or assertion is right when it contains "right". /stats tells the requests seen, and
/fail?times=N&status=S makes the next N of them fail.
"""

import json
import threading
import urllib.parse

from . import serving

lock = threading.Lock()
seen = []
failures = []


class Handler(serving.Handler):
    def respond(self, body):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/stats":
            with lock:
                return self.answer(200, json.dumps(seen).encode())
        if url.path == "/fail":
            with lock:
                failures.extend([int(query["status"])] * int(query["times"]))
            return self.answer(200, b"{}")
        form = dict(urllib.parse.parse_qsl(body.decode()))
        with lock:
            seen.append({"path": url.path, **query, **form})
            number = len(seen)
            failure = failures.pop() if failures else None
        if failure:
            return self.answer(failure, b"not now")
        if url.path == "/metadata/identity/oauth2/token":
            is_right = self.headers.get("Metadata") == "true"
        elif url.path == "/msi":
            is_right = "right" in self.headers.get("X-IDENTITY-HEADER", self.headers.get("secret", ""))
        else:
            is_right = "right" in form.get("client_secret", form.get("client_assertion", ""))
        if not is_right:
            return self.answer(401, json.dumps({
                "error": "invalid_client",
                "error_description": "AADSTS7000215: Invalid client secret provided.\r\nTrace ID: 1"}).encode())
        token = {"access_token": f"token-{number}", "expires_in": "3600", "token_type": "Bearer"}
        return self.answer(200, json.dumps(token).encode())


if __name__ == "__main__":
    serving.serve(serving.Server(("127.0.0.1", 0), Handler))
