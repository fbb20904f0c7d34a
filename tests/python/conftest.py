"""What every test has: a home of its own, and the library and the command of the build."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

pytest.register_assert_rewrite("example_runs")

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
PATIENCE: float = importlib.import_module("patience").PATIENCE
# Meson says where they are; else they are those of the build folder that ./test makes.
os.environ.setdefault("DETCORE_LIBRARY", str(ROOT / "build/capi/libdetcore.so.0"))
os.environ.setdefault("DETCORE_COMMAND", str(ROOT / "build/wrappers/cli/det"))
# For the programs that tests start; pytest itself has it from pyproject.toml.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(ROOT / "wrappers/python"), *filter(None, [os.environ.get("PYTHONPATH")])]
)

# What says that a process is part of a job or of a cluster.
_OF_JOBS = ("DET_", "OMPI_", "PMI_", "PMIX_", "SLURM_", "TF_CONFIG", "XDG_")


def pytest_sessionstart(session: pytest.Session) -> None:
    """pytest shows how two values differ by its terminal reporter, which pytest-tap takes away."""
    plugins = session.config.pluginmanager
    if plugins.get_plugin("terminalreporter") is None:
        nowhere = open(os.devnull, "w")  # noqa: SIM115 as long as the session
        reporter = pytest.TerminalReporter(session.config, nowhere)
        plugins.register(reporter, "terminalreporter")
        reporter.pytest_sessionstart(session)


class Det(Protocol):
    def __call__(self, *arguments: str, status: int = 0) -> str: ...


@pytest.fixture(autouse=True)
def store(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The folder of the store of this test. It knows of no other, and of no cluster or job."""
    tmp_path_factory.getbasetemp()  # that of all tests is not in the TMPDIR of one
    for name in list(os.environ):
        if name.startswith(_OF_JOBS):
            monkeypatch.delenv(name)
    with tempfile.TemporaryDirectory(prefix="det-") as home:  # short, for the paths of sockets
        for name, folder in {"HOME": "home", "TMPDIR": "tmp", "DET_HOME": "store"}.items():
            os.mkdir(os.path.join(home, folder))
            monkeypatch.setenv(name, os.path.join(home, folder))
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield Path(home, "store")
        monkeypatch.undo()  # before the folder is gone


@pytest.fixture
def tmp_path(store: Path) -> Path:
    """A folder for files of this test; pytest's own may be cleared by another process."""
    folder = store.parent / "files"
    folder.mkdir()
    return folder


@pytest.fixture
def det(store: Path) -> Det:
    """Runs `det` on the store of this test: det("ls", "--json") is what it prints.

    With the `status` of a failure it is what it complains of.
    """

    def run(*arguments: str, status: int = 0) -> str:
        command = [os.environ["DETCORE_COMMAND"], *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == status, f"{command}: {done.returncode}\n{done.stderr}"
        return done.stderr if status else done.stdout

    return run
