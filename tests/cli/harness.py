"""Runs `det` on stores of its own, and reports in TAP. The tests say `@test` and call `main()`."""
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from patience import PATIENCE  # noqa: E402

DET, MAKE_STORE = sys.argv[1:3]
_tests = []


def test(function):
    _tests.append(function)
    return function


class Store:
    """A directory for a store, removed by clean(). Nothing of the caller's environment gets in."""

    def __init__(self, *kinds):
        self.home = tempfile.mkdtemp(prefix="det-cli-")
        self.processes = []
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith("DET_") and k not in ("NO_COLOR", "COLUMNS")}
        self.env.update(DET_HOME=self.home, LC_ALL="C.UTF-8", TERM="xterm", PAGER="")
        for kind in kinds:
            self.make(kind)

    def make(self, kind):
        subprocess.run([MAKE_STORE, kind], env=self.env, check=kind != "die",
                       stdout=subprocess.DEVNULL)

    def start(self, kind):
        """A process that trains; answers once it does, with the id of its trial."""
        process = subprocess.Popen([MAKE_STORE, kind], env=self.env, stdout=subprocess.PIPE,
                                   text=True)
        self.processes.append(process)
        return process, process.stdout.readline().strip()

    def run(self, *arguments, expect=0, env=None, input=""):
        """Standard output of `det`, which must end with the code `expect`."""
        done = subprocess.run([DET, *arguments], env={**self.env, **(env or {})},
                              input=input.encode(), capture_output=True, timeout=PATIENCE)
        out, err = done.stdout.decode(), done.stderr.decode()
        assert done.returncode == expect, (
            f"det {' '.join(arguments)}: exit {done.returncode} instead of {expect}: {out}{err}")
        if expect == 0:
            assert err == "", err
        else:
            assert err.startswith("det: ") and err.count("\n") == 1, repr(err)
        return out if expect == 0 else err

    def run_loudly(self, *arguments, expect=0, env=None):
        """As run(), for a command that also tells what happens: all it writes."""
        done = subprocess.run([DET, *arguments], env={**self.env, **(env or {})},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=PATIENCE, text=True)
        assert done.returncode == expect, (
            f"det {' '.join(arguments)}: exit {done.returncode} instead of {expect}: {done.stdout}")
        return done.stdout

    def lines(self, *arguments):
        """The JSON objects of a list."""
        return [json.loads(line) for line in self.run(*arguments, "--json").splitlines()]

    def on_terminal(self, *arguments, expect=0, **env):
        """What a terminal receives."""
        parent, child = pty.openpty()
        process = subprocess.Popen([DET, *arguments], env={**self.env, **env}, stdout=child,
                                   stderr=child)
        os.close(child)
        out = b""
        try:
            while block := os.read(parent, 65536):
                out += block
        except OSError:
            pass  # how a terminal ends
        os.close(parent)
        assert process.wait() == expect, out
        return out.decode()

    def database(self):
        """Where the store keeps its records."""
        for directory, _, names in os.walk(self.home):
            for name in names:
                path = os.path.join(directory, name)
                with open(path, "rb") as file:
                    if file.read(15) == b"SQLite format 3":
                        return path
        raise AssertionError("there is no database")

    def clean(self):
        for process in self.processes:
            if process.poll() is None:  # left by a test that failed
                process.kill()
                process.communicate()
        while os.path.exists(self.home):
            # Somebody may be closing it only now.
            shutil.rmtree(self.home, ignore_errors=True)


def ageless(text):
    """What was printed without how long ago things were: that goes on."""
    return re.sub(r"\b\d+[smhd]\b", "a while", text)


def main(stores):
    """Runs the tests. Each gets a Store of its own, or the shared one that it names."""
    print("TAP version 13", f"1..{len(_tests)}", sep="\n", flush=True)
    failures = 0
    for number, function in enumerate(_tests, 1):
        names = function.__code__.co_varnames[:function.__code__.co_argcount]
        fresh = Store() if names == ("store",) else None
        try:
            function(*([fresh] if fresh else [stores[name] for name in names]))
            print(f"ok {number} {function.__name__}", flush=True)
        except Exception:
            failures += 1
            print(f"not ok {number} {function.__name__}")
            print("".join("# " + line + "\n" for line in traceback.format_exc().splitlines()),
                  flush=True)
        finally:
            if fresh:
                fresh.clean()
    for store in stores.values():
        store.clean()
    sys.exit(failures > 0)
