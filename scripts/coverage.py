#!/usr/bin/env python3
"""Shows what the tests that ran in a build with -Db_coverage=true have covered: lines and branches of each
room, and the ten files that have the least. Branches that only an exception takes do not count.

Usage: coverage.py BUILD_FOLDER [ROOM...], from the root of the source; all rooms where none is named.
"""

import collections
import json
import subprocess
import sys

COUNTS = "line_covered", "line_total", "branch_covered", "branch_total"
ROOMS = {"core": 2, "capi": 1, "wrappers": 2}  # how many parts of a path name a room


def room_of(path):
    parts = path.split("/")
    return parts[ROOMS[parts[0]] - 1]


def measured(build):
    command = ["gcovr", "--root", ".", "--exclude-throw-branches", "--json-summary", "-", build]
    for folder in ROOMS:
        command += ["--filter", folder + "/"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    # Its warnings are of parts that were not built again, whose sources have changed.
    return json.loads(done.stdout)["files"]


def share(covered, total):
    return f"{100 * covered / total:5.1f} % of {total:6,}" if total else f"{'none':>17}"


def main(build, *names):
    files = measured(build)
    named = set(names) & {room_of(file["filename"]) for file in files}
    files = [file for file in files if not named or room_of(file["filename"]) in named]
    rooms = collections.defaultdict(collections.Counter)
    for file in files:
        for room in room_of(file["filename"]), "total":
            rooms[room].update({key: file[key] for key in COUNTS})
    print(f"\n{'room':<12} {'lines':>17}   {'branches':>17}")
    for room in sorted(rooms, key=lambda room: (room == "total", room)):
        count = rooms[room]
        print(f"{room:<12} {share(count['line_covered'], count['line_total'])}   "
              f"{share(count['branch_covered'], count['branch_total'])}")
    print("\nThe least covered files")
    files = [file for file in files if file["line_total"]]
    for file in sorted(files, key=lambda file: file["line_covered"] / file["line_total"])[:10]:
        print(f"  {share(file['line_covered'], file['line_total'])}   {file['filename']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
