"""The stand-in master against single recorded exchanges with real ones."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))

from servers.recording.cases import CASES, is_comparable, request_of, state_of  # noqa: E402
from servers import USER, Server  # noqa: E402

# Data of users, and what is there only where something was stored before.
USER_DATA = ("config", "Config", "hparams", "summaryMetrics", "metadata", "resources", "avgMetrics")
SOMETIMES = {"allocationId", "storageId", "metadata"}


def kind(value):
    return "number" if type(value) in (int, float) else type(value).__name__


def lacks(answer, recorded, path=""):
    """Where `answer` has not the form of the recorded one: missing keys and other types."""
    if isinstance(recorded, dict) and isinstance(answer, dict):
        if path.endswith(USER_DATA):
            return []
        found = [f"{path}.{name}" for name in recorded.keys() - answer.keys() - SOMETIMES]
        for name in recorded.keys() & answer.keys():
            found += lacks(answer[name], recorded[name], f"{path}.{name}")
        return found
    if None in (answer, recorded) or kind(answer) == kind(recorded):
        return []
    return [f"{path}: {kind(answer)} instead of {kind(recorded)}"]


class CasesTest(unittest.TestCase):
    def check(self, version):
        server = Server("master", "--version", version)
        self.addCleanup(server.stop)
        cases = [case for case in CASES if case["version"] == version and is_comparable(case)]
        self.assertGreater(len(cases), 15)
        for case in cases:
            setup, before = state_of(case)
            server.control("POST", "setup", setup)
            for request in before:
                self.assertEqual(server.call(*request, USER)[0], 200, (case["name"], request))
            method, path, body, raw = request_of(case)
            status, answer = server.call(method, path, body, USER, raw)
            with self.subTest(case["name"]):
                self.assertEqual(status, case["status"], answer)
                if status == 200:
                    self.assertEqual(lacks(answer, case["response"]), [])
                elif "error" in case["response"]:
                    for name in ("code", "reason"):
                        self.assertEqual(answer["error"][name], case["response"]["error"][name])

    def test_0_19_10(self):
        self.check("0.19.10")

    def test_0_33_0(self):
        self.check("0.33.0")

    def test_0_38_1(self):
        self.check("0.38.1")


if __name__ == "__main__":
    unittest.main()
