"""What the stand-in master does that single recorded exchanges do not show."""

import http.client
import pathlib
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))

from patience import PATIENCE  # noqa: E402
from servers import TASK, USER, Server  # noqa: E402

API = "/api/v1"
ALLOCATION = API + "/allocations/1.aaaa.1"
POLL = ALLOCATION + "/signals/preemption?timeout_seconds="


def report(step, values, run_id=1, group="training", batches=None):
    return {"group": group, "metrics": {
        "trialId": 7, "trialRunId": run_id, "stepsCompleted": step,
        "metrics": {"avgMetrics": values, "batchMetrics": batches}}}


class Waiting(threading.Thread):
    """A call that waits, on a connection of its own."""

    def __init__(self, server, *request):
        super().__init__(daemon=True)
        self.server, self.request = server, request
        self.answer = None
        self.start()

    def run(self):
        connection = self.server.connect()
        try:
            self.answer = self.server.call(*self.request, connection=connection)
        except (OSError, http.client.HTTPException) as error:
            self.answer = error
        connection.close()

    def result(self):
        self.join(PATIENCE)
        return self.answer


class MasterTest(unittest.TestCase):
    def master(self, version="0.38.1", setup=None):
        server = Server("master", "--version", version)
        self.addCleanup(server.stop)
        if setup:
            server.control("POST", "setup", setup)
        return server

    def wait_for_requests(self, server, count):
        while len(server.control("GET", "requests")) < count:
            time.sleep(0.01)

    def test_looks_at_one_token_header_only(self):
        server = self.master()
        wrong = {"Authorization": "Bearer nothing"}
        for headers, status in [
                (TASK, 200), (USER, 200),
                ({"Grpc-Metadata-x-user-token": "Bearer user-token"}, 200),
                ({"Cookie": "auth=user-token"}, 200), ({}, 401), ({**TASK, **wrong}, 401),
                ({"Authorization": "Bearer task-token"}, 401),
                ({"Authorization": "bearer user-token"}, 401),
                ({"Grpc-Metadata-x-allocation-token": "Bearer user-token"}, 401)]:
            self.assertEqual(server.call("GET", API + "/me", None, headers)[0], status, headers)
        seen = [request["auth"] for request in server.control("GET", "requests")]
        self.assertEqual(seen, ["allocation", "bearer", "user", "cookie", "none",
                                "bearer+allocation", "bearer", "bearer", "allocation"])

    def test_tokens_end_with_what_they_are_for(self):
        server = self.master()
        server.control("POST", "end", {})
        self.assertEqual(server.call("GET", API + "/me")[0], 401)
        self.assertEqual(server.call("GET", API + "/me", None, USER)[0], 200)
        self.assertEqual(server.call("GET", POLL + "60", None, USER), (200, {"preempt": False}))
        server.control("POST", "expire")
        self.assertEqual(server.call("GET", API + "/me", None, USER)[0], 401)
        _, answer = server.call("POST", API + "/auth/login", {"username": "determined"}, {})
        new = {"Authorization": "Bearer " + answer["token"]}
        self.assertEqual(server.call("GET", API + "/me", None, new)[0], 200)

    def test_merges_metrics_and_refuses_what_contradicts(self):
        server = self.master("0.33.0")
        path = API + "/trials/7/metrics"
        for body, status in [
                (report(1, {"loss": 1}), 200), (report(1, {"loss": 1}), 200),
                (report(1, {"acc": 2}, batches=[{"x": 1}]), 200), (report(1, {"loss": 2}), 500),
                (report(1, {"acc": 2}, batches=[{"x": 1}]), 500),
                (report(2, {"loss": 1}, run_id=2), 500), (report(None, {"loss": 1}), 500),
                (report(None, {"a": 1}, group="cpu"), 200),
                (report(None, {"a": 1}, group="cpu"), 200)]:
            self.assertEqual(server.call("POST", path, body)[0], status, body)
        rows = server.control("GET", "state")["metrics"]
        seen = [(row["group"], row["step"], row["values"], row["received"]) for row in rows]
        self.assertEqual(seen, [("training", 1, {"loss": 1, "acc": 2}, 5),
                                ("cpu", None, {"a": 1}, 1), ("cpu", None, {"a": 1}, 1)])

    def test_refuses_repeated_metrics_in_0_19(self):
        server = self.master("0.19.10")
        body = {"trial_run_id": 1, "steps_completed": 5, "metrics": {"avg_metrics": {"loss": 1}}}
        path = API + "/trials/7/training_metrics"
        for status in (200, 500):
            self.assertEqual(server.call("POST", path, body)[0], status)
        [row] = server.control("GET", "state")["metrics"]
        self.assertEqual((row["values"], row["received"]), ({"loss": 1}, 2))

    def test_archives_what_an_earlier_run_reported_beyond(self):
        server = self.master()
        path = API + "/trials/7/metrics"
        for group in ("training", "validation", "a"):
            for step in (1, 2, 3):
                server.call("POST", path, report(step, {"loss": step}, group=group))
        self.assertEqual(server.control("POST", "next-run")["run_id"], 2)
        self.assertEqual(server.call("POST", path, report(2, {"loss": 9}, run_id=2)), (200, {}))
        archived = [(row["group"], row["step"]) for row in server.control("GET", "state")["metrics"]
                    if row["is_archived"]]
        self.assertEqual(archived, [("training", 2), ("training", 3), ("validation", 3), ("a", 3)])

    def test_polls_wait_for_the_signal(self):
        server = self.master()
        self.assertEqual(server.call("GET", POLL + "0"), (200, {"preempt": False}))
        poll = Waiting(server, "GET", POLL + "60")
        self.wait_for_requests(server, 2)
        server.control("POST", "preempt")
        self.assertEqual(poll.result(), (200, {"preempt": True}))
        at_once = [server.call("GET", POLL + "0")[1]["preempt"] for _ in range(4)]
        self.assertEqual(at_once, [False, True, False, True])
        self.assertEqual(server.call("GET", POLL + "1"), (200, {"preempt": True}))
        server.call("POST", ALLOCATION + "/signals/ack_preemption")
        [ack] = server.control("GET", "state")["allocations"]["1.aaaa.1"]["acks"]
        self.assertTrue(ack["preempted"])

    def test_containers_wait_for_each_other(self):
        server = self.master(setup={"resources_ids": ["c1", "c2"]})
        first = Waiting(server, "GET", ALLOCATION + "/resources/c2/rendezvous")
        self.wait_for_requests(server, 1)
        _, answer = server.call("GET", ALLOCATION + "/resources/c1/rendezvous")
        self.assertEqual(answer["rendezvousInfo"]["rank"], 0)
        self.assertEqual(first.result()[1]["rendezvousInfo"],
                         {"addresses": ["127.0.0.1", "127.0.0.2"], "rank": 1, "slots": [1, 1]})
        gather = [{"requestUuid": f"fe2fe4d5-505f-467e-b9be-3823f3c3530{n}", "numPeers": 2,
                   "data": {"n": n}} for n in (1, 2)]
        first = Waiting(server, "POST", ALLOCATION + "/all_gather", gather[0])
        self.wait_for_requests(server, 3)
        _, answer = server.call("POST", ALLOCATION + "/all_gather", gather[1])
        self.assertEqual(sorted(entry["n"] for entry in answer["data"]), [1, 2])
        self.assertEqual(first.result()[1], answer)

    def test_hands_out_operations_one_after_the_other(self):
        server = self.master("0.33.0", {"lengths": [10, 40]})
        seen = []
        for length in (10, 40):
            operation = server.call("GET", API + "/trials/7/searcher/operation")[1]
            seen.append((operation["op"]["validateAfter"]["length"], operation["completed"]))
            done = {"op": {"length": length}, "searcherMetric": 0.5}
            path = API + "/trials/7/searcher/completed_operation"
            self.assertEqual(server.call("POST", path, done)[0], 200)
            self.assertEqual(server.call("POST", path, done)[0], 500)
        self.assertEqual(seen, [("10", False), ("40", False)])
        self.assertTrue(server.call("GET", API + "/trials/7/searcher/operation")[1]["completed"])

    def test_unmanaged_trials_are_resumed_by_their_external_ids(self):
        server = self.master()
        config = '{"name": "x", "searcher": {"name": "single", "metric": "loss"}}'
        for run_id, steps in [(1, 0), (2, 30)]:
            _, answer = server.call("PUT", API + "/experiments/by-external-id/e1",
                                    {"config": config, "unmanaged": True}, USER)
            experiment = answer["experiment"]["id"]
            _, answer = server.call("PUT", API + "/trials", {
                "createTrialRequest": {"experimentId": experiment, "unmanaged": True},
                "externalTrialId": "t1"}, USER)
            trial = answer["trial"]
            start = f"{API}/trials/{trial['id']}/start"
            _, answer = server.call("POST", start, {"resume": True}, USER)
            self.assertEqual((answer["trialRunId"], answer["stepsCompleted"]), (run_id, steps))
            server.call("PATCH", f"{API}/trials/{trial['id']}", {"state": "STATE_RUNNING"}, USER)
            server.call("PATCH", f"{API}/trials/{trial['id']}", {}, USER)
            server.call("POST", API + "/checkpoints", {
                "uuid": f"fe2fe4d5-505f-467e-b9be-3823f3c3530{run_id}", "taskId": trial["taskId"],
                "metadata": {"steps_completed": 30}}, USER)
        state = server.control("GET", "state")["trials"][str(trial["id"])]
        self.assertEqual((state["states"], state["heartbeats"]), (["STATE_RUNNING"] * 2, 2))

    def test_fails_on_request(self):
        server = self.master()
        path = API + "/trials/7/progress"
        server.control("POST", "fail", [
            {"count": 2, "path": "progress", "status": 503, "after": "store"},
            {"path": "progress", "how": "drop", "skip": 1}])
        for progress, expected in [(0.1, 503), (0.2, 503), (0.3, 200)]:
            self.assertEqual(server.call("POST", path, {"progress": progress})[0], expected)
        for how, expected in [("drop", http.client.RemoteDisconnected),
                              ("cut", http.client.IncompleteRead),
                              ("garbage", http.client.BadStatusLine)]:
            if how != "drop":
                server.control("POST", "fail", {"how": how})
            with self.assertRaises(expected):
                server.call("POST", path, {"progress": 0.4})
            server.connection.close()
        state = server.control("GET", "state")
        self.assertEqual(state["trials"]["7"]["progress"], [0.1, 0.2, 0.3])
        self.assertEqual(state["faults_left"], 0)

    def test_a_restart_ends_calls_that_wait_and_keeps_what_is_stored(self):
        server = self.master()
        server.call("POST", API + "/trials/7/runner/metadata", {"state": "a"})
        poll = Waiting(server, "GET", POLL + "60")
        self.wait_for_requests(server, 2)
        server.control("POST", "restart")
        self.assertIsInstance(poll.result(), http.client.RemoteDisconnected)
        self.assertEqual(server.control("GET", "state")["trials"]["7"]["statuses"], ["a"])


if __name__ == "__main__":
    unittest.main()
