#!/usr/bin/env python3
"""The headers of C++ call every function of the C API. Usage: check_coverage.py SOURCE"""

import re
import sys
from pathlib import Path

source = Path(sys.argv[1])
functions = set()
for script in ["detcore.map", "detcore-mpi.map"]:
    functions |= set(re.findall(r"^\s*(det_\w+);", (source / "capi" / script).read_text(), re.MULTILINE))
text = "".join(re.sub("//.*", "", path.read_text()) for path in source.glob("wrappers/cpp/det/**/*.hpp"))
called = functions & set(re.findall(r"\bdet_\w+", text))
missing = functions - called
print("\n".join(f"wrappers/cpp calls {name}() nowhere" for name in sorted(missing)))
sys.exit(1 if missing or not functions else 0)
