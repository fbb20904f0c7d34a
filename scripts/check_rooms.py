#!/usr/bin/env python3
"""Checks the arrows of docs/conventions.md: an include points down only, nothing but the engine knows
the store, each room has its namespace, no two headers have one name, and ./test has each room."""

import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
failures = []
headers = {}  # by name, the first that has it

arrows = re.search(r"`([^`]*→[^`]*)`", (root / "docs/conventions.md").read_text()).group(1)
levels = [re.findall(r"\w+", level) for level in arrows.split("→")]
height = {room: len(levels) - level for level, rooms in enumerate(levels) for room in rooms}

sql = re.compile(
    r"\b(SELECT|INSERT (OR \w+ )?INTO|UPDATE \w+ SET|DELETE FROM|(CREATE|ALTER|DROP) TABLE|PRAGMA|"
    r"(BEGIN|COMMIT|ROLLBACK)\b( IMMEDIATE)?[\";])"
)
store = re.compile(r"\b(Database|Transaction|open_store)\b")


def room_of(path):
    if path.startswith("core/"):
        return path.split("/")[1]
    return path.split("/")[1 if path.startswith("wrappers/") else 0]


def look_at(path):
    room = room_of(path)
    text = re.sub(r"//.*", "", (root / path).read_text())
    for number, line in enumerate(text.splitlines(), 1):
        def tell(problem):
            failures.append(f"{path}:{number}: {problem}")

        namespace = re.match(r"(?:inline )?namespace (det(?:::\w+)*) ", line)
        own = {"base": "det", "cli": "det::cli"}.get(room, f"det::{room}")
        if namespace and room != "capi" and namespace.group(1) != own:
            tell(f"the room's namespace is {own}")

        include = re.match(r'#include [<"]([^>"]+)[>"]', line)
        if include:
            name = include.group(1)
            other = room_of(name) if name.startswith("core/") else room
            if other not in height:
                tell(f"docs/conventions.md has no room {other}")
            elif other != room and height[other] >= height[room]:
                tell(f"{room} stands on {other}, which the arrows of docs/conventions.md do not allow")
            if name.startswith("det/") and path.startswith("core/"):
                tell("the core stands on no public header")
            if name == "sqlite3.h" and not path.startswith("core/engine/sqlite/"):
                tell("only core/engine/sqlite knows SQLite")
            if name.startswith("core/engine/sqlite/") and room != "engine":
                tell("only core/engine knows how the store is made")
        elif room != "engine" and sql.search(line):
            tell("SQL outside core/engine")
        elif room not in ("engine", "base") and store.search(re.sub(r'"[^"]*"', '""', line)):
            tell("only core/engine has the store in its hands")


for folder in ["core", "capi", "wrappers/cli", "wrappers/nn", "wrappers/keras"]:
    for path in sorted((root / folder).rglob("*")):
        if path.suffix in (".cc", ".h"):
            look_at(path.relative_to(root).as_posix())
        if path.suffix == ".h" and headers.setdefault(path.name, path) != path:
            failures.append(f"{path.relative_to(root)}: {headers[path.name].relative_to(root)} has that name")

rooms = re.search(r'^rooms="([^"]*)"', (root / "test").read_text(), re.MULTILINE).group(1).split()
for room in sorted(path.name for path in (root / "core").iterdir() if path.is_dir()):
    if room not in rooms:
        failures.append(f"test: no part is the room {room}")

print("\n".join(failures))
sys.exit(1 if failures else 0)
