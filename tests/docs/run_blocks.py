#!/usr/bin/env python3
"""Runs each fenced block of README.md and docs/*.md, or of the pages that are named.

What the language of a block says:
  c, cpp  a whole program is compiled; it is run where the page does so
  python  is a whole program, which is run unless it is kept for the blocks below
  sh      is run by sh -eu
  yaml    is what `det config check` finds nothing wrong with
  json    can be parsed
  text    is shown only
  (none)  a transcript: what follows `$ COMMAND` is its output, in which `...` is any text of a line
          and, where it is the line, any lines; times such as `4s` may be others

A comment in front of it says more:
  <!-- not run: REASON -->  REASON is printed
  <!-- file: NAME -->       the block is kept under this name for the blocks below
  <!-- in: NAME -->         tests/docs/in/NAME: for c and cpp a program with a line `/* BLOCK */`, which the block
                            takes the place of, and which is run; for yaml and python what stands in front of the
                            block;
                            for everything else a script that makes what the block needs, in the same
                            folder, and is read (`.`) in front of it or of each command
  <!-- from: PATH -->       the block is lines of this file of the repository, which a test runs, as far in as may
                            be; `...` stands for lines in between
Of every `det COMMAND` within a text, the command and the options have to be there.
Each page has a folder and a HOME of its own, in which its blocks are run in their order."""

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

source, build, folder = (Path(argument) for argument in sys.argv[1:4])
named = [source / name for name in sys.argv[4:]]
pages = named or [source / "README.md", *sorted(source.glob("docs/*.md"))]
frames = source / "tests/docs/in"
warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-variable"]
failures = 0


class Failure(Exception):
    pass


def blocks(page):
    """Yields the number of its first line, its language, its marks and its text."""
    marks, block = {}, None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = re.match(r"( *)```(\S*)", line)
        mark = re.fullmatch(r" *<!-- ([a-z ]+): (.*) -->", line)
        if block is not None and fence:
            yield first, language, marks, "".join(block)
            marks, block = {}, None
        elif block is not None:
            block.append(line.removeprefix(indent) + "\n")
        elif fence:
            first, indent, language, block = number, fence[1], fence[2], []
        elif mark:
            marks[mark[1]] = mark[2]
        elif line.strip():
            marks = {}
    if block is not None:
        raise Failure(f"{page.name}:{first}: the block has no end")


def run(command, place, environment):
    result = subprocess.run(command, cwd=place, env=environment, timeout=120, text=True, errors="replace",
                            stdin=subprocess.DEVNULL, capture_output=True)
    return result.returncode, result.stdout + result.stderr


def succeed(command, place, environment):
    code, output = run(command, place, environment)
    if code != 0:
        raise Failure(f"{' '.join(map(str, command))} left with {code}:\n{output}")
    return output


def check_excerpt(text, path):
    rest = (source / path).read_text()
    for part in re.split(r"^ *\.\.\.\n", text, flags=re.MULTILINE):
        part = textwrap.dedent(part)
        for indent in range(0, 20, 2):
            _, found, after = rest.partition("\n" + textwrap.indent(part, " " * indent))
            if found:
                break
        else:
            raise Failure(f"these lines are not in {path}, or in another order:\n{part}")
        rest = "\n" + after


def frame(marks):
    return (frames / marks["in"]).read_text() if "in" in marks else ""


def compile_with(compiler, suffix, package, text, marks, place, environment):
    program = place / (Path(marks.get("file", marks.get("in", "block"))).stem)
    whole = frame(marks).replace("  /* BLOCK */\n", text) if "in" in marks else text
    program.with_suffix(suffix).write_text(whole)
    flags = succeed(["pkg-config", "--cflags", "--libs", package], place, environment).split()
    succeed([*compiler, *warnings, program.with_suffix(suffix), *flags, "-o", program], place, environment)
    if "in" in marks:
        succeed([program], place, environment)
        program.unlink()


def compile_c(*block):
    compile_with(["cc", "-std=gnu11"], ".c", "detcore", *block)


def compile_cpp(*block):
    compile_with(["c++", "-std=c++17"], ".cc", "detcore-cpp", *block)


def shell(text, marks, place, environment):
    if text.startswith("#!"):
        script = place / marks["file"]
        script.write_text(text)
        script.chmod(0o755)
        text = ""
    succeed(["sh", "-euc", frame(marks) + text], place, environment)


def run_python(text, marks, place, environment):
    script = place / marks.get("file", "block.py")
    script.write_text(frame(marks) + text)
    if "file" not in marks:
        succeed(["python3", script], place, environment)


def transcript(text, marks, place, environment):
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        output = run(["sh", "-c", frame(marks) + command], place, environment)[1]
        pattern = re.escape(expected.rstrip()).replace("\\\n\\.\\.\\.", "(\n.*)*").replace(r"\.\.\.", ".*")
        pattern = re.sub(r"(\\ )+\d+s\b", r" +[\\d.]+m?s", pattern)
        if not re.fullmatch(pattern, output.rstrip()):
            raise Failure(f"$ {command}\nprints\n{output}\nand not\n{expected}")


def check_yaml(text, marks, place, environment):
    (place / "block.yaml").write_text(frame(marks) + text)
    succeed(["det", "config", "check", "block.yaml"], place, environment)


def check_json(text, *_):
    try:
        json.loads(text)
    except ValueError as error:
        raise Failure(f"is no JSON: {error}") from None


def check_commands(page, place, environment):
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for words in sorted({" ".join(found.split()) for found in re.findall(r"`det ([a-z][^`]*)`", text)}):
        command = re.match(r"(?:config|checkpoint) [a-z]+|[a-z]+", words)[0]
        help_text = succeed(["det", "help", *command.split()], place, environment)
        for option in re.findall(r"(?<![-\w])--?[a-zA-Z][\w-]*", words.split(" -- ")[0]):
            if not re.search(rf"(?<![-\w]){option}(?![-\w])", help_text):
                raise Failure(f"`det {words}`: det {command} has no option {option}")


kinds = {"c": compile_c, "cpp": compile_cpp, "python": run_python, "sh": shell, "yaml": check_yaml, "json": check_json,
         "": transcript}
for page in pages:
    place = folder / page.stem
    home = place / "home"
    home.mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("DET_", "XDG_")) and name != "MALLOC_PERTURB_"}
    environment |= {"HOME": str(home), "SOURCE": str(source), "BUILD": str(build), "LC_ALL": "C.UTF-8"}
    try:
        check_commands(page, place, environment)
    except Failure as error:
        failures += 1
        print(f"{page.relative_to(source)}: FAILED: {error}")
    for line, language, marks, text in blocks(page):
        where = f"{page.relative_to(source)}:{line}"
        try:
            if unknown := marks.keys() - {"not run", "file", "from", "in"}:
                raise Failure(f"there is no mark '{unknown.pop()}'")
            if "not run" in marks:
                print(f"{where}: not run: {marks['not run']}")
            elif "from" in marks:
                check_excerpt(text, marks["from"])
                print(f"{where}: {language}: as in {marks['from']}")
            elif language == "text":
                print(f"{where}: text")
            elif language not in kinds:
                raise Failure(f"there is no way to run '{language}'")
            elif language == "" and not text.startswith("$ "):
                raise Failure("is no transcript; mark it as text")
            else:
                kinds[language](text, marks, place, environment)
                print(f"{where}: {language or 'transcript'}: run")
        except (Failure, OSError, KeyError, subprocess.TimeoutExpired) as error:
            failures += 1
            print(f"{where}: FAILED: {error}")
sys.exit(1 if failures else 0)
