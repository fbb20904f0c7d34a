"""A library that is missing, is not one, is too old or is for another machine."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from conftest import ROOT

PACKAGE = ROOT / "wrappers/python/detcore"
EM_AARCH64 = 183
PROGRAM = """
try:
    from detcore import core
except ImportError as error:
    print(type(error).__name__, error)
else:
    print("loaded")
"""


def load(library: str | None, package: Path = PACKAGE) -> str:
    """What `from detcore import core` says of that library, or of that in the package."""
    environment = os.environ | {"PYTHONPATH": str(package.parent)}
    if library is None:
        del environment["DETCORE_LIBRARY"]
    else:
        environment["DETCORE_LIBRARY"] = library
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


def compiled(folder: Path, text: str) -> str:
    library = folder / "libother.so"
    source = folder / "other.c"
    source.write_text(text)
    subprocess.run(["cc", "-shared", "-o", library, source], check=True)
    return str(library)


def test_missing(tmp_path: Path) -> None:
    said = load(str(tmp_path / "libdetcore.so.0"))
    assert said.startswith(f"LibraryError cannot load {tmp_path}/libdetcore.so.0: ")
    assert "No such file" in said and "DETCORE_LIBRARY" in said and "pip" in said


def test_not_a_library(tmp_path: Path) -> None:
    text = tmp_path / "libdetcore.so.0"
    text.write_text("not one")
    assert "cannot load" in load(str(text)) and "install detcore" in load(str(text))


def test_another_library(tmp_path: Path) -> None:
    library = compiled(tmp_path, "int other(void) { return 0; }")
    said = load(library)
    assert f"{library} is not libdetcore: it has no det_version()" in said
    assert "DETCORE_LIBRARY" in said


def test_too_old(tmp_path: Path) -> None:
    library = compiled(tmp_path, "int det_version(void) { return 1; }")
    said = load(library)
    assert f"{library} has version 0.0.1, and this package needs 0.1.0 or newer" in said


def test_for_another_machine(tmp_path: Path) -> None:
    library = tmp_path / "libdetcore.so.0"
    content = bytearray(Path(os.environ["DETCORE_LIBRARY"]).read_bytes())
    content[18:20] = struct.pack("<H", EM_AARCH64)  # e_machine
    library.write_bytes(content)
    said = load(str(library))
    assert f"cannot load {library}" in said
    assert f"built for this machine ({os.uname().machine}, 64 bits)" in said


def test_the_library_in_the_package_is_taken_first(tmp_path: Path) -> None:
    package = tmp_path / "detcore"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "lib").mkdir()
    shutil.copy(os.environ["DETCORE_LIBRARY"], package / "lib/libdetcore.so.0")
    assert load(None, package) == "loaded"
    (package / "lib/libdetcore.so.0").write_text("broken")
    assert f"cannot load {package}/lib/libdetcore.so.0" in load(None, package)
