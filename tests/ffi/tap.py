"""Runs test functions one after another and reports in TAP."""

import os
import sys
import traceback

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from patience import PATIENCE  # noqa: E402, F401 for the tests


def run(tests, *arguments):
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        try:
            test(*arguments)
            print(f"ok {number} - {test.__name__}", flush=True)
        except Exception:  # the next test says more
            print(f"not ok {number} - {test.__name__}")
            print("# " + traceback.format_exc().replace("\n", "\n# "), flush=True)
