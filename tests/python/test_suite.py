"""What the other tests stand on."""

from __future__ import annotations

import os
import re
from pathlib import Path

from conftest import Det


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
