"""Imports a package's core, starts and ends a run: python_start.py PACKAGE. Prints the milliseconds
that the import and the run took."""

import importlib
import sys
import time

begin = time.perf_counter()
core = importlib.import_module(sys.argv[1] + ".core")
imported = time.perf_counter()
with core.init():
    pass
ended = time.perf_counter()
print((imported - begin) * 1e3, (ended - imported) * 1e3)
