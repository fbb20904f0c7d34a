#!/usr/bin/env python3
"""Writes libdetcore(3), an overview of the C headers, from what they say of themselves.

Usage: library_page.py VERSION HEADERS FOLDER DEPENDENCIES, the last a file to write for the build.
"""

import re
import sys
from pathlib import Path

from roff import Page, bold, escape

SUMMARY = "checkpoints, preemption, metrics and hyperparameter search for training programs"
INTRODUCTION = """A program calls det_core_init(), asks the core for the contexts that it needs, and ends with
det_core_close(). The headers document each function: its parameters, its errors, and the threads that may call
it. If the site is installed, 'det docs c-reference' shows the same as pages. 'det docs cpp' shows the C++
interface. This page ends with an example."""


def about(header):
    """The blocks of the comment that a header begins with: paragraphs, and the items of lists."""
    comment = re.search(r"/\*\*(.*?)\*/", header, re.DOTALL).group(1)
    text = re.sub(r"^ \* ?", "", comment, flags=re.MULTILINE).replace("@file", "").replace("@brief", "")
    text = re.sub(r"^- ", "\n- ", text, flags=re.MULTILINE)
    return [" ".join(block.split()) for block in re.split(r"\n\s*\n", text) if block.strip()]


def functions(header):
    return re.findall(r"^DET_API [^;(]*?(det_\w+)\(", header, re.MULTILINE)


def marked(text):
    """What stands between backquotes becomes bold."""
    return "".join(bold(part) if place % 2 else escape(part) for place, part in enumerate(text.split("`")))


def main():
    version, headers, folder, dependencies = sys.argv[1], *map(Path, sys.argv[2:])
    page = Page("libdetcore", 3, version, SUMMARY)
    page.heading("SYNOPSIS")
    page.preformatted(["#include <det/core.h>", "", "cc program.c $(pkg-config --cflags --libs detcore)"])
    page.preformatted(["#include <det/core.hpp>", "",
                       "c++ -std=c++17 program.cc $(pkg-config --cflags --libs detcore-cpp)"])
    page.heading("DESCRIPTION")
    page.paragraph(escape(" ".join(INTRODUCTION.split())))
    paths = sorted(headers.glob("*.h"), key=lambda path: (path.stem not in ("core", "base"), path.stem))
    for path in paths:
        header = path.read_text(encoding="utf-8")
        page.subheading(f"<det/{path.name}>")
        for block in about(header):
            if block.startswith("- "):
                page.lines += [r".IP \(bu 2", marked(block.removeprefix("- "))]
            else:
                page.paragraph(marked(block))
        if functions(header):
            page.paragraph("Functions: " + ", ".join(bold(name) + "()" for name in functions(header)) + ".")
    example = headers.parents[1] / "examples/c/minimal.c"
    page.heading("EXAMPLE")
    page.paragraph("A training loop that resumes after any stop. A start with the same external id continues it.")
    page.preformatted(example.read_text(encoding="utf-8").splitlines())
    page.see_also([("det", 1), ("pkg-config", 1)])
    folder.mkdir(parents=True, exist_ok=True)
    page.write(folder)
    dependencies.write_text(f"{folder}: {' '.join(map(str, [*paths, example]))}\n")


if __name__ == "__main__":
    main()
