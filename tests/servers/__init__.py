"""The servers that tests start: each is a module here, run as `python3 tests/servers NAME ARGUMENT...`.
Standard library only. From Python, Server starts them and talks to them."""

import http.client
import json
import pathlib
import subprocess
import sys

from patience import PATIENCE

FOLDER = pathlib.Path(__file__).resolve().parent
WIRE = FOLDER.parent / "data" / "wire"
TASK = {"Grpc-Metadata-x-allocation-token": "Bearer task-token"}
USER = {"Authorization": "Bearer user-token"}


class Server:
    """One of the modules here; ends with stop(), or with this process."""

    def __init__(self, name, *arguments):
        self.process = subprocess.Popen([sys.executable, FOLDER, name, *map(str, arguments)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ports = [int(port) for port in self.process.stdout.readline().split()]
        self.connection = self.connect()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.ports[0], timeout=PATIENCE)

    def stop(self):
        self.connection.close()
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def call(self, method, path, body=None, headers=TASK, raw=None, connection=None):
        """(status, JSON or text)"""
        connection = connection or self.connection
        data = raw if raw is not None else None if body is None else json.dumps(body)
        connection.request(method, path, data, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text

    def control(self, method, name, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[-1], timeout=PATIENCE)
        status, answer = self.call(method, f"/test/{name}", body, {}, connection=connection)
        connection.close()
        assert status == 200, (status, answer)
        return answer
