"""The shared library may ask a machine for little: only certain libraries, and of each a version that the
oldest named system has.

Nor does it say in which directory it was built.

usage: check_dependencies.py READELF LIBRARY SOURCE_ROOT ALLOWED[=NEWEST,...]...

Each ALLOWED is a library by the start of its file name, and may limit the version nodes that are asked of
it: `libc.so=GLIBC_2.34`.
"""

import re
import subprocess
import sys
from pathlib import Path

import public_api


def read(readelf, option, library):
    return subprocess.run([readelf, option, "--wide", library], check=True, capture_output=True,
                          text=True, env={"LC_ALL": "C"}).stdout


def asked_versions(readelf, library):
    """What is asked of each library, by its file name."""
    asked = {}
    for line in read(readelf, "--version-info", library).splitlines():
        if found := re.search(r"Version: 1  File: (\S+)", line):
            versions = asked.setdefault(found[1], [])
        elif found := re.search(r"Name: (\S+)  Flags: .*  Version: ", line):
            versions.append(found[1])
    return asked


def number(version):
    return [int(part) for part in version.rpartition("_")[2].split(".")]


def main(readelf, library, source_root, *allowed):
    limits = dict(text.partition("=")[::2] for text in allowed)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", read(readelf, "--dynamic", library))
    versions = asked_versions(readelf, library)
    failures = [] if needed else [f"{library}: no library is needed at all?"]
    for name in needed:
        allowance = next((start for start in limits if name.startswith(start)), None)
        if allowance is None:
            failures.append(f"{library} needs {name}, which is not among {', '.join(limits)}")
            continue
        for newest in filter(None, limits[allowance].split(",")):
            for version in versions.get(name, []):
                if version.startswith(newest.rpartition("_")[0] + "_") and version[-1].isdigit():
                    if number(version) > number(newest):
                        failures.append(f"{library} asks {name} for {version}, newer than {newest}")
    if source_root.encode() in Path(library).read_bytes():
        failures.append(f"{library} has paths of {source_root} in it")
    return public_api.report(failures)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
