"""What the other tests stand on."""

from __future__ import annotations

import os
import re
from pathlib import Path

from conftest import ROOT, Det


def test_meson_runs_every_file() -> None:
    folder = Path(__file__).parent
    listed = set(re.findall(r"'(\w+)'", (folder / "meson.build").read_text()))
    there = {path.stem[len("test_") :] for path in folder.glob("test_*.py")}
    assert not there - listed, "add them to the list in tests/python/meson.build"


def test_every_test_has_a_store_of_its_own(det: Det, store: Path) -> None:
    assert os.environ["DET_HOME"] == str(store) and not list(store.iterdir())
    assert f"no store at '{store}" in det("ls", status=3)


def test_the_library_is_that_of_the_build() -> None:
    from detcore import _abi, _capi

    assert _capi.library.det_version() == _abi.DET_VERSION_NUMBER


def test_one_version_is_said() -> None:
    import detcore
    from detcore import _abi

    meson = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text())
    assert meson and meson[1] == detcore.__version__
    numbers = [_abi.DET_VERSION_MAJOR, _abi.DET_VERSION_MINOR, _abi.DET_VERSION_PATCH]
    assert ".".join(map(str, numbers)) == detcore.__version__


def test_both_folders_are_built_with_the_same() -> None:
    requires = [
        re.search(r"^requires = (\[.*\])", (folder / "pyproject.toml").read_text(), re.MULTILINE)
        for folder in (ROOT, ROOT / "wrappers/python")
    ]
    assert requires[0] and requires[1] and requires[0][1] == requires[1][1]
