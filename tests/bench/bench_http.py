#!/usr/bin/env python3
"""Reports over HTTP to a server that answers at once: bench_http.py SERVER PROGRAM FOLDER.

Rivals in the same run: Python's http.client, and upstream's session, which is installed in FOLDER; both
send the next report after the answer to the last one, as upstream does.
"""

import http.client
import json
import subprocess
import sys
import time

from row import row
from upstream import install_upstream

GOAL = 1
WINDOWS = (1, 8, 16, 32)
SECONDS = 2


def report(step):
    values = {"loss": 0.6931471805599453, "accuracy": 0.5128, "learning_rate": 0.001, "gradient_norm": 2.000123}
    metrics = {"avgMetrics": values, "batchMetrics": None}
    inner = {"trialId": 7, "trialRunId": 1, "stepsCompleted": step, "reportTime": None, "metrics": metrics}
    return {"group": "training", "metrics": inner}


def drained(post):
    """Reports a second that `post` gets through."""
    done, begin = 0, time.monotonic()
    while time.monotonic() < begin + SECONDS:
        post("/api/v1/trials/7/metrics", report(done))
        done += 1
    return done / (time.monotonic() - begin)


def by_http_client(url):
    connection = http.client.HTTPConnection(url.removeprefix("http://"))
    headers = {"Authorization": "Bearer v2.public.token"}

    def post(path, body):
        connection.request("POST", path, json.dumps(body), headers)
        connection.getresponse().read()

    return drained(post)


def by_upstream(url):
    from determined.common import api

    with api.Session(url, "user", "v2.public.token", None) as session:
        return drained(lambda path, body: session.post(path, json=body))


def main(server, program, folder):
    with subprocess.Popen([server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as serving:
        url = "http://127.0.0.1:" + serving.stdout.readline().strip()
        windows = [str(window) for window in WINDOWS]
        lines = subprocess.run([program, url, *windows], stdout=subprocess.PIPE, text=True, check=True).stdout
        rivals = {"Python's http.client": by_http_client(url)}
        if python := install_upstream(folder):
            asked = [python, __file__, "upstream", url]
            told = subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True).stdout
            rivals["upstream's session"] = float(told)
        serving.stdin.close()
    for window, rate in (line.split() for line in lines.splitlines()):
        for name, rival in rivals.items():
            row(f"reports over HTTP, {window} under way", float(rate), name, rival, "reports/s", GOAL)


if __name__ == "__main__":
    if sys.argv[1] == "upstream":
        print(by_upstream(sys.argv[2]))
    else:
        main(*sys.argv[1:])
