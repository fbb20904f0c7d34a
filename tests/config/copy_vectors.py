"""Copies the vectors of configurations that the tests compare with: copy_vectors.py SOURCE DESTINATION.

Leaves out the original's own texts, and which release words a problem how often.
"""

import json
import pathlib
import sys


def without_texts(case):
    for problem in case.get("errors", []):
        problem.pop("raw", None)
        problem.pop("lines", None)
    return case


def main():
    source, destination = map(pathlib.Path, sys.argv[1:])
    destination.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.glob("*.json")):
        content = json.loads(path.read_text())
        if isinstance(content, list):
            lines = [json.dumps(without_texts(case), ensure_ascii=False, separators=(",", ":"))
                     for case in content]
            text = "[\n" + ",\n".join(lines) + "\n]\n"
        else:
            text = path.read_text().rstrip() + "\n"
        (destination / path.name).write_text(text)


if __name__ == "__main__":
    main()
