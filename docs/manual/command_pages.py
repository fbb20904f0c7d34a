#!/usr/bin/env python3
"""Writes the manual pages of `det` and of each of its commands, from the help that they print.

Usage: command_pages.py VERSION DET FOLDER
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from roff import Page, bold, escape

TITLES = {"Positionals": "Arguments", "Exit codes": "Exit status"}


class Help:
    """What `det COMMAND... --help` prints, taken apart: a summary, the usage, paragraphs, and sections."""

    def __init__(self, command):
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "TERM")}
        text = subprocess.run([*command, "--help"], check=True, capture_output=True, text=True,
                              env={**environment, "LC_ALL": "C.UTF-8"}).stdout
        head, _, rest = text.partition("\nUsage: ")
        self.summary = " ".join(head.split()).rstrip(".")
        self.usage, _, rest = rest.partition("\n")
        self.paragraphs, self.sections = [], []
        for block in re.split(r"\n\s*\n", rest.strip("\n")):
            title, *lines = block.split("\n")
            if title.endswith(":") and lines and all(line.startswith("  ") for line in lines):
                self.sections.append((title.rstrip(":"), lines))
            else:
                self.paragraphs.append(" ".join(block.split()))

    def commands(self):
        return [term for title, lines in self.sections if title == "Commands" for term, _ in entries(lines)]


def entries(lines):
    """[(term, text)] of two columns, where a text may begin or go on below its term; None of anything else."""
    found = []
    for line in lines:
        # The names of an option may leave one space before its text.
        term, *texts = re.split(r"\s{2,}|(?<=^-.{24}) ", line.strip())
        if len(texts) > 1:
            return None
        if re.match(r"  \S", line):
            found.append([term, *texts])
        elif found:
            found[-1].append(line.strip())
    return [(term, " ".join(texts)) for term, *texts in found]


def numbers(lines):
    """[(number, meaning)] of a table of exit codes; None of anything else."""
    cells = [cell.split(" ", 1) for line in lines for cell in re.split(r"\s{2,}", line.strip())]
    if all(len(cell) == 2 and cell[0].isdigit() for cell in cells):
        return sorted(cells, key=lambda cell: int(cell[0]))
    return None


def write_section(page, title, lines):
    page.heading(TITLES.get(title, title).upper())
    listed = numbers(lines) or entries(lines)
    if listed is None:
        page.preformatted(lines)
    for term, text in listed or []:
        page.entry(term, text)


def write_pages(version, det, words, folder):
    """The page of `det WORDS...` and those of the commands below it. Returns their names."""
    help_text = Help([det, *words])
    name = "-".join(["det", *words])
    page = Page(name, 1, version, help_text.summary.removeprefix("det "))
    page.heading("SYNOPSIS")
    page.paragraph(bold(help_text.usage))
    page.heading("DESCRIPTION")
    for paragraph in [help_text.summary + ".", *help_text.paragraphs]:
        page.paragraph(escape(paragraph))
    for title, lines in help_text.sections:
        write_section(page, title, lines)
    below = []
    for command in help_text.commands():
        below += write_pages(version, det, [*words, command], folder)
    above = ["-".join(["det", *words[:-1]])] if words else []
    page.see_also([(other, 1) for other in above + below] + [("libdetcore", 3)])
    page.write(folder)
    return [name, *below]


def main():
    version, det, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    shutil.rmtree(folder, ignore_errors=True)  # a command may have gone
    folder.mkdir(parents=True)
    write_pages(version, det, [], folder)


if __name__ == "__main__":
    main()
