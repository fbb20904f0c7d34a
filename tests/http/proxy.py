"""A forward proxy: CONNECT for https, absolute URLs for http. Prints its port; ends with its stdin.

Asked for /stats itself, it tells what came through: {"requests": [{"method", "target", "headers"}]}.
Tunnels to a host whose name begins with "forbidden" are refused. Standard library only.
"""

import http.client
import http.server
import json
import os
import select
import socket
import sys
import threading
import urllib.parse

requests = []
HOP_BY_HOP = {"proxy-connection", "connection", "proxy-authorization"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def note(self):
        headers = {name.lower(): value for name, value in self.headers.items()}
        requests.append({"method": self.command, "target": self.path, "headers": headers})

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_CONNECT(self):
        self.note()
        host, port = self.path.rsplit(":", 1)
        if host.startswith("forbidden"):
            self.answer(403)
            return
        with socket.create_connection((host, int(port))) as master:
            self.send_response(200)
            self.end_headers()
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

    def forward(self):
        if self.path == "/stats":
            self.answer(200, json.dumps({"requests": requests}).encode())
            return
        self.note()
        url = urllib.parse.urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        master = http.client.HTTPConnection(url.netloc)
        master.request(self.command, url.path, body, headers)
        answer = master.getresponse()
        self.answer(answer.status, answer.read())
        master.close()

    do_GET = do_POST = forward

    def log_message(self, *args):
        pass


class Proxy(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # clients that leave are part of the tests


def end_with_stdin():
    sys.stdin.buffer.read()
    os._exit(0)


proxy = Proxy(("127.0.0.1", 0), Handler)
threading.Thread(target=end_with_stdin, daemon=True).start()
os.write(1, b"%d\n" % proxy.server_address[1])
proxy.serve_forever()
