"""Runs a program written for determined. USAGE has the arguments."""

from __future__ import annotations

import os
import runpy
import sys

import detcore.compat  # the import installs it

USAGE = "usage: python -m detcore.compat [-m MODULE | SCRIPT] [ARGUMENT]..."


def main() -> None:
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if arguments else sys.stderr)
        sys.exit(0 if arguments else 2)
    folder = detcore.compat.install_in_children()
    if arguments[0] == "-m":
        if len(arguments) < 2:
            sys.exit(USAGE)
        sys.argv = arguments[1:]
        sys.path[:1] = [os.getcwd(), folder]
        module = detcore.compat.MODULES.get(arguments[1], arguments[1])
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        if not os.path.exists(arguments[0]):
            sys.exit(f"python -m detcore.compat: there is no file {arguments[0]}")
        sys.argv = arguments
        sys.path[:1] = [os.path.dirname(os.path.abspath(arguments[0])), folder]
        runpy.run_path(arguments[0], run_name="__main__")


main()
