"""What ruff, mypy and pyright say of the package and of its tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT

PACKAGE = "wrappers/python"
ALL = [PACKAGE, "tests/python", "examples/python"]
# Modules for users of other packages, whose types are as those of the packages.
ADAPTERS = (
    "detcore.estimator",
    "detcore.integrations",
    "detcore.keras",
    "detcore.search.optuna",
)


def run(tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    if tool == "mypy":  # which is told by pyproject.toml
        del environment["PYTHONPATH"]
    command = [sys.executable, "-m", tool, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    "tool, arguments",
    [
        ("ruff", ["check", *ALL]),
        ("ruff", ["format", "--check", *ALL]),
        ("mypy", [f"{PACKAGE}/detcore", "tests/python"]),
        ("pyright", ["--pythonpath", sys.executable]),
    ],
    ids=["ruff", "ruff-format", "mypy", "pyright"],
)
def test_nothing_is_said_of(tool: str, arguments: list[str]) -> None:
    done = run(tool, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_public_name_has_its_types() -> None:
    options = ["--verifytypes", "detcore", "--ignoreexternal", "--outputjson"]
    done = run("pyright", "--pythonpath", sys.executable, *options)
    symbols = json.loads(done.stdout)["typeCompleteness"]["symbols"]
    public = [s for s in symbols if s["isExported"] and not s["name"].startswith(ADAPTERS)]
    assert len(public) > 50
    assert [s["name"] for s in public if not s["isTypeKnown"] or s["isTypeAmbiguous"]] == []
