#!/usr/bin/env python3
"""Runs each fenced block of README.md, docs/*.md and docs/tutorials/*.md, or of the pages and folders that are named.

What the language of a block says:
  c, cpp  a whole program is compiled; it is run where the page does so. A header, and a program for the compiler of
          MPI, is only kept for the blocks below
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
  <!-- until: TEXT -->      the last command of the transcript is followed until it has printed TEXT; it is then
                            interrupted, as by the key, if ^C begins a line; else it runs beside the blocks below
  <!-- rest of: TEXT -->    the block is what the command that `until: TEXT` left running prints after TEXT, to its end
  <!-- under: NAME -->      the block needs what the program tests/docs/NAME.py starts; without it, it is not run
At the top of a page:
  <!-- needs: COMMAND -->   if the command fails, no block of the page is run; alone, such a page is skipped
  <!-- python: NAME -->     `python3` is that of the Python environment .venv-NAME
Of every `det COMMAND` within a text, the command and the options have to be there.
Each page has its own folder and HOME, in which its blocks are run in their order. In a tutorial they are typed into one
shell: the directory and the variables that a block leaves hold for the next one.
Several pages are run at once."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

source, build, folder = (Path(argument) for argument in sys.argv[1:4])
frames = source / "tests/docs/in"
warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-variable"]
limit = 3600  # seconds; it only ends what hangs
signal.signal(signal.SIGINT, signal.default_int_handler)  # else commands may ignore it, too


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
    # The reader of a tutorial sees both outputs in their order.
    errors = subprocess.STDOUT if "SHELL_STATE" in environment else subprocess.PIPE
    result = subprocess.run(command, cwd=place, env=environment, timeout=limit, text=True, errors="replace",
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
    return result.returncode, result.stdout + (result.stderr or "")


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
    if Path(marks.get("file", "")).suffix in (".h", ".hpp") or "#include <det/mpi.h" in text:
        (place / marks["file"]).write_text(text)
        return
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


def typed(text, environment):
    """The text, and in a tutorial what keeps the directory and the variables that it leaves."""
    return f"trap 'env -0 >\"$SHELL_STATE\"' EXIT\n{text}" if "SHELL_STATE" in environment else text


def keep(environment):
    """Takes over what a shell left in a tutorial."""
    state = Path(environment.get("SHELL_STATE", "/nonexistent"))
    if state.exists():
        pairs = (pair.split("=", 1) for pair in state.read_text().split("\0") if "=" in pair)
        environment |= {name: value for name, value in pairs if name not in ("_", "SHLVL")}
        state.unlink()


def shell(text, marks, place, environment):
    if text.startswith("#!"):
        script = place / marks["file"]
        script.write_text(text)
        script.chmod(0o755)
        text = ""
    succeed(["sh", "-euc", typed(frame(marks) + text, environment)], place, environment)
    keep(environment)


def run_python(text, marks, place, environment):
    script = place / marks.get("file", "block.py")
    script.write_text(frame(marks) + text)
    if "file" not in marks:
        succeed(["python3", script], place, environment)


class Started:
    """A command that runs beside what follows, as in a second terminal."""

    def __init__(self, command, place, environment):
        self.command, self.output, self.shown = command, "", 0
        self.process = subprocess.Popen(["sh", "-c", command], cwd=place, env=environment, text=True, errors="replace",
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        start_new_session=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.output += line

    def wait_until(self, text):
        end = time.monotonic() + limit
        while text not in self.output:
            if not self.reader.is_alive() or time.monotonic() > end:
                raise Failure(f"$ {self.command}\ndid not print '{text}':\n{self.output}")
            time.sleep(0.01)
        self.shown = self.output.index(text) + len(text)
        self.shown += len(self.output[self.shown:].partition("\n")[0])

    def interrupt(self):
        os.killpg(self.process.pid, signal.SIGINT)

    def rest(self):
        """What it printed after the text, once it has ended."""
        self.process.wait(limit)
        self.reader.join(limit)
        return self.output[self.shown:]

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def compare(command, output, expected):
    pattern = "\n" + re.escape(expected.strip("\n").rstrip())
    pattern = re.sub(r"\\?\n\\\.\\\.\\\.(?=\\?\n|$)", r"(\n.*)*", pattern).replace(r"\.\.\.", ".*")
    pattern = re.sub(r"(\\ )+\d+s\b", r" +[\\d.]+m?s", pattern)
    if not re.fullmatch(pattern, "\n" + output.strip("\n").rstrip()):
        raise Failure(f"$ {command}\nprints\n{output}\nand not\n{expected}")


def transcript(text, marks, place, environment):
    if "rest of" in marks:
        started = running[environment["HOME"]].pop(marks["rest of"])
        compare(started.command, started.rest(), text)
        return
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    for number, part in enumerate(parts, 1):
        command, _, expected = part.partition("\n")
        if "until" not in marks or number < len(parts):
            output = run(["sh", "-c", typed(frame(marks) + command, environment)], environment["PWD"], environment)[1]
            keep(environment)
            compare(command, output, expected)
            continue
        started = Started(frame(marks) + command, environment["PWD"], environment)
        beside = running.setdefault(environment["HOME"], {})
        beside[marks["until"]] = started
        started.wait_until(marks["until"])
        if "\n^C" in expected:
            started.interrupt()
            started.rest()
            compare(command, started.output, re.sub(r"^\^C\n?", "", expected, flags=re.MULTILINE))
        else:
            compare(command, started.output[: started.shown], expected)


def check_yaml(text, marks, place, environment):
    name = marks.get("file", "block.yaml")
    (place / name).write_text(frame(marks) + text)
    succeed(["det", "config", "check", name], place, environment)


def check_json(text, *_):
    try:
        json.loads(text)
    except ValueError as error:
        raise Failure(f"is no JSON: {error}") from None


def check_commands(page, place, environment):
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for words in sorted({" ".join(found.split()) for found in re.findall(r"`det ([a-z][^`]*)`", text)}):
        command = re.match(r"(?:config|checkpoints?) [a-z]+|[a-z]+", words)[0]
        help_text = succeed(["det", "help", *command.split()], place, environment)
        for option in re.findall(r"(?<![-\w])--?[a-zA-Z][\w-]*", words.split(" -- ")[0]):
            if not re.search(rf"(?<![-\w]){option}(?![-\w])", help_text):
                raise Failure(f"`det {words}`: det {command} has no option {option}")


kinds = {"c": compile_c, "cpp": compile_cpp, "python": run_python, "sh": shell, "yaml": check_yaml, "json": check_json,
         "": transcript}
running = {}  # by the HOME of a page, what its transcripts left running


class Beside:
    """The programs that the blocks of a page are run under."""

    def __init__(self):
        self.started = {}

    def start(self, name, environment):
        """Starts one, once, and takes over its variables. Returns why it is missing, or None."""
        if name not in self.started:
            process = subprocess.Popen([sys.executable, source / f"tests/docs/{name}.py"], env=environment, text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.started[name] = process, json.loads(process.stdout.readline() or '{"unavailable": "it failed"}')
        variables = self.started[name][1]
        environment |= {key: value for key, value in variables.items() if key != "unavailable"}
        return variables.get("unavailable")

    def end(self):
        for process, _ in self.started.values():
            process.communicate()


def run_page(page):
    """Runs its blocks. Returns what is to be printed, the number of failures, and why it was skipped."""
    name = page.relative_to(source)
    place = folder / str(name.with_suffix("")).replace("/", "-")
    home = place / "home"
    home.mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("DET_", "XDG_")) and name != "MALLOC_PERTURB_"}
    environment |= {"HOME": str(home), "SOURCE": str(source), "BUILD": str(build), "LC_ALL": "C.UTF-8",
                    "PWD": str(place)}
    if name.parent.name == "tutorials":
        environment["SHELL_STATE"] = str(home / "shell_state")
    of_page = dict(re.findall(r"^<!-- (needs|python): (.*) -->$", page.read_text(), re.MULTILINE))
    lines, failures, beside = [], 0, Beside()
    if "python" in of_page:
        environments = os.environ.get("DETCORE_VENV_" + of_page["python"].upper(), source / f".venv-{of_page['python']}")
        environment["PATH"] = f"{environments}/bin:{environment['PATH']}"
    try:
        check_commands(page, place, environment)
        if "needs" in of_page and run(["sh", "-c", of_page["needs"]], place, environment)[0] != 0:
            return [f"{name}: not run: '{of_page['needs']}' fails here"], 0, f"{name} needs '{of_page['needs']}'"
    except Failure as error:
        failures += 1
        lines.append(f"{name}: FAILED: {error}")
    for line, language, marks, text in blocks(page):
        where = f"{name}:{line}"
        try:
            if unknown := marks.keys() - {"not run", "file", "from", "in", "until", "rest of", "under", "needs", "python"}:
                raise Failure(f"there is no mark '{unknown.pop()}'")
            missing = beside.start(marks["under"], environment) if "under" in marks else None
            if missing:
                lines.append(f"{where}: not run: {missing}")
            elif "not run" in marks:
                lines.append(f"{where}: not run: {marks['not run']}")
            elif "from" in marks:
                check_excerpt(text, marks["from"])
                lines.append(f"{where}: {language}: as in {marks['from']}")
            elif language == "text":
                lines.append(f"{where}: text")
            elif language not in kinds:
                raise Failure(f"there is no way to run '{language}'")
            elif language == "" and not text.startswith("$ ") and "rest of" not in marks:
                raise Failure("is no transcript; mark it as text")
            else:
                kinds[language](text, marks, Path(environment["PWD"]), environment)
                lines.append(f"{where}: {language or 'transcript'}: run")
        except (Failure, OSError, KeyError, subprocess.TimeoutExpired) as error:
            failures += 1
            lines.append(f"{where}: FAILED: {error}")
    for started in running.get(str(home), {}).values():
        started.end()
    beside.end()
    return lines, failures, None


def pages_of(names):
    for name in names:
        path = source / name
        yield from sorted(path.glob("*.md")) if path.is_dir() else [path]


pages = list(pages_of(sys.argv[4:] or ["README.md", "docs", "docs/tutorials"]))
failed, skipped = 0, []
with ThreadPoolExecutor(max(2, os.cpu_count() or 1)) as pool:
    for lines, failures, skip in pool.map(run_page, pages):
        if lines:
            print("\n".join(lines), flush=True)
        failed += failures
        skipped += [skip] if skip else []
if skipped and len(skipped) == len(pages):
    print("; ".join(skipped))
    sys.exit(77)
sys.exit(1 if failed else 0)
