#!/usr/bin/env python3
"""Checks that what pages quote from the code is still there.

In docs/troubleshooting.md each code span in the first column of a table "Message" must be in a text of the
sources; `...` stands for what varies. In docs/limits.md and docs/upgrading.md each cell of a column "Source" is
`FILE`: `TEXT`, and FILE must have TEXT.

Usage: check_quotes.py ROOT"""

import re
import sys
from pathlib import Path

literal = r'"(?:[^"\\\n]|\\.)*"'
literals = re.compile(literal + r"(?:\s*[fr]?" + literal + ")*")
single = re.compile(r"'(?:[^'\\\n]|\\.)*'")


def texts_of(path):
    """The texts of a source, one a line; those that stand beside each other are one."""
    source = path.read_text(errors="replace")
    found = ["".join(part[1:-1] for part in re.findall(literal, whole)) for whole in literals.findall(source)]
    if path.suffix == ".py":
        found += [text[1:-1] for text in single.findall(source)]
    found += re.findall(r"^#error (.*)$", source, re.MULTILINE)
    return "\n".join(found).replace('\\"', '"').replace("\\'", "'").replace("\\\\", "\\")


def sources(root):
    for folder in ("core", "capi", "include", "wrappers"):
        yield from sorted(path for path in (root / folder).rglob("*") if path.suffix in (".cc", ".h", ".hpp", ".py"))


def tables(page):
    """Yields (line, cells of the heading, cells) for each row of each table."""
    heading = None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if not line.startswith("|"):
            heading = None
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if heading is None:
            heading = cells
        elif not set(line) <= set("|- :"):
            yield number, heading, cells


def spans(cell):
    return [quoted.strip() for _, quoted in re.findall(r"(`+)(.+?)\1(?!`)", cell)]


def message_finds(root, page):
    texts = [texts_of(path) for path in sources(root)]
    for number, heading, cells in tables(page):
        if heading[0] != "Message":
            continue
        if not spans(cells[0]):
            yield f"{page.relative_to(root)}:{number} quotes no message"
        for quoted in spans(cells[0]):
            parts = [part.strip() for part in quoted.split("...") if part.strip()]
            if max(map(len, parts), default=0) < 12:
                yield f"{page.relative_to(root)}:{number} quotes too little to search for: {quoted}"
            elif not any(all(part in text for part in parts) for text in texts):
                yield f"{page.relative_to(root)}:{number} quotes a message that no source has: {quoted}"


def limit_finds(root, page):
    for number, heading, cells in tables(page):
        if "Source" not in heading:
            continue
        named = spans(cells[heading.index("Source")])
        if len(named) != 2 or not (root / named[0]).is_file():
            yield f"{page.relative_to(root)}:{number} names no file and text of it as the source"
        elif " ".join(named[1].split()) not in " ".join((root / named[0]).read_text().split()):
            yield f"{page.relative_to(root)}:{number}: {named[0]} does not have: {named[1]}"


def finds(root):
    return [
        *message_finds(root, root / "docs/troubleshooting.md"),
        *limit_finds(root, root / "docs/limits.md"),
        *limit_finds(root, root / "docs/upgrading.md"),
    ]


if __name__ == "__main__":
    found = finds(Path(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
