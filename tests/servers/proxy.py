"""A forward proxy: CONNECT for https, absolute URLs for http.

Asked for /stats itself, it tells what came through: {"requests": [{"method", "target", "headers"}]}.
Tunnels to a host whose name begins with "forbidden" are refused.
"""

import http.client
import json
import select
import socket
import urllib.parse

from . import serving

requests = []
HOP_BY_HOP = {"proxy-connection", "connection", "proxy-authorization"}


class Handler(serving.Handler):
    def note(self):
        headers = {name.lower(): value for name, value in self.headers.items()}
        requests.append({"method": self.command, "target": self.path, "headers": headers})

    def do_CONNECT(self):
        self.note()
        host, port = self.path.rsplit(":", 1)
        if host.startswith("forbidden"):
            self.answer(403)
            return
        with socket.create_connection((host, int(port))) as master:
            self.send_response(200)
            self.end_headers()
            self.wfile.flush()
            self.relay(master)
        self.close_connection = True

    def relay(self, master):
        other = {self.connection: master, master: self.connection}
        while True:
            for ready in select.select(list(other), [], [])[0]:
                data = ready.recv(65536)
                if not data:
                    return
                other[ready].sendall(data)

    def respond(self, body):
        if self.path == "/stats":
            self.answer(200, json.dumps({"requests": requests}).encode())
            return
        self.note()
        url = urllib.parse.urlsplit(self.path)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        master = http.client.HTTPConnection(url.netloc)
        master.request(self.command, url.path, body, headers)
        answer = master.getresponse()
        self.answer(answer.status, answer.read())
        master.close()


if __name__ == "__main__":
    serving.serve(serving.Server(("127.0.0.1", 0), Handler))
