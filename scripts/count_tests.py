#!/usr/bin/env python3
"""Adds up Meson's test logs: one line for each part and the total, what failed and what was skipped.

Usage: count_tests.py [--no-skips] FOLDER, where FOLDER has one PART.json each, of one JSON object a
line as Meson writes them. A test that speaks TAP counts once for every function it runs. With
--no-skips a skipped test is a failure, unless allowed_skips.txt names its reason.
"""

import argparse
import collections
import json
import re
import sys
from pathlib import Path

# cmocka writes "not ok 7 # SKIP name", and what a test printed before it says why.
TAP_LINE = re.compile(
    r"^(?P<negated>not )?ok\b *\d*(?: - )?(?P<name>[^#\n]*)(?P<skip># *skip\S*)?(?P<rest>.*)$"
    r"|^# *skipped: *(?P<reason>.*)$|^1\.\.0 *# *skip\S* *(?P<whole>.*)$", re.MULTILINE | re.IGNORECASE)
PLAN_LINE = re.compile(r"^1\.\.\d+", re.MULTILINE)
GOOD = {"OK", "EXPECTEDFAIL"}


class Outcome:
    """What one entry of a log says: counts of passed and failed, and why each of the others was skipped."""

    def __init__(self, test):
        self.count = collections.Counter()
        self.skipped = []
        output = test.get("stdout", "")
        if PLAN_LINE.search(output):
            self.read_tap(output)
        if test["result"] == "SKIP":
            self.skipped = self.skipped or [reason_of(output)]
        elif self.skipped and not self.count["failed"] and test.get("returncode") == 0:
            pass  # Meson takes the skips of cmocka for failures
        elif test["result"] not in GOOD:  # a crash or a time-out may leave no failed line behind
            self.count["failed"] = max(self.count["failed"], 1)
        elif not self.count:
            self.count["passed"] = 1
        self.count["skipped"] = len(self.skipped)

    def read_tap(self, output):
        reason = ""
        for line in TAP_LINE.finditer(output):
            if line["whole"] is not None:
                self.skipped.append(line["whole"])
            elif line["reason"] is not None:
                reason = line["reason"]
            elif line["skip"]:
                texts = line["name"], line["rest"], reason
                self.skipped.append(": ".join(text.strip() for text in texts if text.strip()))
                reason = ""
            else:
                self.count["failed" if line["negated"] else "passed"] += 1


def reason_of(output):
    """A program that is skipped says why on its last line."""
    lines = output.strip().splitlines() or ["no reason given"]
    return lines[-1].removeprefix("skipped: ")


def evidence_of(test, most=20):
    """What a test that failed said last; of one that speaks TAP its failures and what follows them."""
    output = test.get("stdout", "")
    if not output and "log" in test:
        output = Path(test["log"]).read_text(errors="replace")
    lines = output.splitlines()
    if PLAN_LINE.search(output):
        passed = re.compile(r"ok\b|1\.\.\d|not ok\b.*# *skip", re.IGNORECASE)
        lines = [line for line in lines if not passed.match(line)]
    lines += test.get("stderr", "").splitlines()
    return ["    " + line for line in lines if line.strip()][-most:]


def describe(count):
    return ", ".join(f"{count[kind]} {kind}" for kind in ("passed", "failed", "skipped"))


def allowed_reasons():
    lines = Path(__file__).with_name("allowed_skips.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-skips", action="store_true")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    allowed = allowed_reasons()
    total = collections.Counter()
    failures, skips = [], []
    print()
    for log in sorted(options.folder.glob("*.json"), key=lambda path: path.stat().st_mtime):
        part = collections.Counter()
        for line in log.read_text().splitlines():
            test = json.loads(line)
            outcome = Outcome(test)
            part.update(outcome.count)
            if outcome.count["failed"]:
                where = test.get("log", log.with_suffix(".txt"))
                failures.append(f"FAILED {log.stem}: {test['name']} ({test['result']}); see {where}")
                failures.extend(evidence_of(test))
            for reason in outcome.skipped:
                unexpected = options.no_skips and not any(text in reason for text in allowed)
                (failures if unexpected else skips).append(f"SKIPPED {log.stem}: {test['name']}: {reason}")
                if unexpected:
                    part.update(failed=1, skipped=-1)
        if not sum(part.values()):
            failures.append(f"FAILED {log.stem}: no test ran")
        print(f"{log.stem:<12}: {describe(part)}")
        total.update(part)
    for lines in skips, failures:
        if lines:
            print("\n" + "\n".join(lines))
    print(f"\n{describe(total)}")
    return 1 if failures or not total else 0


if __name__ == "__main__":
    sys.exit(main())
