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

TOPICS = ["environment", "exit-codes"]  # of `det help`: sections of det(1)
LAST = {"Environment": "ENVIRONMENT", "Exit codes": "EXIT STATUS", "Example": "EXAMPLES", "Examples": "EXAMPLES"}


def run(command):
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "TERM")}
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          env={**environment, "LC_ALL": "C.UTF-8"}).stdout


def parts(text):
    """Sections, (title, lines), and what stands outside of them: paragraphs, each a list of lines."""
    sections, paragraphs = [], []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        title, *lines = block.split("\n")
        if title.endswith(":") and lines and all(line.startswith("  ") for line in lines):
            sections.append((title.rstrip(":"), lines))
        else:
            paragraphs.append(block.split("\n"))
    return sections, paragraphs


class Help:
    """What `det COMMAND... --help` prints, taken apart."""

    def __init__(self, command):
        head, _, rest = run([*command, "--help"]).partition("\nUsage: ")
        self.summary = " ".join(head.split()).rstrip(".")
        self.usage, _, rest = rest.partition("\n")
        sections, self.paragraphs = parts(rest)
        titles = [title for title, _ in sections]
        options = titles.index("Options")
        # The groups of commands stand before the options.
        self.groups = [section for section in sections[:options] if section[0] != "Arguments"]
        self.tables = [section for section in sections if section not in self.groups and section[0] not in LAST]
        self.last = [section for section in sections if section[0] in LAST]

    def commands(self):
        return [term for _, lines in self.groups for term, _ in entries(lines)]


def entries(lines):
    """[(term, text)] of two columns, where a text may begin or continue below its term; None of anything else."""
    found = []
    for line in lines:
        term, *texts = re.split(r"\s{2,}", line.strip())
        if len(texts) > 1:
            return None
        if re.match(r"  \S", line):
            found.append([term, *texts])
        elif found:
            found[-1].append(line.strip())
    return [(term, " ".join(texts)) for term, *texts in found]


def name_summary(summary):
    """As after the dash of NAME: without a capital letter."""
    summary = summary.removeprefix("det ")
    return summary[0].lower() + summary[1:]


def write_entries(page, lines):
    listed = entries(lines)
    if listed is None:
        page.preformatted(lines)
    for term, text in listed or []:
        page.entry(term, text)


def write_description(page, help_text):
    page.heading("DESCRIPTION")
    page.paragraph(escape(help_text.summary + "."))
    write_paragraphs(page, help_text.paragraphs)


def write_paragraphs(page, paragraphs):
    for lines in paragraphs:
        if lines[0].startswith("  "):
            page.preformatted(lines)
        else:
            page.paragraph(escape(" ".join(lines)))


def write_commands(page, groups):
    if groups:
        page.heading("COMMANDS")
    for title, lines in groups:
        if len(groups) > 1:
            page.subheading(title)
        write_entries(page, lines)


def write_last(page, sections, notes):
    """The sections that manual pages end with, in their usual order. `notes` stand below one, by its title."""
    for title, lines in sorted(sections, key=lambda section: list(LAST).index(section[0])):
        page.heading(LAST[title])
        if title.startswith("Example"):
            page.preformatted(lines)
        else:
            write_entries(page, lines)
        write_paragraphs(page, notes.get(title, []))


def write_pages(version, det, words, folder):
    """The page of `det WORDS...` and those of the commands below it. Returns their names."""
    help_text = Help([det, *words])
    name = "-".join(["det", *words])
    page = Page(name, 1, version, name_summary(help_text.summary))
    page.heading("SYNOPSIS")
    page.paragraph(bold(help_text.usage))
    write_description(page, help_text)
    write_commands(page, help_text.groups)
    for title, lines in help_text.tables:
        page.heading(title.upper())
        write_entries(page, lines)
    sections, notes = list(help_text.last), {}
    if words:
        notes["Exit codes"] = [["det(1) lists the exit codes of all commands."]]
        if "Exit codes" not in dict(sections):
            sections.append(("Exit codes", []))
    for topic in [] if words else TOPICS:
        found, paragraphs = parts(run([det, "help", topic]))
        sections += found
        notes[found[-1][0]] = paragraphs
    write_last(page, sections, notes)
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
