"""The replay, asked by a client that does exactly what was recorded, and by ones that do not."""

import http.client
import json
import pathlib
import socket
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))

from servers import WIRE, Server  # noqa: E402
from servers.recording.exchanges import POLL  # noqa: E402

SCENARIOS = sorted(path for path in WIRE.glob("*/*.jsonl") if path.stem != "answers")
PAUSED = WIRE / "0.38.1" / "s3_pause.jsonl"
CLEAN = {"missing": [], "unexpected": [], "different": [], "out_of_order": []}


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class Poll(threading.Thread):
    """A poll that waits beside the others."""

    def __init__(self, server, row):
        super().__init__(daemon=True)
        self.connection = server.connect()
        self.server, self.row = server, row
        self.answer = None
        self.start()

    def run(self):
        try:
            self.answer = self.server.call("GET", f"{self.row['path']}?{self.row['query']}",
                                           connection=self.connection)
        except (OSError, http.client.HTTPException) as error:  # the recorded end of some
            self.answer = error

    def leave(self):
        if self.connection.sock:
            self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.end()

    def end(self):
        self.join(10)
        self.connection.close()


def play(server, rows):
    """Sends the requests; the answers of the polls that had one."""
    polls = []
    for row in rows:
        if POLL.search(row["path"]):
            for poll in polls:  # one after the other, as a real client
                if poll.row["path"] == row["path"]:
                    poll.join(10)
            polls.append(Poll(server, row))
        elif row.get("ended") == "master":
            try:
                server.call(row["method"], row["path"], row.get("body"))
                raise AssertionError("the master should have left")
            except OSError:
                server.connection.close()
        else:
            status, answer = server.call(row["method"], row["path"], row.get("body"))
            assert status == row.get("status", 200), (row, status, answer)
    for poll in polls:
        if poll.row.get("ended") == "client":
            poll.leave()
        else:
            poll.end()
    return [(poll.row, poll.answer) for poll in polls if "ended" not in poll.row]


class ReplayTest(unittest.TestCase):
    def replay(self, path, rows):
        server = Server("replay", path)
        self.addCleanup(server.stop)
        polls = play(server, rows)
        report = server.control("GET", "report")
        return {name: report[name] for name in CLEAN}, polls

    def test_finds_nothing_wrong_with_what_was_recorded(self):
        for path in SCENARIOS:
            with self.subTest(path.stem):
                report, polls = self.replay(path, rows_of(path))
                self.assertEqual(report, CLEAN)
                for row, answer in polls:
                    self.assertEqual(answer, (200, row["response"]))

    def test_reports_what_is_missing(self):
        rows = rows_of(PAUSED)
        left_out = next(row for row in rows if row["path"].endswith("ack_preemption"))
        rows.remove(left_out)
        polls = [row for row in rows if POLL.search(row["path"])]
        report, _ = self.replay(PAUSED, [row for row in rows if row not in polls])
        self.assertEqual([row["n"] for row in report.pop("missing")], [left_out["n"]])
        self.assertEqual(list(report.values()), [[], [], []])

    def test_reports_what_was_not_recorded_differs_or_comes_too_early(self):
        rows = [row for row in rows_of(PAUSED) if not POLL.search(row["path"])]
        metrics = [row for row in rows if row["path"].endswith("/metrics")
                   and row["body"]["group"] == "training"]
        first, second = (rows.index(row) for row in metrics[:2])
        rows[first], rows[second] = rows[second], rows[first]
        metrics[5]["body"]["metrics"]["metrics"]["avgMetrics"]["loss"] = 77
        rows.append({"method": "POST", "path": "/api/v1/trials/4/early_exit", "status": 404,
                     "body": {"reason": "EXITED_REASON_INVALID_HP"}})
        report, _ = self.replay(PAUSED, rows)
        [unexpected] = report["unexpected"]
        self.assertEqual(unexpected["path"], "/api/v1/trials/4/early_exit")
        self.assertEqual([row["n"] for row in report["missing"]], [])
        self.assertEqual(len(report["out_of_order"]), 1)
        [difference] = report["different"]
        self.assertEqual(difference["received"], metrics[5]["body"])

    def test_lets_the_client_choose_uuids_and_times(self):
        path = WIRE / "unmanaged-0.38.1" / "unmanaged_plain.jsonl"
        recorded = [row["body"]["uuid"] for row in rows_of(path)
                    if (row["method"], row["path"]) == ("POST", "/api/v1/checkpoints")]
        text = path.read_text()
        for index, uuid in enumerate(recorded):
            text = text.replace(uuid, f"{index:08d}-1111-4111-8111-111111111111")
        rows = [json.loads(line) for line in text.splitlines()]
        for row in rows:
            if isinstance(row.get("body"), dict) and "reportTime" in row["body"]:
                row["body"]["reportTime"] = "2020-01-02T03:04:05Z"
        server = Server("replay", path)
        self.addCleanup(server.stop)
        for row in rows:
            answer = server.call(row["method"], row["path"], row.get("body"))
            self.assertEqual(answer, (row.get("status", 200), row.get("response", {})))
        report = server.control("GET", "report")
        self.assertEqual({name: report[name] for name in CLEAN}, CLEAN)

    def test_every_recording_has_a_script_that_tells_how_it_ends(self):
        for path in SCENARIOS:
            script = json.loads(path.with_suffix(".script.json").read_text())
            for leg in script["legs"]:
                self.assertIn(leg["calls"][-1][0], ("exit", "killed"), path)


if __name__ == "__main__":
    unittest.main()
