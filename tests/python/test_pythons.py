"""The package under every Python that it is for and that this machine has, in PATH or by pyenv."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

THIS = f"3.{sys.version_info[1]}"  # which the other tests run under
VERSIONS = [v for v in ("3.9", "3.10", "3.11", "3.12", "3.13") if v != THIS]
# They need nothing but Python and pytest.
CORE = [f"tests/python/test_{name}.py" for name in ("checkpoint", "context", "info", "preempt")]
# Made by scripts/python_env.sh.
PYTEST = Path(sys.prefix, "any-python")
PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
COMPILE = """
import pathlib
for file in pathlib.Path("wrappers/python").rglob("*.py"):
    compile(file.read_bytes(), file, "exec")
"""


def works(python: str) -> bool:
    # A shim of pyenv may be there for a version that it does not give.
    return subprocess.run([python, "-c", ""], check=False, capture_output=True).returncode == 0


def find(version: str) -> str:
    found = shutil.which(f"python{version}")
    candidates = [found] if found else []
    candidates += glob.glob(f"{PYENV}/versions/{version}.*/bin/python{version}")
    for python in candidates:
        if works(python):
            return python
    pytest.skip(f"there is no Python {version}")


@pytest.mark.parametrize("version", VERSIONS)
def test_core_works_under(version: str) -> None:
    python = find(version)
    subprocess.run([python, "-c", COMPILE], cwd=ROOT, check=True)
    environment = os.environ | {"PYTHONPATH": f"{PYTEST}{os.pathsep}{os.environ['PYTHONPATH']}"}
    command = [python, "-m", "pytest", "-q", "-k", "not ctrl_c", *CORE]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
