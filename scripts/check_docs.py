#!/usr/bin/env python3
"""Checks what the written pages promise: README shows tested examples, docs/api-map.md and docs/errors.md
name every function and code of the headers and nothing else, and docs/api-map.md has each name of the
Python reference (tests/data/seed) with its arguments and defaults, and nothing else. What pages quote
from the code is there (scripts/check_quotes.py). Every link leads to a file and a heading, and docs/README.md
to every page (scripts/doc_links.py)."""

import re
import sys
from pathlib import Path

from check_quotes import finds as quotes_not_found
from doc_links import broken_links, missing_in_index, unknown_names

root = Path(sys.argv[1])
failures = []

headers = "".join(path.read_text() for path in sorted(root.glob("include/det/*.h")))
functions = set(re.findall(r"^DET_API [^;(]*?(det_\w+)\(", headers, re.MULTILINE))
codes = set(re.findall(r"^#define (DET_(?:OK|DONE|PREEMPTED|E_\w+)) ", headers, re.MULTILINE))


def compare(page, expected, pattern):
    named = set(re.findall(pattern, (root / page).read_text(), re.MULTILINE))
    for name in sorted(expected - named):
        failures.append(f"{page} does not name {name}, which the headers have")
    for name in sorted(named - expected):
        failures.append(f"{page} names {name}, which the headers do not have")


compare("docs/api-map.md", functions, r"\b(det_\w+)\(\)")
compare("docs/errors.md", codes, r"^\| `(DET_\w+)`")

def rows_of_reference():
    """The names of the reference, each with its arguments: (name, ""), (name, argument), ..."""
    for line in (root / "tests/data/seed/core_api.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, *arguments = line.split(" ")
            yield from ((name.split(".")[-1], argument) for argument in ["", *arguments])


def rows_of_map():
    """The same of the tables: a row that begins with dots has arguments of the names above it."""
    names = []
    text = (root / "docs/api-map.md").read_text()
    for line in text[: text.index("## Functions without a counterpart")].splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 5 or cells[1] in ("Python", "---"):
            continue
        if not re.match("(both|store|HTTP|unsupported|no:)", cells[3]):
            failures.append(f"docs/api-map.md does not say with which master {cells[1]} is done")
        quoted = re.findall(r"`([^`]*)`", cells[1])
        if cells[1].startswith("⋯"):
            yield from ((name, argument) for name in names for argument in quoted)
        else:
            names = [name.split(".")[-1] for name in quoted]
            yield from ((name, "") for name in names)


reference, written = set(rows_of_reference()), set(rows_of_map())
for name, argument in sorted(reference - written):
    failures.append(f"docs/api-map.md has no row for {argument and f'argument {argument} of '}{name}")
for name, argument in sorted(written - reference):
    failures.append(
        f"docs/api-map.md has a row for {argument and f'argument {argument} of '}{name}, which the reference has not")

readme = (root / "README.md").read_text()
for language, example in ("c", "c/minimal.c"), ("cpp", "cpp/minimal.cc"), ("python", "python/minimal.py"):
    snippet = re.search(rf"```{language}\n(.*?)```", readme, re.DOTALL)
    if snippet is None or not (root / "examples" / example).read_text().endswith(snippet[1]):
        failures.append(f"the first block of {language} in README.md is not the program of examples/{example}")

failures += [*broken_links(root), *missing_in_index(root), *unknown_names(root)]
failures += quotes_not_found(root)

print("\n".join(failures))
sys.exit(1 if failures else 0)
