"""What scripts/count_tests.py makes of the logs of tests: test_count_tests.py SCRIPT"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = sys.argv.pop(1)
PASSED = {"name": "good", "result": "OK", "returncode": 0, "stdout": "1..2\nok 1 - a\nok 2 - b\n"}


def ended(*tests, options=()):
    """Exit status and text for one part that ran these tests."""
    with tempfile.TemporaryDirectory() as folder:
        log = "".join(json.dumps(test) + "\n" for test in tests)
        pathlib.Path(folder, "part.json").write_text(log)
        done = subprocess.run([sys.executable, SCRIPT, *options, folder], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class CountTests(unittest.TestCase):
    def expect(self, told, tests, status, strictly=None):
        """`strictly`: status and counts with --no-skips, where they are others."""
        for options in [], ["--no-skips"]:
            expected, lines = status, told
            if strictly and options:
                expected, lines = strictly[0], [strictly[1], *told[1:]]
            with self.subTest(options=options):
                code, text = ended(*tests, options=options)
                self.assertEqual(code, expected, text)
                for line in lines:
                    self.assertIn(line, text)

    def test_functions_of_tap_count_one_by_one(self):
        self.expect(["3 passed, 0 failed, 0 skipped"], [PASSED, {"name": "exit code", "result": "OK"}], 0)

    def test_a_skip_of_cmocka_is_named_and_fails_only_where_none_may_be(self):
        text = "1..2\nok 1 - a\n# SKIPPED: only root can mount\nnot ok 2 # SKIP mounts\n"
        skips = {"name": "disk", "result": "FAIL", "returncode": 0, "stdout": text}
        self.expect(["1 passed, 0 failed, 1 skipped", "SKIPPED part: disk: mounts: only root can mount\n"],
                    [skips], 0, (1, "1 passed, 1 failed, 0 skipped"))

    def test_a_skipped_program_is_named_with_its_reason(self):
        skipped = {"name": "nodes", "result": "SKIP", "returncode": 77, "stdout": "skipped: no network\n"}
        self.expect(["2 passed, 0 failed, 1 skipped", "SKIPPED part: nodes: no network\n"],
                    [PASSED, skipped], 0, (1, "2 passed, 1 failed, 0 skipped"))

    def test_a_skipped_plan_is_named_with_its_reason(self):
        skipped = {"name": "jobs", "result": "SKIP", "returncode": 0, "stdout": "1..0 # SKIP no Slurm\n"}
        self.expect(["0 passed, 0 failed, 1 skipped", "SKIPPED part: jobs: no Slurm\n"], [skipped], 0,
                    (1, "0 passed, 1 failed, 0 skipped"))

    def test_a_program_that_skips_without_a_word_is_named(self):
        self.expect(["0 passed, 0 failed, 1 skipped", "SKIPPED part: mute: no reason given\n"],
                    [{"name": "mute", "result": "SKIP", "returncode": 77}], 0,
                    (1, "0 passed, 1 failed, 0 skipped"))

    def test_an_allowed_reason_fails_nowhere(self):
        skipped = {"name": "cuda", "result": "SKIP", "returncode": 77, "stdout": "skipped: no GPU here\n"}
        self.expect(["0 passed, 0 failed, 1 skipped", "SKIPPED part: cuda: no GPU here\n"], [skipped], 0)

    def test_a_skip_hides_no_failure(self):
        text = "1..2\nnot ok 1 - a\nnot ok 2 # SKIP b\n"
        self.expect(["0 passed, 1 failed, 1 skipped", "FAILED part: disk (FAIL)"],
                    [{"name": "disk", "result": "FAIL", "returncode": 1, "stdout": text}], 1,
                    (1, "0 passed, 2 failed, 0 skipped"))

    def test_a_crash_after_a_skip_is_a_failure(self):
        text = "1..3\nok 1 - a\nnot ok 2 # SKIP b\n"
        self.expect(["1 passed, 1 failed, 1 skipped", "FAILED part: disk (ERROR)"],
                    [{"name": "disk", "result": "ERROR", "returncode": -11, "stdout": text}], 1,
                    (1, "1 passed, 2 failed, 0 skipped"))

    def test_a_time_out_is_a_failure(self):
        self.expect(["1 passed, 1 failed, 0 skipped", "FAILED part: slow (TIMEOUT)"],
                    [{"name": "slow", "result": "TIMEOUT", "returncode": -15, "stdout": "1..2\nok 1 - a\n"}], 1)

    def test_a_failure_says_what_it_was(self):
        text = "1..2\nok 1 - a\nnot ok 2 - b\n# is_there(key)\n# store.cc:7: error: Failure!\n"
        failed = {"name": "keys", "result": "ERROR", "returncode": 1, "stdout": text, "stderr": "a word\n"}
        self.expect(["1 failed", "FAILED part: keys (ERROR); see ", "part.txt\n    not ok 2 - b\n    # is_there(key)\n"
                     "    # store.cc:7: error: Failure!\n    a word\n"], [failed, PASSED], 1)

    def test_a_program_that_failed_is_heard_at_its_end(self):
        text = "".join(f"line {number}\n" for number in range(100))
        code, told = ended({"name": "deb", "result": "FAIL", "returncode": 1, "stdout": text})
        self.assertEqual(code, 1)
        self.assertIn("    line 80\n", told)
        self.assertNotIn("    line 79\n", told)

    def test_a_part_without_tests_is_a_failure(self):
        self.expect(["FAILED part: no test ran"], [], 1)

    def test_a_folder_without_logs_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True)
            self.assertEqual(done.returncode, 1)


unittest.main()
