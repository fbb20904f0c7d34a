#!/usr/bin/env python3
"""Renews the pictures of docs/pictures: each .svg is made from the .dot beside it. Needs Graphviz.

Usage: pictures.py          writes rooms.dot from the includes of the code, then each picture that is out of date
       pictures.py --check  fails where a picture is older than its source, or rooms.dot is not what the code says
"""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

root = Path(__file__).resolve().parent.parent
folder = root / "docs/pictures"
MARK = "Made by scripts/pictures.py"
WRAPPERS = ["cli", "nn", "keras"]
STYLE = """  graph [bgcolor="white", fontname="Helvetica,Arial,sans-serif", pad=0.2, nodesep=0.3, ranksep=0.45]
  node [shape=box, style="filled,rounded", fillcolor="#eef3fb", color="#35507a", fontcolor="#111111",
        fontname="Helvetica,Arial,sans-serif", fontsize=12]
  edge [color="#35507a", fontcolor="#222222", fontname="Helvetica,Arial,sans-serif", fontsize=10]
"""


def arrows():
    """The rooms that the files of each room include."""
    places = {path.name: path for path in (root / "core").iterdir() if path.is_dir()}
    places |= {"capi": root / "capi"} | {name: root / "wrappers" / name for name in WRAPPERS}
    found = {room: set() for room in places}
    for room, place in places.items():
        for path in sorted(place.rglob("*")):
            if path.suffix not in (".cc", ".cu", ".h"):
                continue
            for name in re.findall(r'^ *# *include "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
                parts = name.split("/")
                other = parts[1] if parts[0] in ("core", "wrappers") else parts[0]
                if other in places and other != room and len(parts) > 1:
                    found[room].add(other)
    return found


def reduced(graph):
    """Without the arrows that follow from others."""
    def reach(node):
        seen, todo = set(), [node]
        while todo:
            for other in graph[todo.pop()] - seen:
                seen.add(other)
                todo.append(other)
        return seen

    return {node: {other for other in others if not any(other in reach(third) for third in others - {other})}
            for node, others in graph.items()}


def rooms():
    lines = ["// Written by scripts/pictures.py from the includes of the code. Do not edit.", "digraph rooms {", STYLE.rstrip()]
    graph = reduced(arrows())
    for room in sorted(graph):
        colour = {"capi": ', fillcolor="#fdf1d8"'}.get(room, ', fillcolor="#e6f4e6"' if room in WRAPPERS else "")
        lines.append(f'  {room} [label="{room}"{colour}]')
    lines += [f"  {room} -> {other}" for room in sorted(graph) for other in sorted(graph[room])]
    return "\n".join([*lines, "}"]) + "\n"


def digest(source):
    return hashlib.sha256(source.encode()).hexdigest()


def renew():
    (folder / "rooms.dot").write_text(rooms(), encoding="utf-8")
    for path in sorted(folder.glob("*.dot")):
        source, picture = path.read_text(encoding="utf-8"), path.with_suffix(".svg")
        if picture.exists() and digest(source) in picture.read_text(encoding="utf-8"):
            continue
        svg = subprocess.run(["dot", "-Tsvg"], input=source, text=True, capture_output=True, check=True).stdout
        svg = re.sub(r"<!--.*?-->\n?", "", svg[svg.index("<svg"):], flags=re.DOTALL)
        picture.write_text(f"<!-- {MARK} of {path.name}: {digest(source)} -->\n{svg}", encoding="utf-8")
        print(picture.relative_to(root))


def check():
    failures = []
    if (folder / "rooms.dot").read_text(encoding="utf-8") != rooms():
        failures.append("rooms.dot: the rooms include others now")
    for path in sorted(folder.glob("*.dot")):
        picture = path.with_suffix(".svg")
        if not picture.exists() or digest(path.read_text(encoding="utf-8")) not in picture.read_text(encoding="utf-8"):
            failures.append(f"{picture.name} is not made from {path.name} as it is now")
    for path in sorted(folder.glob("*.svg")):
        if MARK in path.read_text(encoding="utf-8") and not path.with_suffix(".dot").exists():
            failures.append(f"{path.name} has no source any more")
    for failure in failures:
        print(f"docs/pictures/{failure}; run scripts/pictures.py")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(check() if sys.argv[1:] == ["--check"] else renew())
