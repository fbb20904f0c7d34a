#!/usr/bin/env python3
"""Prints what benchmarks said, from the log that Meson writes of them: one table of all rows, and then each one's other
lines. Usage: bench_table.py LOG"""

import json
import re
import sys

# As tests/bench/row.h and row.py print it.
ROW = re.compile(r"\| [^|]+\| [^|]+\| [^|]+\| [^|]+\| +\S+ x +\| [^|]*\|$")

with open(sys.argv[1], encoding="utf-8") as log:
    benchmarks = [json.loads(line) for line in log]
print("| what | detcore | rival | | ratio | goal |\n| --- | ---: | ---: | --- | ---: | --- |")
others = []
for benchmark in benchmarks:
    lines = [(line, ROW.match(line)) for line in benchmark.get("stdout", "").splitlines()]
    for line in (line for line, is_row in lines if is_row):
        print(re.sub(" +", " ", line))
    texts = [line for line, is_row in lines if not is_row]
    if texts:
        others += ["", benchmark["name"] + ":", *("  " + text for text in texts)]
print(*others, sep="\n")
