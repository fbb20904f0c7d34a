"""A web server that answers as it is told, and tells what it was asked.

POST /test/answers {"METHOD /path": ANSWER or [ANSWER...]} sets the answers to a path without its query, one after the
other, the last for ever; an ANSWER is {"status", "headers", "body"}, where the body is text or JSON. Anything else is
404.
GET /test/requests tells what came since then: [{"method", "path", "query", "headers", "body"}].
"""

import json
import threading
import urllib.parse

from . import serving

lock = threading.Lock()
answers = {}
requests = []


class Handler(serving.Handler):
    def respond(self, body):
        url = urllib.parse.urlsplit(self.path)
        with lock:
            if url.path == "/test/answers":
                answers.clear()
                answers.update(json.loads(body))
                requests.clear()
                self.answer(200, b"{}")
            elif url.path == "/test/requests":
                self.answer(200, serving.to_json({"requests": requests}))
            else:
                self.play(url, body)

    def play(self, url, body):
        headers = {name.lower(): value for name, value in self.headers.items()}
        requests.append({"method": self.command, "path": url.path, "query": url.query, "headers": headers,
                         "body": body.decode(errors="replace")})
        script = answers.get(f"{self.command} {url.path}", [])
        if isinstance(script, dict):
            script = [script]
        answer = {"status": 404} if not script else script[0] if len(script) == 1 else script.pop(0)
        told = answer.get("body", "")
        data = told.encode("latin-1") if isinstance(told, str) else json.dumps(told).encode()
        self.answer(answer.get("status", 200), data, answer.get("headers", {}).items())


if __name__ == "__main__":
    serving.serve(serving.Server(("127.0.0.1", 0), Handler))
