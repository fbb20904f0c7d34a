#!/usr/bin/env python3
"""Each header of C++ compiles alone, and all of them in every standard, without a warning; with exceptions
off, a call that is given no Failure does not; and what is compiled with exceptions and without, and may be
in one program, has two names. Usage: compile_headers.py SOURCE COMPILER...

Says so in TAP."""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

source, *compilers = sys.argv[1:]
source = Path(source)
headers = source / "wrappers/cpp"
warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wold-style-cast", "-Wnon-virtual-dtor",
            "-Woverloaded-virtual", "-Werror"]
folders = [f"-I{headers}", f"-I{source / 'include'}"]
every_call = source / "tests/cpp/every_call.cc"
alone = sorted(path.relative_to(headers) for path in headers.glob("det/*.hpp"))
without_failure = """#include <det/core.hpp>
void report(const det::Train &train) { train.report_progress(1); }
void next(const det::Searcher &searcher) { for (det::Operation op : searcher.operations()) op.report_completed(1); }
"""


def compiled(compiler, *arguments, text=None):
    return subprocess.run([compiler, *folders, *warnings, *arguments], input=text, text=True, capture_output=True)


def header_alone(compiler, header):
    result = compiled(compiler, "-std=c++17", "-fsyntax-only", "-xc++", "-", text=f"#include <{header}>\n")
    return result.returncode == 0, result.stderr


def all_calls(compiler, *arguments):
    result = compiled(compiler, *arguments, "-fsyntax-only", str(every_call))
    return result.returncode == 0, result.stderr


def has_two_names(compiler):
    """A linker keeps one of the functions of a name: one that calls what throws is not to have the name of one
    that calls what does not."""
    with tempfile.TemporaryDirectory() as folder:
        code = os.path.join(folder, "o")
        result = compiled(compiler, "-std=c++17", "-O0", "-ffunction-sections", "-c", "-o", code, str(every_call))
        if result.returncode != 0:
            return False, result.stderr
        listing = subprocess.run(["readelf", "-rW", code], text=True, capture_output=True, check=True).stdout
    function, calls, shared = "", 0, []
    for line in listing.splitlines():
        if line.startswith("Relocation section"):
            found = re.search(r"'\.rela\.text\.(\S+)'", line)
            function = found[1] if found else ""
            if re.search(r"(?<!\d)3det(?!2v1)", function):
                shared.append(f"{function} may be the name of one inside a static libdetcore")
        elif "8throwing" in line:
            calls += 1
            if "3det2v1" in function and "8throwing" not in function:
                shared.append(f"{function} calls {line.split()[4]}")
    return calls > 0 and not shared, "\n".join(shared)


def older_standard(compiler, header):
    """One error that says what is needed, and not what follows from it."""
    result = compiled(compiler, "-std=c++14", "-fsyntax-only", "-xc++", "-", text=f"#include <{header}>\n")
    errors = re.findall(r"(?:^|: )(?:fatal )?error: .*", result.stderr, re.MULTILINE)
    return len(errors) == 2 and "need C++17" in errors[0] and "ends the compilation" in errors[1], result.stderr


def headers_of_c(compiler, standard):
    text = "".join(f"#include <det/{path.name}>\n" for path in sorted((source / "include/det").glob("*.h"))
                   if path.name != "mpi.h")
    result = compiled(compiler, f"-std={standard}", "-fsyntax-only", "-xc++", "-", text=text)
    return result.returncode == 0, result.stderr


def refused(compiler):
    with tempfile.TemporaryDirectory() as folder:
        result = compiled(compiler, "-std=c++17", "-fno-exceptions", "-xc++", "-", "-c", "-o", os.path.join(folder, "o"),
                          text=without_failure)
    return result.stderr.count("hand this call a det::Failure") >= 2, result.stderr or "is content"


checks = {f"{header} alone": (header_alone, compilers[0], str(header)) for header in alone if header.name != "mpi.hpp"}
for header in alone:
    if header.name != "mpi.hpp":
        checks[f"{header} in C++14"] = older_standard, compilers[0], str(header)
checks["two names"] = has_two_names, compilers[0]
for compiler in compilers:
    name = os.path.basename(compiler)
    for standard in ["17", "20", "2b"]:
        checks[f"C++{standard} with {name}"] = all_calls, compiler, f"-std=c++{standard}"
    checks[f"no exceptions, no RTTI, with {name}"] = (
        all_calls, compiler, "-std=c++17", "-fno-exceptions", "-fno-rtti")
    for standard in ["c++98", "c++11", "c++14"]:
        checks[f"headers of C in {standard} with {name}"] = headers_of_c, compiler, standard
    checks[f"no Failure without exceptions with {name}"] = refused, compiler

with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    results = {name: pool.submit(check[0], *check[1:]) for name, check in checks.items()}
print(f"1..{len(checks)}")
failures = 0
for number, (name, result) in enumerate(results.items(), 1):
    went_well, output = result.result()
    print("ok" if went_well else "not ok", number, "-", name, flush=True)
    if not went_well:
        failures += 1
        print("".join(f"# {line}\n" for line in output.splitlines()[:40]), file=sys.stderr)
sys.exit(1 if failures else 0)
