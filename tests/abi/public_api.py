"""The public functions as the headers declare them."""

import pathlib
import re

DECLARATION = re.compile(r"^(/\*\*(?:(?!\*/).)*\*/\n)?(DET_API\s[^;]+);", re.MULTILINE | re.DOTALL)


def declarations(folder):
    """Yields (header, doc block or None, declaration) for everything marked DET_API."""
    for header in sorted(pathlib.Path(folder).glob("*.h")):
        for doc, declaration in DECLARATION.findall(header.read_text()):
            yield header, doc or None, declaration


def functions(folder):
    """Yields (header, function name, its doc block or None)."""
    for header, doc, declaration in declarations(folder):
        name = re.search(r"\b(det_\w+)\(", declaration)
        yield header, name.group(1) if name else declaration, doc


def report(failures):
    """The exit status of a check."""
    for failure in failures:
        print(failure)
    return 1 if failures else 0
