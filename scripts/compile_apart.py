#!/usr/bin/env python3
"""Compiles each C++ file alone, with nothing coming of it: the build takes the files of a room
together, which hides an #include that is missing, or a name that two files have.

Usage: compile_apart.py FOLDER, a build folder that clang is configured for, with -Dunity=off.

Most of what a file costs is the JSON library, so that is compiled once, for the files that include
it. Before it they only include headers without it; each of these is compiled alone too, so that
nothing of the library is there for it.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
JSON = "core/base/json.h"
INCLUDE = re.compile(r'^#include (["<])([^">]+)[">]', re.MULTILINE)
# What does not change whether a file compiles, but what fits a precompiled header.
LEFT_OUT = re.compile(r"-[Og].*|-c|-MD|-fPI[CE]|-pthread|-fvisibility.*|.*ccache")
LEFT_OUT_WITH_VALUE = {"-MQ", "-MF", "-o"}


def flags_of(command):
    """The compiler and its flags, without the file."""
    words = iter(shlex.split(command))
    flags = []
    for word in words:
        if word in LEFT_OUT_WITH_VALUE:
            next(words)
        elif not LEFT_OUT.fullmatch(word):
            flags.append(word)
    return flags[:-1]


class Includes:
    def __init__(self):
        self.known = {}

    def every(self, name):
        """What a file includes itself, in order: a file of the repository, or None."""
        if name not in self.known:
            found = INCLUDE.findall((ROOT / name).read_text())
            self.known[name] = [self.resolved(name, *include) for include in found]
        return self.known[name]

    @staticmethod
    def resolved(name, quote, included):
        beside = os.path.join(os.path.dirname(name), included)
        for path in [beside, included] if quote == '"' else [included]:
            if (ROOT / path).is_file():
                return os.path.normpath(path)
        return None

    def of(self, name):
        return [included for included in self.every(name) if included]

    def reached(self, name, seen=None):
        seen = set() if seen is None else seen
        for included in self.of(name):
            if included not in seen:
                seen.add(included)
                self.reached(included, seen)
        return seen

    def has_json(self, name):
        return name == JSON or JSON in self.reached(name)


def files_to_compile(folder, includes):
    """{file: flags}: all that the build compiles, and headers."""
    files = {}
    for entry in json.loads((folder / "compile_commands.json").read_text()):
        name = os.path.relpath(folder / entry["file"], ROOT)
        if name.endswith(".cc") and folder not in (ROOT / name).parents:  # else it is generated
            files.setdefault(name, flags_of(entry["command"]))
    headers = {header: flags for name, flags in files.items()
               for header in includes.reached(name) if not includes.has_json(header)}
    # What stands before all else that a file includes is compiled alone by that.
    shown = {header for name in files if not includes.has_json(name)
             for header in includes.every(name)[:1]}
    return files | {header: headers[header] for header in sorted(headers.keys() - shown)}


def ninja_text(files, includes):
    def command(flags, *more):
        return shlex.join([*flags, *more]).replace("$", "$$")

    every = list(files.values())
    common = [flag for flag in every[0] if all(flag in flags for flags in every)]
    precompiled = "apart/json.pch"
    instantiated = "-fpch-instantiate-templates"
    lines = ["rule compile", "  command = $compile -MD -MT $out -MF $out.d && touch $out",
             "  description = $in", "  depfile = $out.d", "  deps = gcc",
             f"build {precompiled}: compile {ROOT / JSON}",
             "  compile = " + command(common, f"-I{ROOT}", instantiated, "-x", "c++-header",
                                      str(ROOT / JSON), "-o", precompiled)]
    for name, flags in files.items():
        has_json = includes.has_json(name)
        use = [instantiated, "-include-pch", precompiled] if has_json else []
        language = "c++-header" if name.endswith(".h") else "c++"
        done = f"apart/{name.replace('/', '-')}.ok"
        lines += [f"build {done}: compile {ROOT / name} {'| ' + precompiled if has_json else ''}",
                  "  compile = " + command(flags, *use, "-fsyntax-only", "-x", language,
                                           str(ROOT / name))]
    return "\n".join(lines) + "\n"


def main():
    folder = Path(sys.argv[1]).resolve()
    subprocess.check_call(["ninja", "-C", folder, "build.ninja"])  # as meson.build is now
    (folder / "apart").mkdir(exist_ok=True)
    includes = Includes()
    files = files_to_compile(folder, includes)
    (folder / "apart.ninja").write_text(ninja_text(files, includes))
    sys.exit(subprocess.call(["ninja", "-C", folder, "-f", "apart.ninja", "-k", "0"]))


main()
