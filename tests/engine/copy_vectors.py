#!/usr/bin/env python3
"""Copies the vectors of tests/engine from a folder that has them all: copy_vectors.py FOLDER."""
import json
import pathlib
import sys

TARGET = pathlib.Path(__file__).parents[1] / "data/engine/gc.json"

recorded = json.loads((pathlib.Path(sys.argv[1]) / "gc.json").read_text())
for world in recorded["worlds"]:
    for refused in world.get("refused_events", []):
        del refused["raw"]  # the texts of others
lines = [json.dumps(world, separators=(",", ":")) for world in recorded["worlds"]]
TARGET.write_text('{"metric":%s,"worlds":[\n' % json.dumps(recorded["metric"]) + ",\n".join(lines)
                  + "\n]}\n")
