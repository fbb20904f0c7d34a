"""Programs that no cluster schedules: examples/c/detached.c as a person would run it, and endings.cc
in each way that a program can end."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))

import servers  # noqa: E402
from patience import PATIENCE  # noqa: E402

ENDINGS, EXAMPLE = sys.argv.pop(), sys.argv.pop()


class Detached(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        self.master = servers.Server("master", "--version", "0.38.1")
        self.addCleanup(self.master.stop)

    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DET_")}
        # Sanitizers would take the place of the signal's own end.
        kept["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0"
        return kept | {"DET_MASTER": f"http://127.0.0.1:{self.master.ports[0]}",
                       "DET_HOME": self.home.name, "XDG_CONFIG_HOME": self.home.name}

    def run_example(self, *command):
        return subprocess.run(command or [EXAMPLE], env=self.environment(), capture_output=True, text=True,
                              timeout=PATIENCE)

    def state(self):
        status, state = self.master.call("GET", "/test/state")
        self.assertEqual(status, 200)
        return state

    def trial(self):
        """The one that is not there from the beginning."""
        (trial,) = [trial for trial in self.state()["trials"].values() if trial["task_id"] != "1.aaaa"]
        return trial

    def test_it_is_a_completed_trial_with_its_metrics_and_output(self):
        done = self.run_example()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("weight 3.000", done.stdout)
        self.assertEqual(self.trial()["state"], "STATE_COMPLETED")
        self.assertEqual(len(self.state()["metrics"]), 100)
        lines = [line["log"] for line in self.state()["logs"]]
        self.assertEqual("".join(lines), done.stdout)

    def test_started_again_it_is_the_next_run_of_the_same_trial(self):
        self.run_example()
        first = self.trial()
        self.run_example()
        self.assertEqual(self.trial()["task_id"], first["task_id"])
        self.assertEqual((first["run_id"], self.trial()["run_id"]), (1, 2))

    def test_however_a_program_ends_its_master_hears_of_it(self):
        for how, status, state in [
                ("exit 0", 0, "STATE_COMPLETED"), ("exit 3", 3, "STATE_ERROR"),
                ("throw", -signal.SIGABRT, "STATE_ERROR"), ("close", 0, "STATE_ERROR"),
                (signal.SIGTERM, -signal.SIGTERM, "STATE_ERROR"),
                (signal.SIGINT, -signal.SIGINT, "STATE_ERROR"),
                (signal.SIGSEGV, -signal.SIGSEGV, "STATE_ERROR"),
                ("_exit", 0, "STATE_RUNNING"), (signal.SIGKILL, -signal.SIGKILL, "STATE_RUNNING")]:
            with self.subTest(how=how):
                self.master = servers.Server("master", "--version", "0.33.0")
                self.addCleanup(self.master.stop)
                text = how if isinstance(how, str) else str(int(how))
                done = self.run_example(ENDINGS, text)
                self.assertEqual(done.returncode, status)
                self.assertEqual(self.trial()["state"], state)
                if state == "STATE_RUNNING":
                    continue  # nobody was left to tell
                self.assertEqual(done.stdout, "WARNING: a whole line\nthe rest")
                self.assertEqual(len(self.state()["metrics"]), 1)
                logs = [(line["log"], line["level"], line["rank_id"]) for line in self.state()["logs"]
                        if "terminate" not in line["log"] and "what()" not in line["log"]]
                self.assertEqual(logs, [("WARNING: a whole line\n", "WARNING", 0),
                                        ("the rest\n", "INFO", 0)])


if __name__ == "__main__":
    unittest.main()
