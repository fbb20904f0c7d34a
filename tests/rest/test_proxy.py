"""The proxy between a client and the stand-in master."""

import http.client
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))

from servers import Server  # noqa: E402

FAULTS = ["refuse", "delay", "cut_request", "cut_answer", "flip", "unavailable"]
STATUS = "/api/v1/trials/7/runner/metadata"


class ProxyTest(unittest.TestCase):
    def setUp(self):
        self.master = Server("master")
        self.addCleanup(self.master.stop)

    def proxy(self, *arguments):
        proxy = Server("spoiling_proxy", "--to", self.master.ports[0], *arguments)
        self.addCleanup(proxy.stop)
        return proxy

    def outcomes(self, proxy, count):
        """What becomes of so many requests, each on a connection of its own."""
        found = []
        for index in range(count):
            connection = proxy.connect()
            try:
                body = {"state": str(index)}
                found.append(proxy.call("POST", STATUS, body, connection=connection))
            except (OSError, http.client.HTTPException) as error:
                found.append(type(error).__name__)
            connection.close()
        return found

    def test_passes_everything_on_without_faults(self):
        proxy = self.proxy()
        for index in range(20):
            self.assertEqual(proxy.call("POST", STATUS, {"state": str(index)}), (200, {}))
        statuses = self.master.control("GET", "state")["trials"]["7"]["statuses"]
        self.assertEqual(statuses, [str(index) for index in range(20)])

    def test_each_fault_happens(self):
        proxy = self.proxy()
        for fault in FAULTS:
            proxy.control("POST", "mode", {**dict.fromkeys(FAULTS, 0), fault: 1})
            [outcome] = self.outcomes(proxy, 1)
            if fault == "unavailable":
                self.assertIn(outcome, [(502, "fault"), (503, "fault")])
            elif fault == "delay":
                self.assertEqual(outcome, (200, {}))
            elif fault in ("refuse", "cut_request"):
                self.assertIsInstance(outcome, str)
            self.assertEqual(proxy.control("GET", "mode")["counts"][fault], 1)

    def test_cut_answers_leave_the_request_done_and_cut_requests_do_not(self):
        proxy = self.proxy("--cut-answer", 1)
        self.outcomes(proxy, 3)
        proxy.control("POST", "mode", {"cut_answer": 0, "cut_request": 1})
        self.outcomes(proxy, 3)
        statuses = self.master.control("GET", "state")["trials"]["7"]["statuses"]
        self.assertEqual(statuses, ["0", "1", "2"])

    def test_hangs_until_the_client_leaves(self):
        proxy = self.proxy("--hang", 1)
        connection = http.client.HTTPConnection("127.0.0.1", proxy.ports[0], timeout=0.2)
        with self.assertRaises(TimeoutError):
            proxy.call("GET", "/info", connection=connection)
        connection.close()

    def test_the_same_seed_gives_the_same_faults(self):
        chances = ["--refuse", 0.2, "--cut-answer", 0.2, "--unavailable", 0.2]
        first = self.outcomes(self.proxy("--seed", 5, *chances), 40)
        self.assertEqual(self.outcomes(self.proxy("--seed", 5, *chances), 40), first)
        self.assertNotEqual(self.outcomes(self.proxy("--seed", 6, *chances), 40), first)


if __name__ == "__main__":
    unittest.main()
