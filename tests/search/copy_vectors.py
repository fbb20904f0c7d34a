#!/usr/bin/env python3
"""Copies recorded searches into tests/data/search: copy_vectors.py FOLDER. One element of a list a
line, as they come; the texts of error messages are left out."""

import json
import sys
from pathlib import Path

source = Path(sys.argv[1])
target = Path(__file__).resolve().parent.parent / "data" / "search"


def without_texts(value):
    if isinstance(value, dict):
        return {key: without_texts(child) for key, child in value.items() if key != "raw"}
    if isinstance(value, list):
        return [without_texts(child) for child in value]
    return value


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def write(path, document):
    lines = []
    for key, value in without_texts(document).items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            value = "[\n" + ",\n".join(map(compact, value)) + "\n]"
        else:
            value = compact(value)
        lines.append(f"{compact(key)}:{value}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


for name in ["sampling", "grid", "brackets", "restore"]:
    write(target / f"{name}.json", json.loads((source / f"{name}.json").read_text()))
for run in sorted((source / "search").glob("*.json")):
    write(target / "runs" / run.name, json.loads(run.read_text()))
