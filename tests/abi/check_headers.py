"""Every public function has a comment that says since when, and every header is compiled alone.

usage: check_headers.py HEADER_FOLDER COMPILED_HEADER...
"""

import pathlib
import re
import sys

import public_api


def main(folder, *compiled):
    failures = []
    for header, name, doc in public_api.functions(folder):
        if doc is None:
            failures.append(f"{header}: {name} has no comment")
        elif not re.search(r"@since \d+\.\d+", doc):
            failures.append(f"{header}: {name} has no @since")
    present = {header.stem for header in pathlib.Path(folder).glob("*.h")}
    for name in sorted(present ^ set(compiled)):
        failures.append(f"{name}.h: list it in tests/abi/meson.build exactly if it exists")
    return public_api.report(failures)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
