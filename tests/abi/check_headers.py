"""Every public function is documented, and every seed's name it stands for is in the API map.

usage: check_headers.py HEADER_FOLDER API_MAP COMPILED_HEADER...
"""

import pathlib
import re
import sys

import public_api


def main(folder, api_map, *compiled):
    mapped = set(re.findall(r"\bdet_\w+", pathlib.Path(api_map).read_text()))
    declared = set()
    failures = []
    for header, name, doc in public_api.functions(folder):
        declared.add(name)
        if doc is None:
            failures.append(f"{header}: {name} has no comment")
        elif not re.search(r"@since \d+\.\d+", doc):
            failures.append(f"{header}: {name} has no @since")
        elif "(seed: " in " ".join(doc.split()) and name not in mapped:
            failures.append(f"{api_map}: {name} stands for a seed's name and is not there")
    types = set(re.findall(r"\bdet_\w+", "".join(p.read_text() for p in pathlib.Path(folder).glob("*.h"))))
    for name in sorted(mapped - types):
        failures.append(f"{api_map}: {name} is in no header")
    present = {header.stem for header in pathlib.Path(folder).glob("*.h")}
    for name in sorted(present ^ set(compiled)):
        failures.append(f"{name}.h: is to be listed in tests/abi/meson.build exactly if it exists")
    return public_api.report(failures)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
