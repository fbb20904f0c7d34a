#!/usr/bin/env python3
"""Adds up Meson's test logs: one line for each part and the total, and what failed.

Usage: count_tests.py FOLDER, where FOLDER has one PART.json each, of one JSON object a line as
Meson writes them. A test that speaks TAP counts once for every function it runs.
"""

import collections
import json
import re
import sys
from pathlib import Path

RESULT_LINE = re.compile(r"^(not )?ok\b[^#\n]*(# *skip)?", re.MULTILINE | re.IGNORECASE)
PLAN_LINE = re.compile(r"^1\.\.\d+", re.MULTILINE)
GOOD = {"OK", "EXPECTEDFAIL"}


def outcomes(test):
    """Counts of passed, failed and skipped in one entry of a log."""
    count = collections.Counter()
    output = test.get("stdout", "")
    for negated, skipped in RESULT_LINE.findall(output) if PLAN_LINE.search(output) else []:
        count["failed" if negated else "skipped" if skipped else "passed"] += 1
    if test["result"] == "SKIP":
        count["skipped"] = max(count["skipped"], 1)
    elif test["result"] not in GOOD:  # a crash or a time-out may leave no failed line behind
        count["failed"] = max(count["failed"], 1)
    elif not count:
        count["passed"] = 1
    return count


def describe(count):
    return ", ".join(f"{count[kind]} {kind}" for kind in ("passed", "failed", "skipped"))


total = collections.Counter()
failures = []
print()
for log in sorted(Path(sys.argv[1]).glob("*.json"), key=lambda path: path.stat().st_mtime):
    part = collections.Counter()
    for line in log.read_text().splitlines():
        test = json.loads(line)
        count = outcomes(test)
        part.update(count)
        if count["failed"]:
            where = test.get("log", log.with_suffix(".txt"))
            failures.append(f"FAILED {log.stem}: {test['name']} ({test['result']}); see {where}")
    print(f"{log.stem:<12}: {describe(part)}")
    total.update(part)

if failures:
    print("\n" + "\n".join(failures))
print(f"\n{describe(total)}")
sys.exit(1 if total["failed"] or not total else 0)
