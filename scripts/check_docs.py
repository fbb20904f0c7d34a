#!/usr/bin/env python3
"""Checks what the written pages promise: README shows a tested example, and docs/api-map.md and
docs/errors.md name every function and code of the headers and nothing else."""

import re
import sys
from pathlib import Path

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

snippet = re.search(r"```c\n(.*?)```", (root / "README.md").read_text(), re.DOTALL)
if snippet is None or snippet.group(1) != (root / "examples/c/minimal.c").read_text():
    failures.append("the first C snippet of README.md is not the text of examples/c/minimal.c")

for page in [root / "README.md", root / "CONTRIBUTING.md", *sorted(root.glob("docs/*.md"))]:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        if not (page.parent / target).exists():
            failures.append(f"{page.relative_to(root)} links to {target}, which does not exist")

print("\n".join(failures))
sys.exit(1 if failures else 0)
