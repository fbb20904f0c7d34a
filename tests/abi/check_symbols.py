"""Headers, version script and shared library must name the same functions.

usage: check_symbols.py HEADER_FOLDER VERSION_SCRIPT NM LIBRARY HEADER...

Each HEADER is the name, without .h, of one whose functions are in that library.
"""

import pathlib
import re
import subprocess
import sys

import public_api


def in_version_script(path):
    return re.findall(r"^\s*(det_\w+);$", pathlib.Path(path).read_text(), re.MULTILINE)


def in_library(nm, path):
    listing = subprocess.run([nm, "-D", "--defined-only", path], check=True, capture_output=True)
    symbols = [line.split()[1:] for line in listing.stdout.decode().splitlines()]
    # "A" is the version node itself.
    return [name.split("@")[0] for kind, name in symbols if kind != "A"]


def main(folder, script, nm, library, *headers):
    declared = {
        name for header, name, _ in public_api.functions(folder) if header.stem in headers
    }
    listed = in_version_script(script)
    exported = set(in_library(nm, library))
    failures = []
    if listed != sorted(set(listed)):
        failures.append(f"{script}: names are not sorted, or one is there twice")
    for name in sorted(declared | set(listed) | exported):
        places = {"headers": name in declared, script: name in listed, library: name in exported}
        missing = [place for place, there in places.items() if not there]
        if missing:
            failures.append(f"{name}: missing in {', '.join(missing)}")
    if not declared:
        failures.append(f"{folder}: no public function found")
    return public_api.report(failures)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
