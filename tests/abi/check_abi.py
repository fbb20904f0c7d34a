"""What the headers promise to programs that are built, against the ABI of the last release.

usage: check_abi.py [--renew] --baseline XML --compiler CC --headers FOLDER [--include FOLDER]
                    --script VERSION_SCRIPT --soname NAME HEADER...

The library itself has no types without debug information. So every function of the named headers gets a
body here, in a library of the same name and version script. --renew writes XML instead of comparing.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import public_api

HERE = pathlib.Path(__file__).parent


def stubs(folder, headers):
    includes = [f"#include <det/{name}.h>\n" for name in ["base", *headers]]
    bodies = [f"{declaration} {{ __builtin_trap(); }}\n"
              for header, _, declaration in public_api.declarations(folder) if header.stem in headers]
    return "".join(includes + bodies)


def library(options, folder):
    """A library with that ABI, in this folder."""
    pathlib.Path(folder, "stubs.c").write_text(stubs(options.headers, options.names))
    includes = ["-I" + str(path) for path in [options.headers.resolve().parent, *options.include]]
    subprocess.run([*options.compiler.split(), "-std=c11", "-g", "-fPIC", "-shared", *includes,
                    f"-Wl,--version-script={options.script.resolve()},-soname,{options.soname}",
                    "-o", options.soname, "stubs.c"], cwd=folder, check=True)
    return pathlib.Path(folder, options.soname)


def differences(baseline, library):
    """What a program that was built against the baseline would trip over, as text."""
    command = ["abidiff", "--suppressions", HERE / "allowed_changes.ini", "--no-added-syms", baseline, library]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return done.stdout if done.returncode else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--renew", action="store_true")
    for name in "baseline", "headers", "script":
        parser.add_argument("--" + name, type=pathlib.Path, required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--soname", required=True)
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    if not shutil.which("abidiff"):
        print("skipped: there is no abidiff (Debian: abigail-tools)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        built = library(options, folder)
        if options.renew:
            plain = ["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed",
                     "--no-parameter-names", "--type-id-style", "hash"]
            subprocess.run(["abidw", *plain, "--out-file", options.baseline, built], check=True)
            return 0
        problems = differences(options.baseline, built)
    if problems:
        print(problems)
        print(f"Programs built with the last release, whose ABI is in {options.baseline}, would break.\n"
              "At a release, or with a new soversion (docs/abi-policy.md): ninja -C build renew-abi")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
