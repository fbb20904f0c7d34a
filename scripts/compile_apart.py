#!/usr/bin/env python3
"""Compiles each C++ file alone, with nothing coming of it: the build takes the files of a room
together, which hides an #include that is missing, or a name that two files have.

Usage: compile_apart.py FOLDER [--without-tests], a build folder that clang is configured for, with
-Dunity=off. The files of tests/ are a third of the work, and nobody builds them in another way.

Most of what a file costs are headers of others, so these are compiled beforehand, in sets, and a file gets a
set of which it includes each header anyway. A header of ours that would get more by the file that begins with
it is compiled alone too.
"""

import collections
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
JSON = "core/base/json.h"
PLAIN_JSON = "nlohmann/json.hpp"
CLI = "CLI/App.hpp"
# Headers of others that many files include and that take a compiler a third of a second, or more.
COSTLY = {CLI, PLAIN_JSON, "chrono", "condition_variable", "filesystem", "functional", "memory", "mutex",
          "oneapi/dnnl/dnnl.hpp", "ranges", "string", "thread"}
DEAREST = [CLI, JSON, PLAIN_JSON]
OFTEN = 6  # as many files are worth a precompiled header
INCLUDE = re.compile(r'^#include (["<])([^">]+)[">]', re.MULTILINE)
# What does not change whether a file compiles, but what fits a precompiled header.
LEFT_OUT = re.compile(r"-[Og].*|-c|-MD|-fPI[CE]|-ffp-contract=.*|-fno-math-errno|-f(function|data)-sections|-pthread"
                      r"|-fvisibility.*|.*ccache")
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
        """What a file includes itself, in order: a file of the repository, a costly header, or None."""
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
        return included if included in COSTLY else None

    def reached(self, name, seen=None):
        seen = set() if seen is None else seen
        for included in self.every(name):
            if included and included not in seen:
                seen.add(included)
                if included not in COSTLY:
                    self.reached(included, seen)
        return seen

    def costly(self, name):
        found = frozenset((self.reached(name) | {name}) & (COSTLY | {JSON}))
        return found - {PLAIN_JSON} if JSON in found else found  # it specialises what would be compiled by then


def sources_of(folder):
    """{file: flags} of all that the build compiles."""
    files = {}
    for entry in json.loads((folder / "compile_commands.json").read_text()):
        name = os.path.relpath(folder / entry["file"], ROOT)
        if name.endswith(".cc") and folder not in (ROOT / name).parents:  # else it is generated
            files.setdefault(name, flags_of(entry["command"]))
    return files


class Precompiled:
    """Which of the costly headers are compiled beforehand, together, and for which files."""

    def __init__(self, files, includes):
        every = list(files.values())
        self.flags = [flag for flag in every[0] if 2 * sum(flag in flags for flags in every) > len(every)]
        self.includes = includes
        count = collections.Counter(includes.costly(name) for name in files)
        self.sets = [frozenset({JSON})] + [found for found in count if count[found] >= OFTEN and found - {JSON}]

    def of(self, name, flags):
        """The set that a file gets, if there is one for its flags."""
        def worth(found):
            return [header in found for header in DEAREST], len(found)

        costly = self.includes.costly(name)
        fitting = [found for found in self.sets if found <= costly] if set(self.flags) <= set(flags) else []
        return max(fitting, default=frozenset(), key=worth)


def headers_of(files, includes, precompiled):
    """{header: flags} of all that these files include. What stands before all else that a file includes, and
    gets nothing beforehand that it would not include itself, is compiled alone by that; as JSON is beforehand."""
    headers, shown = {}, {JSON}
    for name, flags in files.items():
        headers |= dict.fromkeys(includes.reached(name) - COSTLY, flags)
        shown |= {first for first in includes.every(name)[:1]
                  if first in headers and precompiled.of(name, flags) <= includes.costly(first)}
    return {header: headers[header] for header in sorted(headers.keys() - shown)}


def write_precompiled(path, headers):
    lines = [f"#include <{header}>\n" for header in sorted(headers - {JSON})]
    if headers == {JSON}:
        lines = [f'#include "{JSON}"\n', "template class nlohmann::basic_json<nlohmann::ordered_map>;\n"]
    text = "".join(lines)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def ninja_text(folder, files, precompiled):
    def compile_to(out, source, base, flags, *more):
        use = ["-fpch-instantiate-templates", *(["-include-pch", base] if base else [])]
        language = "c++" if str(source).endswith(".cc") else "c++-header"
        return [f"build {out}: compile {source} | {base}",
                "  compile = " + shlex.join([*flags, *use, "-x", language, *more, str(source)]).replace("$", "$$")]

    paths = {found: f"apart/{number}.pch" for number, found in enumerate(precompiled.sets)} | {frozenset(): ""}
    lines = ["rule compile", "  command = $compile -MD -MT $out -MF $out.d && touch $out",
             "  description = $in", "  depfile = $out.d", "  deps = gcc"]
    for found in precompiled.sets:
        source = (folder / paths[found]).with_suffix(".h")
        write_precompiled(source, found)
        base = paths[frozenset({JSON} & found if len(found) > 1 else {})]
        lines += compile_to(paths[found], source, base, [*precompiled.flags, f"-I{ROOT}"], "-o", paths[found])
    for name, flags in files.items():
        lines += compile_to(f"apart/{name.replace('/', '-')}.ok", ROOT / name, paths[precompiled.of(name, flags)],
                            flags, "-fsyntax-only")
    return "\n".join(lines) + "\n"


def main():
    folder = Path(sys.argv[1]).resolve()
    subprocess.check_call(["ninja", "-C", folder, "build.ninja"])  # as meson.build is now
    (folder / "apart").mkdir(exist_ok=True)
    includes = Includes()
    files = sources_of(folder)
    if "--without-tests" in sys.argv[2:]:
        files = {name: flags for name, flags in files.items() if not name.startswith("tests/")}
    precompiled = Precompiled(files, includes)
    files |= headers_of(files, includes, precompiled)
    (folder / "apart.ninja").write_text(ninja_text(folder, files, precompiled))
    sys.exit(subprocess.call(["ninja", "-C", folder, "-f", "apart.ninja", "-k", "0"]))


main()
